#include "model/mapping_rules.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/counts.hpp"
#include "base/error.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {

bool has_halves(const Problem& problem) {
  return problem.equations.phases == SplitPhases::Halves && problem.workload.graph.has_backward();
}

// docs/model.md (11)
PhaseRanges phase_ranges(const Problem& problem, std::int64_t partitions) {
  if (!has_halves(problem)) return {.last_forward = partitions - 1, .first_backward = 0};
  return {.last_forward = (partitions + 1) / 2 - 1, .first_backward = partitions / 2};
}

namespace {

using MaybeInfeasible = std::optional<Infeasible>;

// docs/model.md (8)
MaybeInfeasible check_batch_and_tile(const Problem& problem, const Mapping& mapping) {
  const Workload& workload = problem.workload;
  if (mapping.tile < 1 || mapping.tile > workload.sequence ||
      (workload.tile && *workload.tile != mapping.tile)) {
    return violation(Resource::Tile, mapping.tile, workload.tile.value_or(workload.sequence),
                     "tile");
  }
  if (mapping.micro_batch < 1 || mapping.micro_batch > workload.global_batch ||
      workload.global_batch % mapping.micro_batch != 0 ||
      (workload.global_batch / mapping.micro_batch) % degree_of(mapping.network, Strategy::Data) !=
          0 ||
      (workload.micro_batch && *workload.micro_batch != mapping.micro_batch)) {
    return violation(Resource::Batch, mapping.micro_batch, workload.global_batch, "micro_batch");
  }
  return std::nullopt;
}

MaybeInfeasible check_sharding(const Problem& problem, const Mapping& mapping) {
  const DataflowGraph& graph = problem.workload.graph;
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const std::string& name = graph.kernels()[i].name;
    const LoopSet pairs = shardable_pairs(problem, graph.kernels()[i]);
    const bool pinned = !problem.sharding_pins.empty() && problem.sharding_pins[i];
    if (!(pinned ? pairs : pairs_along(pairs, mapping.network)).contains(mapping.sharding[i])) {
      return violation(Resource::Sharding, 0, 0, name);
    }
    if (pinned && *problem.sharding_pins[i] != mapping.sharding[i]) {
      return violation(Resource::Pin, 0, 0, name);
    }
  }
  return std::nullopt;
}

/// Forward kernels stay in partitions 0..last_forward, backward ones in first_backward and up.
struct PhaseHalves {
  std::int64_t last_forward;
  std::int64_t first_backward;
};

PhaseHalves halves(std::int64_t limit) {
  return {.last_forward = (limit - 1) / 2, .first_backward = limit / 2};
}

// docs/model.md (11)
MaybeInfeasible check_phases(const Problem& problem, const std::vector<std::int64_t>& partition) {
  const DataflowGraph& graph = problem.workload.graph;
  if (!graph.has_backward()) return std::nullopt;
  const bool separate = problem.equations.phases == SplitPhases::Separate;
  const PhaseHalves half = halves(problem.partition_limit());
  std::int64_t last_forward = -1;
  for (std::size_t i = 0; i < partition.size(); ++i) {
    if (graph.kernels()[i].phase == Phase::Forward) {
      last_forward = std::max(last_forward, partition[i]);
      if (!separate && partition[i] > half.last_forward) {
        return violation(Resource::Phase, partition[i], half.last_forward, graph.kernels()[i].name);
      }
    }
  }
  for (std::size_t i = 0; i < partition.size(); ++i) {
    if (graph.kernels()[i].phase == Phase::Forward) continue;
    const std::int64_t first = separate ? last_forward + 1 : half.first_backward;
    if (partition[i] < first) {
      return violation(Resource::Phase, partition[i], first, graph.kernels()[i].name);
    }
  }
  return std::nullopt;
}

/// Checks that each stage holds kernels, and backward kernels beside their forward ones.
MaybeInfeasible check_stage_members(const Problem& problem, const Mapping& mapping) {
  const DataflowGraph& graph = problem.workload.graph;
  const std::int64_t stages = degree_of(mapping.network, Strategy::Pipeline);
  const std::int64_t indices = saturating_product(stages, problem.partition_limit());
  std::set<std::int64_t> seen;
  std::set<std::int64_t> taken;
  for (std::size_t i = 0; i < mapping.partition.size(); ++i) {
    const Kernel& kernel = graph.kernels()[i];
    const std::int64_t partition = mapping.partition[i];
    if (partition < 0 || partition >= indices) {
      return violation(Resource::Partitions, saturating_sum(partition, 1), indices, kernel.name);
    }
    const bool shares = !taken.insert(partition).second;
    if (shares && problem.execution.style == Style::KernelByKernel) {
      return violation(Resource::Partitions, partition, indices, kernel.name);
    }
    const std::int64_t stage = problem.stage_of(partition);
    seen.insert(stage);
    if (kernel.phase == Phase::Forward) continue;
    const std::int64_t forward = problem.stage_of(mapping.partition[kernel.forward()->index()]);
    if (forward != stage) return violation(Resource::Stages, stage, forward, kernel.name);
  }
  for (const Tensor& seam : graph.seams()) {
    const std::int64_t from = problem.stage_of(mapping.partition[seam.from.index()]);
    const std::int64_t to = problem.stage_of(mapping.partition[seam.to.index()]);
    if (seam.next_step && from != to)
      return violation(Resource::Stages, to, from, graph.kernel(seam.to).name);
  }
  const auto count = static_cast<std::int64_t>(seen.size());
  if (count < stages) return violation(Resource::Stages, stages, count, "");
  return std::nullopt;
}

/// Backward tensors go back through the stages, all others forward.
// docs/model.md (10), (54)
MaybeInfeasible check_stages(const Problem& problem, const Mapping& mapping) {
  const DataflowGraph& graph = problem.workload.graph;
  if (auto wrong = check_stage_members(problem, mapping)) return wrong;
  for (const Tensor& tensor : graph.tensors()) {
    const Kernel& producer = graph.kernel(tensor.from);
    const std::int64_t from = mapping.partition[tensor.from.index()];
    const std::int64_t to = mapping.partition[tensor.to.index()];
    const bool crosses = problem.stage_of(from) != problem.stage_of(to);
    const bool returns = crosses && producer.phase == Phase::Backward;
    if (returns ? from < to : from > to) {
      return violation(Resource::Precedence, from, to,
                       producer.name + " -> " + graph.kernel(tensor.to).name);
    }
  }
  std::map<std::int64_t, std::int64_t> last_forward;  // partition, by stage
  for (const Phase phase : {Phase::Forward, Phase::Backward}) {
    for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
      if (graph.kernels()[i].phase != phase) continue;
      const std::int64_t partition = mapping.partition[i];
      std::int64_t& last = last_forward.try_emplace(problem.stage_of(partition), -1).first->second;
      if (phase == Phase::Forward) last = std::max(last, partition);
      if (phase == Phase::Backward && partition <= last) {
        return violation(Resource::Phase, partition, last + 1, graph.kernels()[i].name);
      }
    }
  }
  return std::nullopt;
}

// docs/model.md (10)
MaybeInfeasible check_partition_order(const Problem& problem, const Mapping& mapping) {
  if (problem.divides_graph()) return check_stages(problem, mapping);
  const DataflowGraph& graph = problem.workload.graph;
  const std::vector<std::int64_t>& partition = mapping.partition;
  const std::int64_t limit = problem.partition_limit();
  for (std::size_t i = 0; i < partition.size(); ++i) {
    const std::string& name = graph.kernels()[i].name;
    if (partition[i] < 0) return violation(Resource::Partitions, partition[i], limit, name);
    if (partition[i] >= limit) {
      return violation(Resource::Partitions, saturating_sum(partition[i], 1), limit, name);
    }
    const auto& pins = problem.execution.pins;
    if (!pins.empty() && pins[i] && *pins[i] != partition[i]) {
      return violation(Resource::Pin, partition[i], *pins[i], name);
    }
  }
  for (const Tensor& tensor : graph.tensors()) {
    const std::int64_t from = partition[tensor.from.index()];
    const std::int64_t to = partition[tensor.to.index()];
    if (from > to) {
      return violation(Resource::Precedence, from, to,
                       graph.kernel(tensor.from).name + " -> " + graph.kernel(tensor.to).name);
    }
  }
  // If each kernel has a partition of its own, no partition contains both phases.
  if (problem.execution.style == Style::KernelByKernel) {
    for (std::size_t i = 0; i < partition.size(); ++i) {
      if (partition[graph.topological_order()[i].index()] != static_cast<std::int64_t>(i)) {
        return violation(Resource::Partitions, static_cast<std::int64_t>(i), limit,
                         graph.kernel(graph.topological_order()[i]).name);
      }
    }
    return std::nullopt;
  }
  return check_phases(problem, partition);
}

}  // namespace

void check_form(const Problem& problem, const Mapping& mapping) {
  const std::size_t kernels = problem.workload.graph.kernel_count();
  const auto check = [](bool right, const char* message) {
    if (!right) throw InputError(std::string("mapping: ") + message);
  };
  check(mapping.sharding.size() == kernels, "sharding: expected one loop for every kernel");
  check(mapping.partition.size() == kernels, "partition: expected one index for every kernel");
  check(mapping.cores.empty() || mapping.cores.size() == kernels,
        "cores: expected a grid for every kernel or none at all");
  for (const CoreGrid& grid : mapping.cores) {
    check(
        grid.lanes >= 1 && grid.stages >= 1 && grid.lanes <= (1 << 30) && grid.stages <= (1 << 30),
        "cores: expected lanes and stages of at least 1");
  }
  check(!problem.execution.levels || problem.system.accelerator.dataflow != Dataflow::Best,
        "levels: expected 'accelerator.dataflow' to be output, weight or input, not best");
  check(allows(problem, mapping.network),
        "network: expected the dimensions of 'system.network', degrees whose product is the number "
        "of chips, and the degrees and strategies that the config fixes");
}

Infeasible violation(Resource resource, std::int64_t needed, std::int64_t available,
                     std::string where) {
  return {.resource = resource,
          .needed = static_cast<double>(needed),
          .available = static_cast<double>(available),
          .where = std::move(where)};
}

std::optional<Infeasible> broken_rule(const Problem& problem, const Mapping& mapping) {
  if (auto wrong = check_batch_and_tile(problem, mapping)) return wrong;
  if (auto wrong = check_sharding(problem, mapping)) return wrong;
  return check_partition_order(problem, mapping);
}

}  // namespace dfsearch
