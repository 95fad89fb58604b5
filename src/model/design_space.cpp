#include "model/design_space.hpp"

#include <algorithm>
#include <cmath>

#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {

// docs/model.md (53)
DesignSpace design_space(const Problem& problem) {
  const auto is_pinned = [](const auto& pins, std::size_t k) { return !pins.empty() && pins[k]; };
  const std::vector<Kernel>& kernels = problem.workload.graph.kernels();
  const double partitions = problem.execution.style == Style::KernelByKernel
                                ? 0.0
                                : std::log10(static_cast<double>(problem.partition_limit()));
  double stages = 0.0;
  if (problem.divides_graph()) {
    for (const NetworkChoice& network : network_choices(problem)) {
      const auto degree = static_cast<double>(degree_of(network, Strategy::Pipeline));
      stages = std::max(stages, std::log10(degree));
    }
  }
  DesignSpace space;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (!is_pinned(problem.sharding_pins, k)) {
      space.shardings +=
          std::log10(static_cast<double>(shardable_pairs(problem, kernels[k]).size()));
    }
    if (!is_pinned(problem.execution.pins, k)) {
      space.partitions += partitions;
      space.stages += stages;
    }
    space.lanes_and_stages +=
        2.0 * std::log10(static_cast<double>(problem.system.accelerator.cores));
  }
  return space;
}

}  // namespace dfsearch
