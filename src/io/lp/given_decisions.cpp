#include "io/lp/lp_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "engine/names.hpp"
#include "graph/names.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"
#include "model/names.hpp"
#include "model/scope.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

std::vector<std::string> open_keys(const Problem& problem) {
  std::vector<std::string> keys;
  for (std::size_t d = 0; d < problem.system.network.size(); ++d) {
    if (!problem.system.network[d].degree)
      keys.push_back(fmt::format("system.network.{}.degree", d));
    if (!given_strategy(problem, d)) {
      keys.push_back(fmt::format("system.network.{}.strategy", d));
    }
  }
  return keys;
}

LayerDecisions decisions_of_config(const Problem& problem) {
  const Workload& workload = problem.workload;
  std::vector<NetworkChoice> networks = network_choices(problem);
  if (networks.empty()) {
    throw InputError(
        "network: no degrees and strategies fit the chips, the batch and the "
        "parallelism allowed");
  }
  std::vector<std::string> open;
  if (networks.size() > 1) open = open_keys(problem);
  if (!workload.tile && workload.sequence > 1) open.emplace_back("workload.tile");
  if (problem.sharding == ShardingChoice::Joint && sharding_matters(problem, networks)) {
    open.emplace_back("the sharding (search.sharding is joint)");
  }
  if (!open.empty()) {
    std::string keys;
    for (const std::string& key : open) keys += (keys.empty() ? "" : ", ") + key;
    throw InputError(fmt::format(
        "the config leaves open {}: give them (--set KEY=VALUE), or a result of a search that "
        "decided them (--mapping FILE)",
        keys));
  }
  return {.network = std::move(networks.front()),
          .sharding = loop_sets(least_bytes_sharding(problem)),
          .micro_batch = workload.micro_batch.value_or(1),
          .tile = workload.sequence > 1 ? *workload.tile : 1};
}

/// Refuses decisions that evaluate would find infeasible with any partitions.
void check(const Problem& problem, const LayerDecisions& decisions) {
  const Workload& workload = problem.workload;
  std::vector<std::string> wrong;
  if (decisions.tile > workload.sequence || (workload.tile && *workload.tile != decisions.tile)) {
    wrong.push_back(fmt::format("tile: expected {}{}, got {}", workload.tile ? "" : "at most ",
                                workload.tile.value_or(workload.sequence), decisions.tile));
  }
  const std::int64_t data = degree_of(decisions.network, Strategy::Data);
  if (decisions.micro_batch > workload.global_batch ||
      workload.global_batch % decisions.micro_batch != 0 ||
      (workload.global_batch / decisions.micro_batch) % data != 0) {
    wrong.push_back(
        fmt::format("micro_batch: {} x data degree {} does not divide the global batch of {}",
                    decisions.micro_batch, data, workload.global_batch));
  } else if (workload.micro_batch && *workload.micro_batch != decisions.micro_batch) {
    wrong.push_back(fmt::format("micro_batch: expected {} as in the config, got {}",
                                *workload.micro_batch, decisions.micro_batch));
  }
  for (std::size_t k = 0; k < workload.graph.kernel_count(); ++k) {
    const Kernel& kernel = workload.graph.kernels()[k];
    LoopSet loops = shardable_pairs(problem, kernel);
    if (!problem.sharding_pins.empty() && problem.sharding_pins[k]) {
      loops = *problem.sharding_pins[k];
    }
    const LoopPair loop = decisions.sharding[k].front();
    if (!loops.contains(loop)) {
      wrong.push_back(
          fmt::format("sharding: {} cannot be sharded on {}", kernel.name, name_of(loop)));
    }
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
}

}  // namespace

LayerDecisions given_decisions(const Problem& problem, const Mapping* mapping) {
  LayerDecisions decisions = mapping == nullptr
                                 ? decisions_of_config(problem)
                                 : LayerDecisions{.network = mapping->network,
                                                  .sharding = loop_sets(mapping->sharding),
                                                  .micro_batch = mapping->micro_batch,
                                                  .tile = mapping->tile};
  check(problem, decisions);
  return decisions;
}

Mapping mapping_of(const MilpSolution& solution, const Problem& problem, const Mapping* mapping) {
  if (solution.partition.empty() && mapping == nullptr) {
    throw InputError(
        "the solution decides the sharding (columns S) but no partitions (columns A): give those "
        "of a result with --mapping FILE");
  }
  const LayerDecisions decisions = given_decisions(problem, mapping);
  Mapping result{.network = decisions.network,
                 .micro_batch = decisions.micro_batch,
                 .tile = decisions.tile,
                 .sharding = solution.sharding,
                 .partition = solution.partition.empty() ? mapping->partition : solution.partition,
                 .cores = {}};
  if (result.sharding.empty()) {
    for (const LoopSet loop : decisions.sharding) result.sharding.push_back(loop.front());
  }
  // Cores were allocated for the partitions they came with.
  if (!problem.execution.compute_utilization) result.cores = solution.cores;
  return result;
}

}  // namespace dfsearch
