// Mapping files, after a byte that chooses the problem: whatever the text, it is
// refused, or a mapping that can be costed.

#include <string>

#include "fuzz/fuzz_target.hpp"
#include "fuzz/mapping_properties.hpp"
#include "fuzz/problems.hpp"
#include "io/result/answer_files.hpp"

using namespace dfsearch;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(fuzz::text_of(data, size));
  const Problem& problem = fuzz::problem_for(text[0]);
  const auto mapping =
      fuzz::unless_refused([&] { return parse_mapping(text.substr(1), "mapping.json", problem); });
  if (mapping) fuzz::check_mapping(problem, *mapping);
  return 0;
}
