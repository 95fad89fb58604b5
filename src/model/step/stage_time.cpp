#include "model/step/stage_time.hpp"

#include "model/step/step_time.hpp"

namespace dfsearch {

StagedStep staged_step(const Problem& problem, const std::vector<Mapping::Dimension>& network) {
  const std::int64_t samples = problem.workload.global_batch / degree_of(network, Strategy::Data);
  return {.samples = static_cast<double>(samples),
          .steps = static_cast<double>(problem.workload.graph.wave_steps()),
          .copies = static_cast<double>(problem.workload.copies),
          .weight = step_time(problem, network, 1).weight,
          .is_bottleneck = problem.objective == Objective::Bottleneck};
}

}  // namespace dfsearch
