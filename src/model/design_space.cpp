#include "model/design_space.hpp"

#include <cmath>

#include "model/layer/sharding.hpp"

namespace dfsearch {

// docs/model.md (53)
DesignSpace design_space(const Problem& problem) {
  const auto is_pinned = [](const auto& pins, std::size_t k) { return !pins.empty() && pins[k]; };
  const std::vector<Kernel>& kernels = problem.workload.graph.kernels();
  const double partitions = problem.execution.style == Style::KernelByKernel
                                ? 0.0
                                : std::log10(static_cast<double>(problem.partition_limit()));
  DesignSpace space;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (!is_pinned(problem.sharding_pins, k)) {
      space.shardings +=
          std::log10(static_cast<double>(shardable_pairs(problem, kernels[k]).size()));
    }
    if (!is_pinned(problem.execution.pins, k)) space.partitions += partitions;
    space.lanes_and_stages +=
        2.0 * std::log10(static_cast<double>(problem.system.accelerator.cores));
  }
  return space;
}

}  // namespace dfsearch
