#include "model/scope.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "model/layer/sharding.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {

namespace {

constexpr FixedBeforehand kLeastBytesSharding{
    .name = "sharding: least_bytes",
    .proved_for = "the sharding that communicates least",
    .untried = "other shardings",
    .searched_by = "search.sharding: joint",
};

/// If stages divide the graph, no key makes the sharding searched.
constexpr FixedBeforehand kLoopsOfStages{
    .name = kLeastBytesSharding.name,
    .proved_for = kLeastBytesSharding.proved_for,
    .untried = kLeastBytesSharding.untried,
    .searched_by = "",
};

constexpr FixedBeforehand kTrailingUpdates{
    .name = "HPL: trailing updates alone",
    .proved_for = "trailing updates, without panels and swaps of rows",
    .untried = "whole runs ('dfsearch linpack')",
    .searched_by = "",
};

bool has_choice_of_loops(const Problem& problem) {
  const std::vector<Kernel>& kernels = problem.workload.graph.kernels();
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const bool pinned = !problem.sharding_pins.empty() && problem.sharding_pins[k];
    if (!pinned && shardable_pairs(problem, kernels[k]).size() > 1) return true;
  }
  return false;
}

bool splits_kernels(const NetworkChoice& network) {
  return degree_of(network, Strategy::Tensor) > 1;
}

}  // namespace

bool sharding_matters(const Problem& problem, const std::vector<NetworkChoice>& networks) {
  return std::any_of(networks.begin(), networks.end(), splits_kernels) &&
         has_choice_of_loops(problem);
}

Scope scope_of(const Problem& problem, const std::vector<NetworkChoice>& networks) {
  Scope scope;
  if (problem.sharding == ShardingChoice::LeastBytes && sharding_matters(problem, networks)) {
    scope.push_back(problem.divides_graph() ? kLoopsOfStages : kLeastBytesSharding);
  }
  const bool is_physical = problem.equations.out_of_core == OutOfCore::Charged;
  if (problem.workload.kind == WorkloadKind::Hpl && is_physical) scope.push_back(kTrailingUpdates);
  return scope;
}

std::string names_of(const Scope& scope) {
  std::string text;
  for (const FixedBeforehand& fixed : scope) {
    if (!text.empty()) text += ", ";
    text += fixed.name;
  }
  return text;
}

std::string proved_for(const Scope& scope) {
  std::string text;
  for (const FixedBeforehand& fixed : scope) {
    text += text.empty() ? " for " : " and ";
    text += fixed.proved_for;
  }
  return text;
}

std::string untried(const Scope& scope) {
  std::string text;
  for (const FixedBeforehand& fixed : scope) {
    if (!text.empty()) text += ", ";
    text += fixed.untried;
    if (!fixed.searched_by.empty()) text += " (" + std::string(fixed.searched_by) + ")";
  }
  return text + " were not tried";
}

std::vector<std::string_view> not_counted_in_memory(const Problem& problem) {
  const Workload& workload = problem.workload;
  if (!workload.graph.has_backward() || workload.out_of_core) return {};
  return {"gradients", "optimizer state", "activations of other layers and micro-batches"};
}

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
