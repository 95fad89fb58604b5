// The plain model.
//
// This file follows docs/model.md section by section: rules of the mapping
// (model/mapping_rules.hpp), capacity and cost of every partition
// (model/evaluate/partition_cost.hpp), memory, and time of the step.  Every sum runs over the
// members of its partition anew; nothing is kept from one partition to the next.  The search
// (engine/fusion/fusion_tree.hpp) computes the same costs incrementally, and this file checks them.

#include "model/evaluate.hpp"

#include <algorithm>
#include <utility>

#include "base/counts.hpp"
#include "model/evaluate/partition_cost.hpp"
#include "model/kernel_rates.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/price_power.hpp"
#include "model/mapping_rules.hpp"

namespace dfsearch {
namespace {

using Partitions = std::vector<PartitionMembers>;

/// The most bytes alive in any partition with kernels; no tensor begins in an empty partition.  A
/// tensor is alive from the partition of its producer to the partition of its consumer.
/// docs/model.md (43)
Bytes stored_activations(const DataflowGraph& graph, const LayerCosts& costs,
                         const Partitions& partitions, const std::vector<std::int64_t>& partition) {
  const auto place = [&](KernelId kernel) {
    return std::lower_bound(partitions.begin(), partitions.end(), partition[kernel.index()],
                            [](const PartitionMembers& members, std::int64_t index) {
                              return members.index < index;
                            }) -
           partitions.begin();
  };
  std::vector<Bytes> alive(partitions.size(), costs.stored_seams());
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const auto from = place(graph.tensors()[t].from);
    const auto to = place(graph.tensors()[t].to);
    if (from == to) continue;
    const Bytes stored = costs.stored(TensorId(t));
    std::for_each(alive.begin() + from, alive.begin() + to + 1,
                  [stored](Bytes& sum) { sum += stored; });
  }
  return *std::max_element(alive.begin(), alive.end());
}

/// Adds the FLOP for each byte that a chip moves, for each partition and for the whole layer.  A
/// chip's share of the FLOP is the same for every kernel.  Bytes over the network are the time of
/// its collectives times the bandwidth of the innermost dimension with members.
/// docs/model.md (49)
void add_intensities(const Problem& problem, const Mapping& mapping, const LayerCosts& costs,
                     Cost& cost) {
  const DataflowGraph& graph = problem.workload.graph;
  const double chips = static_cast<double>(problem.chips_per_copy());
  const double runs = static_cast<double>(cost.layers_per_stage) *
                      static_cast<double>(problem.workload.global_batch) /
                      static_cast<double>(degree_of(mapping.network, Strategy::Data));
  // A kernel is on the chips of one stage, where these divide the graph.
  const auto parts = problem.divides_graph() ? degree_of(mapping.network, Strategy::Pipeline) : 1;
  // FLOP of one chip, layer and sample.
  const Flops flops = cost.flops / (chips * runs) * static_cast<double>(parts);
  const double share = graph.flops() > Flops{} ? flops / graph.flops() : 0.0;
  const auto inner = std::find_if(mapping.network.begin(), mapping.network.end(),
                                  [](const auto& dimension) { return dimension.degree > 1; });
  const BytesPerSecond link =
      inner == mapping.network.end()
          ? BytesPerSecond{}
          : problem.system.network[static_cast<std::size_t>(inner - mapping.network.begin())]
                .bandwidth;
  Seconds memory{};
  Seconds network{};
  for (PartitionCost& partition : cost.partitions) {
    for (const KernelId k : partition.kernels) {
      partition.flops += kernel_flops(graph.kernel(k)) * share;
    }
    const Seconds moving = partition.memory - partition.waiting;
    partition.memory_bytes = moving * costs.memory_bandwidth();
    partition.network_bytes = partition.network * link;
    memory += moving;
    network += partition.network;
  }
  const auto per_byte = [flops](Bytes bytes) {
    return bytes > Bytes{} ? flops.in_base_units() / bytes.in_base_units() : 0.0;
  };
  cost.memory_intensity = per_byte(memory * costs.memory_bandwidth());
  cost.network_intensity = per_byte(network * link);
}

/// The times of a step whose stages are made of layers.
void set_times(const Problem& problem, const Mapping& mapping, const ChargedTime& charged,
               Cost& cost) {
  const StepTime step = step_time(problem, mapping.network, mapping.micro_batch);
  cost.step_time = step.step(cost.layer_time);
  cost.objective = step.score(cost.layer_time);
  cost.pipeline_transfer = step.transfer;
  cost.bubble_factor = step.bubble_factor;
  cost.layers_per_stage = step.layers_per_stage;
  cost.micro_batches = step.micro_batches;
  cost.shares = time_shares(step, cost.clock, charged);
}

/// Sets the times of a mapping whose stages divide the graph: the slowest stage works on all
/// samples, and waits for the rest of the step.  Its messages count if its partitions do not hide
/// them.
void set_times(const Problem& problem, const Mapping& mapping, const StageCosts& stages,
               const std::vector<PartitionEvaluator::Result>& partitions, Cost& cost) {
  const StagedStep step = staged_step(problem, mapping.network);
  const Seconds sum = cost.clock.seconds(stages.sum);
  const Seconds greatest = stages.stages[stages.slowest].time;
  cost.step_time = step.step(sum, greatest);
  cost.objective = step.score(sum, greatest);
  cost.micro_batches = problem.workload.global_batch / mapping.micro_batch /
                       degree_of(mapping.network, Strategy::Data);
  const Seconds busy = step.samples / step.copies * greatest;
  cost.bubble_factor = cost.step_time / busy;
  ChargedTime charged;
  for (const auto& partition : partitions) {
    const KernelId first = partition.cost.kernels.front();
    const std::int64_t stage = problem.stage_of(mapping.partition[first.index()]);
    if (stage == static_cast<std::int64_t>(stages.slowest)) charged += partition.charged;
  }
  const Seconds all = cost.clock.seconds(charged.compute + charged.memory + charged.network);
  const auto share = [&](Ticks ticks) {
    return cost.clock.seconds(ticks) / greatest / cost.bubble_factor;
  };
  cost.shares = {.compute = share(charged.compute),
                 .memory = share(charged.memory),
                 .network = share(charged.network),
                 .bubble = 1.0 - 1.0 / cost.bubble_factor,
                 .transfer = std::max(0.0, 1.0 - all / greatest) / cost.bubble_factor};
}

// docs/model.md (45), (47), (48)
void finish(const Problem& problem, const Mapping& mapping, Cost& cost) {
  cost.flops = problem.workload.flops();
  const FlopsPerSecond achieved = cost.flops / cost.step_time;
  const FlopsPerSecond peak = peak_of_products(problem) * static_cast<double>(problem.system.chips);
  cost.utilization = achieved / peak;
  cost.price = system_price(problem, mapping.network);
  cost.power = system_power(problem, mapping.network);
  if (cost.price > Dollars{}) cost.cost_efficiency = achieved / cost.price;
  if (cost.power > Watts{}) cost.power_efficiency = achieved / cost.power;
  const Workload& workload = problem.workload;
  const double samples = static_cast<double>(workload.global_batch);
  if (workload.serving) {
    Seconds latency = request_latency(problem, mapping.network, cost.layer_time);
    if (problem.divides_graph()) {
      latency = Seconds{};
      for (const StageCost& stage : cost.stages) latency += stage.time;
    }
    cost.serving = {.latency = latency};
    cost.tokens_per_second =
        static_cast<double>(workload.serving->tokens) * samples / cost.step_time.in_base_units();
  } else if (workload.kind == WorkloadKind::LlmTraining) {
    cost.tokens_per_second =
        static_cast<double>(workload.sequence) * samples / cost.step_time.in_base_units();
  }
}

/// Adds the energy of a step: the energy of all that kernels compute, with copies and padding, and
/// of the bytes of all chips, counted as for intensities.
// docs/energy.md (5)
void add_energy(const Problem& problem, const Mapping& mapping, const LayerCosts& costs,
                Cost& cost) {
  const EnergyRates& rates = problem.system.energy;
  if (!rates.stated()) return;
  // Layers times samples of a chip.  If stages divide the graph, a chip has kernels of one stage.
  const double stages =
      problem.divides_graph() ? number(degree_of(mapping.network, Strategy::Pipeline)) : 1.0;
  const double runs = number(cost.layers_per_stage) * number(problem.workload.global_batch) /
                      number(degree_of(mapping.network, Strategy::Data)) /
                      number(problem.workload.copies);
  const double all = number(problem.system.chips) * runs / stages;
  EnergyWork work;
  for (const PartitionCost& partition : cost.partitions) {
    for (const KernelId k : partition.kernels) {
      const Kernel& kernel = problem.workload.graph.kernel(k);
      const Flops tile = tile_flops(kernel, costs.shard(k)) / kernel.slowness;
      work.math += all * number(costs.tiles()) * tile * rates.of(math_of(problem, kernel));
    }
    work.memory += all * partition.memory_bytes * rates.memory;
    work.links += all * partition.network_bytes * rates.link;
  }
  cost.energy = energy_of(rates, number(problem.system.chips), cost.step_time, work);
}

/// Adds the bytes in the memory of one chip, which do not depend on its speed.
void add_memory(const Problem& problem, const Mapping& mapping, const Partitions& partitions,
                const LayerCosts& costs, Cost& cost) {
  cost.stored = stored_share(problem.workload, problem.chips_per_copy());
  if (problem.divides_graph()) return;  // the rest is different in each stage
  const StepTime step = step_time(problem, mapping.network, mapping.micro_batch);
  for (std::size_t i = 0; i < problem.workload.graph.kernel_count(); ++i) {
    cost.weights += costs.stored_weight(KernelId(i)) * static_cast<double>(step.layers_per_stage);
  }
  cost.activations =
      stored_activations(problem.workload.graph, costs, partitions, mapping.partition);
}

// docs/model.md (43)
std::optional<Infeasible> check_memory(const Problem& problem, const Cost& cost) {
  const Bytes needed = cost.weights + cost.activations + cost.stored;
  const Bytes capacity = problem.system.memory_capacity();
  if (needed <= capacity) return std::nullopt;
  const bool fixed = cost.weights + cost.stored > capacity;
  std::string where = cost.stored > Bytes{} ? "stored data" : "weights";
  if (!fixed) where += " and activations";
  return Infeasible{.resource = Resource::Memory,
                    .needed = needed.in_base_units(),
                    .available = capacity.in_base_units(),
                    .where = std::move(where)};
}

std::variant<Cost, Infeasible> cost_of(const Problem& problem, const Mapping& mapping,
                                       const Partitions& partitions, int coarser) {
  LayerDecisions decisions{.network = mapping.network,
                           .sharding = loop_sets(mapping.sharding),
                           .micro_batch = mapping.micro_batch,
                           .tile = mapping.tile};
  Cost cost;
  add_memory(problem, mapping, partitions, LayerCosts(problem, decisions, coarser), cost);
  // How fast memory is depends on how much of it is used.
  cost.spilled = problem.system.second_memory() &&
                 cost.weights + cost.activations + cost.stored > problem.system.memory[0].capacity;
  decisions.spilled = cost.spilled;
  const LayerCosts costs(problem, decisions, coarser);
  cost.clock = costs.clock();
  ChargedTime charged;
  std::vector<PartitionEvaluator::Result> results;
  std::vector<Ticks> ticks;
  PartitionEvaluator evaluator(problem, costs, mapping);
  for (const PartitionMembers& members : partitions) {
    auto result = evaluator.evaluate(members);
    if (const auto* wrong = std::get_if<Infeasible>(&result)) return *wrong;
    results.push_back(std::get<PartitionEvaluator::Result>(std::move(result)));
    ticks.push_back(results.back().ticks);
    cost.layer_ticks = capped_sum(cost.layer_ticks, results.back().ticks);
    charged += results.back().charged;
    cost.partitions.push_back(results.back().cost);
  }
  cost.layer_time = cost.clock.seconds(cost.layer_ticks);
  if (!problem.execution.compute_utilization) cost.cores = evaluator.grids();
  if (problem.divides_graph()) {
    StageCosts stages = stage_costs(problem, mapping, costs, partitions, ticks);
    cost.weights = stages.stages[stages.fullest].weights;
    cost.activations = stages.stages[stages.fullest].activations;
    set_times(problem, mapping, stages, results, cost);
    cost.stages = std::move(stages.stages);
  } else {
    set_times(problem, mapping, charged, cost);
  }
  if (auto wrong = check_memory(problem, cost)) return *wrong;
  finish(problem, mapping, cost);
  add_intensities(problem, mapping, costs, cost);
  add_energy(problem, mapping, costs, cost);
  return cost;
}

}  // namespace

std::variant<Cost, Infeasible> evaluate(const Problem& problem, const Mapping& mapping) {
  check_form(problem, mapping);
  if (auto wrong = broken_rule(problem, mapping)) return *wrong;
  const Partitions partitions = members_of_partitions(problem.workload.graph, mapping.partition);
  // A mapping may give so few cores that times are too long for the clock of the search.  Ticks
  // then get coarser in small steps, so that such times still have 2^47 ticks.
  for (int coarser = 0;; coarser += 14) {
    auto result = cost_of(problem, mapping, partitions, coarser);
    const Cost* cost = std::get_if<Cost>(&result);
    if (cost == nullptr || cost->layer_ticks < kNever || coarser >= 56) return result;
  }
}

}  // namespace dfsearch
