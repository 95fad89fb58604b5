// Solutions of linear programs, after a byte that chooses the problem: whatever the
// text, it is refused, or decides a mapping that can be costed.

#include <string>

#include "fuzz/fuzz_target.hpp"
#include "fuzz/mapping_properties.hpp"
#include "fuzz/problems.hpp"
#include "io/lp/lp_text.hpp"

using namespace dfsearch;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(fuzz::text_of(data, size));
  const Problem& problem = fuzz::problem_for(text[0]);
  const auto solution = fuzz::unless_refused(
      [&] { return parse_solution(text.substr(1), "solution.txt", problem.workload.graph); });
  if (!solution) return 0;
  // Once as an addition to the config alone, once to a mapping.
  for (const Mapping* given : {static_cast<const Mapping*>(nullptr), &fuzz::mapping_for(text[0])}) {
    const auto mapping =
        fuzz::unless_refused([&] { return mapping_of(*solution, problem, given); });
    if (mapping) fuzz::check_mapping(problem, *mapping);
  }
  return 0;
}
