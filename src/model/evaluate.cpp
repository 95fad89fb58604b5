// The plain model.
//
// Reads like docs/model.md, section by section: is the mapping well-formed, does
// every partition fit the chip, does the rest fit the memory, what does each
// partition take, what does the step take.  Every sum runs over all kernels or
// all tensors anew; nothing is kept from one partition to the next.  The search
// (engine/fusion/fusion_tree.hpp) does the same incrementally, and this file judges it.

#include "model/evaluate.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"
#include "model/machine/price_power.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

using MaybeInfeasible = std::optional<Infeasible>;

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
  check(allows(problem, mapping.network),
        "network: expected the shape of the system, degrees whose product is its chips, and what "
        "it and `parallelism` fix");
}

Infeasible violation(Resource resource, std::int64_t needed, std::int64_t available,
                     std::string where) {
  return {.resource = resource,
          .needed = static_cast<double>(needed),
          .available = static_cast<double>(available),
          .where = std::move(where)};
}

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
    const std::vector<Loop> loops = shardable_loops(graph.kernels()[i]);
    if (std::find(loops.begin(), loops.end(), mapping.sharding[i]) == loops.end()) {
      return violation(Resource::Sharding, 0, 0, name);
    }
    const bool pinned = !problem.sharding_pins.empty() && problem.sharding_pins[i];
    if (pinned && *problem.sharding_pins[i] != mapping.sharding[i]) {
      return violation(Resource::Pin, 0, 0, name);
    }
  }
  return std::nullopt;
}

/// Forward kernels stay in partitions 0..last_forward, backward ones in
/// first_backward and up.
struct PhaseHalves {
  std::int64_t last_forward;
  std::int64_t first_backward;
};

PhaseHalves halves(std::int64_t limit) {
  return {.last_forward = (limit + 1) / 2 - 1, .first_backward = limit / 2};
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

// docs/model.md (10)
MaybeInfeasible check_partition_order(const Problem& problem, const Mapping& mapping) {
  const DataflowGraph& graph = problem.workload.graph;
  const std::vector<std::int64_t>& partition = mapping.partition;
  const std::int64_t limit = problem.partition_limit();
  for (std::size_t i = 0; i < partition.size(); ++i) {
    const std::string& name = graph.kernels()[i].name;
    if (partition[i] < 0 || partition[i] >= limit) {
      return violation(Resource::Partitions, partition[i] + 1, limit, name);
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
  // Kernel by kernel the phases need no partitions of their own to be apart, and
  // the partitions are as many as the kernels: nothing to halve.
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

/// One partition's kernels and what they cost.
class PartitionEvaluator {
 public:
  PartitionEvaluator(const Problem& problem, const LayerCosts& costs, const Mapping& mapping)
      : problem_(problem),
        graph_(problem.workload.graph),
        costs_(costs),
        mapping_(mapping),
        grids_(mapping.cores) {}

  struct Result {
    PartitionCost cost;
    Ticks ticks = 0;
    ChargedTime charged;
  };

  std::variant<Result, Infeasible> evaluate(std::int64_t index) {
    Result result;
    for (std::size_t i = 0; i < graph_.kernel_count(); ++i) {
      if (mapping_.partition[i] == index) result.cost.kernels.emplace_back(i);
    }
    if (result.cost.kernels.empty()) return result;
    const std::string where = "partition " + std::to_string(index);
    if (auto wrong = check_repeat(result.cost.kernels, where)) return *wrong;
    if (auto wrong = check_sram(index, result.cost, where)) return *wrong;

    const auto compute = compute_ticks(result.cost.kernels, where);
    if (const auto* wrong = std::get_if<Infeasible>(&compute)) return *wrong;
    Ticks memory = 0;
    Ticks network = 0;
    Ticks weight_loads = 0;
    for (const KernelId k : result.cost.kernels) {
      network += costs_.network(k);
      memory += costs_.explicit_memory(k);
      weight_loads += costs_.weight_load(k);
    }
    for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
      if (crosses_border(t, index)) memory += costs_.transfer(TensorId(t));
    }
    set_times(result, std::get<Ticks>(compute), memory, network, weight_loads);
    return result;
  }

  [[nodiscard]] const std::vector<CoreGrid>& grids() const { return grids_; }

 private:
  [[nodiscard]] bool produced_in(std::size_t tensor, std::int64_t index) const {
    return mapping_.partition[graph_.tensors()[tensor].from.index()] == index;
  }
  [[nodiscard]] bool consumed_in(std::size_t tensor, std::int64_t index) const {
    return mapping_.partition[graph_.tensors()[tensor].to.index()] == index;
  }
  [[nodiscard]] bool crosses_border(std::size_t tensor, std::int64_t index) const {
    return produced_in(tensor, index) != consumed_in(tensor, index);
  }

  MaybeInfeasible check_repeat(const std::vector<KernelId>& kernels, const std::string& where) {
    const auto repeats = std::count_if(kernels.begin(), kernels.end(),
                                       [&](KernelId k) { return graph_.kernel(k).repeat > 1; });
    if (repeats == 0 || repeats == static_cast<std::ptrdiff_t>(kernels.size())) return {};
    return violation(Resource::Repeat, repeats, 0, where);
  }

  // docs/model.md (31), (32)
  MaybeInfeasible check_sram(std::int64_t index, PartitionCost& cost, const std::string& where) {
    Bytes inputs{};
    Bytes outputs{};
    Bytes inside{};
    for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
      const TensorId id(t);
      if (produced_in(t, index) && consumed_in(t, index)) {
        inside += costs_.fused_buffer(id);
      } else if (produced_in(t, index)) {
        outputs += costs_.streamed_buffer(id);
      } else if (consumed_in(t, index)) {
        inputs += costs_.streamed_buffer(id);
      }
    }
    Bytes weights{};
    for (const KernelId k : cost.kernels) weights += costs_.resident_weight(k);
    cost.sram = inside + inputs + outputs + weights;
    const Bytes available = problem_.system.accelerator.sram;
    if (cost.sram <= available) return std::nullopt;
    // A weight alone on the chip may be cut into pieces, and its output with it.
    const bool lone_weight =
        cost.kernels.size() == 1 && graph_.kernel(cost.kernels.front()).has_weight();
    if (lone_weight && inputs < available) {
      cost.weight_tiled = true;
      return std::nullopt;
    }
    return Infeasible{
        .resource = Resource::Sram,
        .needed = cost.sram.in_base_units(),
        .available = available.in_base_units(),
        .where = cost.kernels.size() == 1 ? graph_.kernel(cost.kernels[0]).name : where};
  }

  std::variant<Ticks, Infeasible> compute_ticks(const std::vector<KernelId>& kernels,
                                                const std::string& where) {
    const std::int64_t available = problem_.system.accelerator.cores;
    const auto count = static_cast<std::int64_t>(kernels.size());
    if (count > available) return violation(Resource::Cores, count, available, where);
    if (problem_.execution.compute_utilization) {
      Ticks sum = 0;
      for (const KernelId k : kernels) sum += costs_.compute_at_utilization(k);
      return sum;
    }
    if (mapping_.cores.empty()) allocate_cores(kernels);
    std::int64_t used = 0;
    std::int64_t slowest = 0;
    for (const KernelId k : kernels) {
      const CoreGrid grid = grids_[k.index()];
      used += grid.cores();
      slowest = std::max(
          slowest, cycles(graph_.kernel(k), costs_.shard(k), problem_.system.accelerator, grid));
    }
    if (used > available) return violation(Resource::Cores, used, available, where);
    return costs_.cycle_time(slowest);
  }

  void allocate_cores(const std::vector<KernelId>& kernels) {
    grids_.resize(graph_.kernel_count());
    std::vector<const std::vector<CoreOption>*> options;
    for (const KernelId k : kernels) options.push_back(&costs_.options(k));
    const auto pace = least_cycles(options, problem_.system.accelerator.cores);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      grids_[kernels[i].index()] = cheapest_within(*options[i], *pace)->grid;
    }
  }

  void set_times(Result& result, Ticks compute, Ticks memory, Ticks network,
                 Ticks weight_loads) const {
    const Clock& clock = costs_.clock();
    const Overlap overlap = problem_.execution.overlap;
    result.ticks = std::min(kNever, overlapped(overlap, compute, memory, network) + weight_loads);
    result.charged = charged_time(overlap, compute, memory, network);
    result.charged.memory += weight_loads;
    result.cost.compute = clock.seconds(compute);
    result.cost.memory = clock.seconds(memory + weight_loads);
    result.cost.network = clock.seconds(network);
    result.cost.time = clock.seconds(result.ticks);
    result.cost.bound_by = Bottleneck::Compute;
    if (memory > compute) result.cost.bound_by = Bottleneck::Memory;
    if (network > std::max(compute, memory)) result.cost.bound_by = Bottleneck::Network;
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  const LayerCosts& costs_;
  const Mapping& mapping_;
  std::vector<CoreGrid> grids_;
};

std::int64_t partition_end(const std::vector<std::int64_t>& partition) {
  return *std::max_element(partition.begin(), partition.end()) + 1;
}

// docs/model.md (43)
Bytes stored_activations(const Problem& problem, const LayerCosts& costs,
                         const std::vector<std::int64_t>& partition) {
  const DataflowGraph& graph = problem.workload.graph;
  Bytes most{};
  for (std::int64_t p = 0; p < partition_end(partition); ++p) {
    Bytes alive{};
    for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
      const std::int64_t from = partition[graph.tensors()[t].from.index()];
      const std::int64_t to = partition[graph.tensors()[t].to.index()];
      if (from != to && from <= p && p <= to) alive += costs.stored(TensorId(t));
    }
    most = std::max(most, alive);
  }
  return most;
}

/// FLOP of a step for each byte that all chips move in it.  Bytes over the network are
/// the time of its collectives times the bandwidth of the innermost dimension.
/// docs/model.md (49)
void add_intensities(const Problem& problem, const Mapping& mapping, const LayerCosts& costs,
                     Cost& cost) {
  Seconds memory{};
  Seconds network{};
  for (const PartitionCost& partition : cost.partitions) {
    memory += partition.memory;
    network += partition.network;
  }
  const double chips = static_cast<double>(problem.chips_per_copy());
  const double runs = static_cast<double>(cost.layers_per_stage) *
                      static_cast<double>(problem.workload.global_batch) /
                      static_cast<double>(degree_of(mapping.network, Strategy::Data));
  const Flops flops = cost.flops / (chips * runs);  // of one chip, layer and sample
  const auto per_byte = [flops](Bytes bytes) {
    return bytes > Bytes{} ? flops.in_base_units() / bytes.in_base_units() : 0.0;
  };
  cost.memory_intensity = per_byte(memory * costs.memory_bandwidth());
  const auto inner = std::find_if(mapping.network.begin(), mapping.network.end(),
                                  [](const auto& dimension) { return dimension.degree > 1; });
  if (inner == mapping.network.end()) return;
  const auto d = static_cast<std::size_t>(inner - mapping.network.begin());
  cost.network_intensity = per_byte(network * problem.system.network[d].bandwidth);
}

// docs/model.md (45), (47), (48)
void finish(const Problem& problem, const Mapping& mapping, const ChargedTime& charged,
            Cost& cost) {
  const StepTime step = step_time(problem, mapping.network, mapping.micro_batch);
  cost.layer_time = cost.clock.seconds(cost.layer_ticks);
  cost.step_time = step.step(cost.layer_time);
  cost.objective = step.score(cost.layer_time);
  cost.pipeline_transfer = step.transfer;
  cost.bubble_factor = step.bubble_factor;
  cost.layers_per_stage = step.layers_per_stage;
  cost.micro_batches = step.micro_batches;
  cost.shares = time_shares(step, cost.clock, charged);

  cost.flops = problem.workload.flops();
  const FlopsPerSecond achieved = cost.flops / cost.step_time;
  const FlopsPerSecond peak =
      problem.system.accelerator.peak() * static_cast<double>(problem.system.chips);
  cost.utilization = achieved / peak;
  cost.price = system_price(problem.system, mapping.network, problem.workload.copies);
  cost.power = system_power(problem.system, mapping.network, problem.workload.copies);
  if (cost.price > Dollars{}) cost.cost_efficiency = achieved / cost.price;
  if (cost.power > Watts{}) cost.power_efficiency = achieved / cost.power;
  if (const auto& serving = problem.workload.serving) {
    const double tokens =
        static_cast<double>(serving->tokens) * static_cast<double>(problem.workload.global_batch);
    cost.serving = {.latency = request_latency(problem, mapping.network, cost.layer_time),
                    .tokens_per_second = tokens / cost.step_time.in_base_units()};
  }
}

/// What one chip must hold in memory.  Independent of how fast that is.
void add_memory(const Problem& problem, const Mapping& mapping, const LayerCosts& costs,
                Cost& cost) {
  const StepTime step = step_time(problem, mapping.network, mapping.micro_batch);
  for (std::size_t i = 0; i < problem.workload.graph.kernel_count(); ++i) {
    cost.weights += costs.stored_weight(KernelId(i)) * static_cast<double>(step.layers_per_stage);
  }
  cost.activations = stored_activations(problem, costs, mapping.partition);
  cost.stored = stored_share(problem.workload, problem.chips_per_copy());
}

// docs/model.md (43)
MaybeInfeasible check_memory(const Problem& problem, const Cost& cost) {
  const Bytes needed = cost.weights + cost.activations + cost.stored;
  const Bytes capacity = problem.system.memory.total_capacity();
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
                                       int coarser) {
  LayerDecisions decisions{.network = mapping.network,
                           .sharding = loop_sets(mapping.sharding),
                           .micro_batch = mapping.micro_batch,
                           .tile = mapping.tile};
  Cost cost;
  add_memory(problem, mapping, LayerCosts(problem, decisions, coarser), cost);
  // How fast memory is depends on how much of it is used.
  cost.spilled = problem.system.memory.second &&
                 cost.weights + cost.activations + cost.stored > problem.system.memory.capacity;
  decisions.spilled = cost.spilled;
  const LayerCosts costs(problem, decisions, coarser);
  cost.clock = costs.clock();
  ChargedTime charged;
  PartitionEvaluator evaluator(problem, costs, mapping);
  for (std::int64_t p = 0; p < partition_end(mapping.partition); ++p) {
    auto result = evaluator.evaluate(p);
    if (const auto* wrong = std::get_if<Infeasible>(&result)) return *wrong;
    auto& partition = std::get<PartitionEvaluator::Result>(result);
    if (partition.cost.kernels.empty()) continue;
    cost.layer_ticks = std::min(kNever, cost.layer_ticks + partition.ticks);
    charged += partition.charged;
    cost.partitions.push_back(std::move(partition.cost));
  }
  if (!problem.execution.compute_utilization) cost.cores = evaluator.grids();
  if (auto wrong = check_memory(problem, cost)) return *wrong;
  finish(problem, mapping, charged, cost);
  add_intensities(problem, mapping, costs, cost);
  return cost;
}

}  // namespace

std::variant<Cost, Infeasible> evaluate(const Problem& problem, const Mapping& mapping) {
  check_form(problem, mapping);
  if (auto wrong = check_batch_and_tile(problem, mapping)) return *wrong;
  if (auto wrong = check_sharding(problem, mapping)) return *wrong;
  if (auto wrong = check_partition_order(problem, mapping)) return *wrong;
  // Cores that a mapping gives may be far too few for the clock of the search.
  // Coarser in small steps: what was past the end still has 2^47 ticks.
  for (int coarser = 0;; coarser += 14) {
    auto result = cost_of(problem, mapping, coarser);
    const Cost* cost = std::get_if<Cost>(&result);
    if (cost == nullptr || cost->layer_ticks < kNever || coarser >= 56) return result;
  }
}

}  // namespace dfsearch
