#include "model/phase_rules.hpp"

namespace dfsearch {

bool has_halves(const Problem& problem) {
  return problem.equations.phases == SplitPhases::Halves && problem.workload.graph.has_backward();
}

// docs/model.md (11)
PhaseRanges phase_ranges(const Problem& problem, std::int64_t partitions) {
  if (!has_halves(problem)) return {.last_forward = partitions - 1, .first_backward = 0};
  return {.last_forward = (partitions + 1) / 2 - 1, .first_backward = partitions / 2};
}

}  // namespace dfsearch
