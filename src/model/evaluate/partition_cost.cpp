#include "model/evaluate/partition_cost.hpp"

#include <array>
#include <optional>
#include <unordered_map>

#include "base/counts.hpp"
#include "model/layer/core_allocation.hpp"
#include "model/layer/lone_kernel.hpp"
#include "model/mapping_rules.hpp"

namespace dfsearch {
namespace {

/// Raises `compute` to the time of the slowest level of the chip, if that is longer, and names it.
// docs/technology.md (20)
void add_levels(const std::vector<OnChipLevel>& levels, const LevelTicks& times,
                PartitionParts& parts) {
  constexpr std::array kOfLevel = {Bottleneck::Registers, Bottleneck::L1, Bottleneck::L2};
  for (std::size_t x = 0; x < levels.size(); ++x) {
    if (times[x] <= parts.compute) continue;
    parts.compute = times[x];
    parts.on_chip = kOfLevel[static_cast<std::size_t>(levels[x].name)];
  }
}

void set_times(const Clock& clock, Overlap overlap, const PartitionParts& parts,
               PartitionEvaluator::Result& result) {
  const Ticks compute = parts.compute;
  const Ticks memory = parts.memory();
  const Ticks network = parts.network;
  const Ticks weight_loads = parts.weight_loads;
  result.ticks = parts.time(overlap);
  result.charged = charged_time(overlap, compute, memory, network);
  result.charged += {.memory = weight_loads};
  result.cost.compute = clock.seconds(compute);
  result.cost.memory = clock.seconds(capped_sum(memory, weight_loads));
  result.cost.waiting = clock.seconds(parts.waiting());
  result.cost.network = clock.seconds(network);
  result.cost.time = clock.seconds(result.ticks);
  result.cost.bound_by = parts.on_chip;
  if (memory > compute) result.cost.bound_by = Bottleneck::Memory;
  if (network > std::max(compute, memory)) result.cost.bound_by = Bottleneck::Network;
}

}  // namespace

std::vector<PartitionMembers> members_of_partitions(const DataflowGraph& graph,
                                                    const std::vector<std::int64_t>& partition) {
  std::vector<std::int64_t> indices = partition;
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  std::vector<PartitionMembers> members(indices.size());
  std::unordered_map<std::int64_t, PartitionMembers*> of_index;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    members[i].index = indices[i];
    of_index.emplace(indices[i], &members[i]);
  }
  for (std::size_t k = 0; k < partition.size(); ++k) {
    of_index[partition[k]]->kernels.emplace_back(k);
  }
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const std::int64_t from = partition[graph.tensors()[t].from.index()];
    const std::int64_t to = partition[graph.tensors()[t].to.index()];
    of_index[from]->tensors.emplace_back(t);
    if (to != from) of_index[to]->tensors.emplace_back(t);
  }
  return members;
}

PartitionEvaluator::PartitionEvaluator(const Problem& problem, const LayerCosts& costs,
                                       const Mapping& mapping)
    : problem_(problem),
      graph_(problem.workload.graph),
      costs_(costs),
      mapping_(mapping),
      grids_(mapping.cores) {
  std::vector<std::vector<KernelId>> stages;
  for (std::size_t k = 0; k < mapping.partition.size(); ++k) {
    const auto stage = static_cast<std::size_t>(problem.stage_of(mapping.partition[k]));
    stages.resize(std::max(stages.size(), stage + 1));
    stages[stage].emplace_back(k);
  }
  for (const auto& kernels : stages) loads_.push_back(costs.loads_weights(kernels));
}

std::variant<PartitionEvaluator::Result, Infeasible> PartitionEvaluator::evaluate(
    const PartitionMembers& members) {
  Result result;
  result.cost.kernels = members.kernels;
  auto own = own_parts(members, result.cost);
  if (const auto* wrong = std::get_if<Infeasible>(&own)) return *wrong;
  if (!problem_.execution.compute_utilization) add_dataflows(result.cost);
  auto& parts = std::get<PartitionParts>(own);
  const std::int64_t stage = problem_.stage_of(members.index);
  if (!loads_[static_cast<std::size_t>(stage)]) parts.weight_loads = parts.reloads = 0;
  for (const TensorId t : members.tensors) {
    const auto [produced, consumed] = ends_in(t, members.index);
    if (produced == consumed || crosses_stages(t)) continue;
    parts.traffic = capped_sum(parts.traffic, costs_.transfer(t));
  }
  set_times(costs_.clock(), problem_.execution.overlap, parts, result);
  return result;
}

std::variant<PartitionParts, Infeasible> PartitionEvaluator::own_parts(
    const PartitionMembers& members, PartitionCost& cost) {
  const std::string where = "partition " + std::to_string(members.index);
  if (auto wrong = check_repeat(members.kernels, where)) return *wrong;
  if (auto wrong = check_sram(members, cost, where)) return *wrong;

  const auto compute = compute_ticks(members.kernels, where);
  if (const auto* wrong = std::get_if<Infeasible>(&compute)) return *wrong;
  PartitionParts parts{.compute = std::get<Ticks>(compute),
                       .memory_latency = costs_.memory_latency()};
  LevelTicks levels{};
  for (const KernelId k : members.kernels) {
    const LevelTicks times = costs_.level_times(k);
    for (std::size_t x = 0; x < levels.size(); ++x) levels[x] = capped_sum(levels[x], times[x]);
    parts.network = capped_sum(parts.network, costs_.network(k));
    parts.traffic = capped_sum(parts.traffic, costs_.explicit_memory(k));
    parts.weight_loads = capped_sum(parts.weight_loads, costs_.weight_load(k));
    parts.step_latency = capped_sum(parts.step_latency, costs_.step_latency(k));
    if (!keeps_weight(k, members.index)) {
      parts.reloads = capped_sum(parts.reloads, costs_.reload(k));
    }
  }
  if (costs_.has_levels()) {
    add_levels(problem_.system.levels, costs_.with_latency(levels), parts);
  }
  return parts;
}

/// Whether the partition also has the kernel with which this kernel takes turns.
// docs/model.md (59)
bool PartitionEvaluator::keeps_weight(KernelId kernel, std::int64_t index) const {
  const std::optional<TensorId> turn = graph_.turn(kernel);
  if (!turn) return false;
  const auto [produced, consumed] = ends_in(*turn, index);
  return produced && consumed;
}

/// Whether a tensor passes from stage to stage: it comes over a link and does not wait in memory.
// docs/model.md (54)
bool PartitionEvaluator::crosses_stages(TensorId tensor) const {
  const Tensor& ends = graph_.tensor(tensor);
  return problem_.stage_of(mapping_.partition[ends.from.index()]) !=
         problem_.stage_of(mapping_.partition[ends.to.index()]);
}

PartitionEvaluator::Ends PartitionEvaluator::ends_in(TensorId tensor, std::int64_t index) const {
  const Tensor& ends = graph_.tensor(tensor);
  return {.produced = mapping_.partition[ends.from.index()] == index,
          .consumed = mapping_.partition[ends.to.index()] == index};
}

std::optional<Infeasible> PartitionEvaluator::check_repeat(const std::vector<KernelId>& kernels,
                                                           const std::string& where) const {
  const auto repeats = std::count_if(kernels.begin(), kernels.end(),
                                     [&](KernelId k) { return graph_.kernel(k).repeat > 1; });
  if (repeats == 0 || repeats == static_cast<std::ptrdiff_t>(kernels.size())) return {};
  return violation(Resource::Repeat, repeats, 0, where);
}

// docs/model.md (31), (32)
std::optional<Infeasible> PartitionEvaluator::check_sram(const PartitionMembers& members,
                                                         PartitionCost& cost,
                                                         const std::string& where) const {
  Bytes inputs{};
  Bytes outputs{};
  Bytes inside{};
  for (const TensorId t : members.tensors) {
    const auto [produced, consumed] = ends_in(t, members.index);
    if (produced && consumed) {
      inside += costs_.fused_buffer(t);
    } else if (produced) {
      outputs += costs_.streamed_buffer(t);
    } else {
      inputs += costs_.streamed_buffer(t);
    }
  }
  Bytes weights{};
  for (const KernelId k : members.kernels) {
    weights += costs_.resident_weight(k);
    inputs += costs_.held(k).inputs;
    outputs += costs_.held(k).outputs;
  }
  cost.sram = inside + inputs + outputs + weights;
  const Bytes available = problem_.system.accelerator.sram;
  if (cost.sram <= available) return std::nullopt;
  // The weight (or the sum) of a kernel alone in its partition may be cut into pieces, together
  // with the output.  A lone kernel that streams may be cut in any way, since nothing on the chip
  // waits for another kernel.
  const bool alone = members.kernels.size() == 1;
  const Kernel& first = graph_.kernel(members.kernels.front());
  const LoneKernel lone{
      .inputs = inputs, .outputs = outputs, .weight = weights, .has_pieces = first.has_pieces()};
  if (alone && !problem_.streams_kernels() && lone.may_split_weight(available)) {
    cost.pieces = lone.pieces(available);
    return std::nullopt;
  }
  if (alone && problem_.streams_lone_kernels()) {
    cost.sram = available;
    return std::nullopt;
  }
  return Infeasible{.resource = Resource::Sram,
                    .needed = cost.sram.in_base_units(),
                    .available = available.in_base_units(),
                    .where = alone ? first.name : where};
}

std::variant<Ticks, Infeasible> PartitionEvaluator::compute_ticks(
    const std::vector<KernelId>& kernels, const std::string& where) {
  const std::int64_t available = problem_.system.accelerator.cores;
  const auto count = static_cast<std::int64_t>(kernels.size());
  if (count > available) return violation(Resource::Cores, count, available, where);
  if (problem_.execution.compute_utilization) {
    Ticks sum = 0;
    for (const KernelId k : kernels) sum = capped_sum(sum, costs_.compute_at_utilization(k));
    return sum;
  }
  if (mapping_.cores.empty()) allocate_cores(kernels);
  std::int64_t used = 0;
  std::int64_t slowest = 0;
  for (const KernelId k : kernels) {
    const CoreGrid grid = grids_[k.index()];
    used = saturating_sum(used, grid.cores());
    slowest = std::max(
        slowest, cycles(graph_.kernel(k), costs_.shard(k), problem_.system.accelerator, grid));
  }
  if (used > available) return violation(Resource::Cores, used, available, where);
  return costs_.cycle_time(slowest);
}

void PartitionEvaluator::add_dataflows(PartitionCost& cost) const {
  const Accelerator& chip = problem_.system.accelerator;
  for (const KernelId k : cost.kernels) {
    const Kernel& kernel = graph_.kernel(k);
    std::optional<Dataflow>& dataflow = cost.dataflows.emplace_back();
    if (kernel.mode == Mode::Simd) continue;
    dataflow = dataflow_of(kernel, costs_.shard(k), chip, grids_[k.index()]);
    cost.register_bytes +=
        problem_.workload.word *
        (number(costs_.tiles() * passes(kernel)) * number(costs_.shard(k).steps) *
         register_words(costs_.shard(k).of_step(), chip, *dataflow));
  }
}

void PartitionEvaluator::allocate_cores(const std::vector<KernelId>& kernels) {
  grids_.resize(graph_.kernel_count());
  std::vector<const std::vector<CoreOption>*> options;
  for (const KernelId k : kernels) options.push_back(&costs_.options(k));
  const auto pace = least_cycles(options, problem_.system.accelerator.cores);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    grids_[kernels[i].index()] = cheapest_within(*options[i], *pace)->grid;
  }
}

}  // namespace dfsearch
