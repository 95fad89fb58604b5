// Contents of checkpoints, after a byte that chooses the problem: whatever they say,
// they are refused, or a search goes on from them and ends in a result.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "engine/solve.hpp"
#include "fuzz/checkpoint_input.hpp"
#include "fuzz/fuzz_target.hpp"
#include "fuzz/problems.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/report/report.hpp"
#include "io/result/result_json.hpp"

using namespace dfsearch;

namespace {

SearchResult go_on(const Problem& problem, std::int64_t answers, SearchState state) {
  SearchOptions options;
  // Enough to get to the fusion of every node that was read.
  options.limits.nodes = 50;
  options.limits.deadline = Deadline(Seconds(2.0));
  options.node_effort.steps = 1000;
  options.top = answers;
  options.resume = &state;
  return solve(problem, options);
}

void check_result(const Problem& problem, const SearchResult& result) {
  const bool has_mapping =
      result.status == SearchStatus::Optimal || result.status == SearchStatus::Feasible;
  fuzz::require(result.mapping.has_value() == has_mapping, "a mapping goes with the status");
  const Outcome outcome = Outcome::of(problem, result);
  fuzz::require(!report_text(outcome, "input").empty(), "an outcome has a report");
  fuzz::require(!result_json(outcome).empty(), "an outcome has a result");
}

/// A wrong guard would let no input pass, and the target would find nothing.
bool guard_is_right(const Problem& problem) {
  SearchState state;
  state.stats.nodes = 17;
  const std::string content = fuzz::content_of(checkpoint_bytes(problem, state));
  const SearchState again = parse_checkpoint(fuzz::guarded(content, problem), "c.ck", problem);
  return again.stats.nodes == state.stats.nodes;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input = fuzz::text_of(data, size);
  const Problem& problem = fuzz::problem_for(input[0]);
  static const bool right = guard_is_right(problem);
  fuzz::require(right, "the target guards checkpoints as dfsearch does");
  auto state = fuzz::unless_refused([&] {
    return parse_checkpoint(fuzz::guarded(input.substr(1), problem), "input.ck", problem);
  });
  if (!state) return 0;
  const auto result = fuzz::unless_refused(
      [&] { return go_on(problem, fuzz::answers_for(input[0]), std::move(*state)); });
  if (result) check_result(problem, *result);
  return 0;
}
