#include "support/random_problem.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"

namespace dfsearch::test {
namespace {

using Random = std::mt19937_64;

Kernel random_kernel(Random& random, std::size_t index, bool backward, std::int64_t sequence) {
  Kernel kernel;
  kernel.name = std::string(1, static_cast<char>('a' + index));
  kernel.kind = static_cast<KernelKind>(pick(random, 0, 3));
  const bool gemm = kernel.kind == KernelKind::WeightGemm || kernel.kind == KernelKind::Gemm;
  kernel.mode = gemm != chance(random, 5) ? Mode::Systolic : Mode::Simd;
  kernel.phase = backward ? Phase::Backward : Phase::Forward;
  kernel.outer = chance(random, 25) ? pick(random, 2, 3) : 1;
  kernel.m = pick(random, 1, 8);
  kernel.k = gemm ? pick(random, 1, 8) : 1;
  kernel.n = chance(random, 80) ? sequence : pick(random, 1, 6);
  kernel.tiled = chance(random, 80) ? Loop::N : static_cast<Loop>(pick(random, 0, 4));
  if (chance(random, 10)) {
    kernel.communication = Communication{.type = static_cast<CommunicationType>(pick(random, 0, 3)),
                                         .bytes = Bytes(static_cast<double>(pick(random, 1, 64)))};
  }
  if (chance(random, 10)) kernel.memory = Bytes(static_cast<double>(pick(random, 1, 200)));
  if (chance(random, 10)) kernel.sharded_memory = Bytes(static_cast<double>(pick(random, 1, 400)));
  if (!gemm && chance(random, 20)) kernel.coupled = pick(random, 1, 2);
  if (chance(random, 5)) kernel.repeat = pick(random, 2, 3);
  if (kernel.has_weight() && chance(random, 5)) kernel.skip_weight = true;
  return kernel;
}

/// Makes one kernel the twin of another: alike, with the same neighbours.
void make_twin(Random& random, std::vector<Kernel>& kernels, std::vector<Tensor>& tensors) {
  const auto last = static_cast<std::int64_t>(kernels.size()) - 1;
  const auto original = static_cast<std::size_t>(pick(random, 0, last));
  const auto twin = static_cast<std::size_t>(pick(random, 0, last));
  if (original == twin) return;
  std::erase_if(tensors, [&](const Tensor& t) {
    return t.from.index() == twin || t.to.index() == twin ||
           (t.from.index() < twin) != (t.from.index() < original) ||
           (t.to.index() > twin) != (t.to.index() > original);
  });
  const std::size_t count = tensors.size();
  for (std::size_t t = 0; t < count; ++t) {
    Tensor copy = tensors[t];
    if (copy.from.index() == original) copy.from = KernelId(twin);
    if (copy.to.index() == original) copy.to = KernelId(twin);
    if (!(copy == tensors[t])) tensors.push_back(copy);
  }
  const Phase phase = kernels[twin].phase;
  const std::string name = kernels[twin].name;
  kernels[twin] = kernels[original];
  kernels[twin].phase = phase;
  kernels[twin].name = name;
}

DataflowGraph random_graph(Random& random, std::size_t count, std::int64_t sequence) {
  const std::size_t first_backward =
      chance(random, 40)
          ? static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(count)))
          : count;
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < count; ++i) {
    kernels.push_back(random_kernel(random, i, i >= first_backward, sequence));
  }
  const int density = static_cast<int>(pick(random, 10, 70));
  std::vector<Tensor> tensors;
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = from + 1; to < count; ++to) {
      const int copies = chance(random, density) ? (chance(random, 5) ? 2 : 1) : 0;
      for (int copy = 0; copy < copies; ++copy) {
        tensors.push_back({.from = KernelId(from),
                           .to = KernelId(to),
                           .operand = static_cast<int>(pick(random, 1, 2))});
      }
    }
  }
  std::vector<Tensor> seams;
  while (chance(random, 35)) {
    const Tensor seam{.from = KernelId(static_cast<std::size_t>(random() % count)),
                      .to = KernelId(static_cast<std::size_t>(random() % count))};
    if (kernels[seam.from.index()].phase == kernels[seam.to.index()].phase) seams.push_back(seam);
  }
  if (chance(random, 25)) make_twin(random, kernels, tensors);
  // A list that is not topological, now and then.
  if (chance(random, 20)) {
    std::vector<std::size_t> place(count);
    for (std::size_t i = 0; i < count; ++i) place[i] = i;
    for (std::size_t i = count; i > 1; --i) {
      std::swap(place[i - 1],
                place[static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(i) - 1))]);
    }
    std::vector<Kernel> shuffled(count);
    for (std::size_t i = 0; i < count; ++i) shuffled[place[i]] = kernels[i];
    kernels = std::move(shuffled);
    for (std::vector<Tensor>* list : {&tensors, &seams}) {
      for (Tensor& t : *list) {
        t.from = KernelId(place[t.from.index()]);
        t.to = KernelId(place[t.to.index()]);
      }
    }
  }
  return {std::move(kernels), std::move(tensors), std::move(seams)};
}

void random_network(Random& random, const Workload& workload, Machine& system,
                    const WorldLimits& limits) {
  const std::int64_t dimensions = pick(random, limits.two_axes ? 2 : 0, 3);
  for (std::int64_t d = 0; d < dimensions; ++d) {
    NetworkDimension dimension;
    dimension.topology = static_cast<Topology>(pick(random, 0, 2));
    dimension.degree = pick(random, 1, 3);
    dimension.bandwidth = BytesPerSecond(static_cast<double>(pick(random, 1, 40)));
    dimension.strategy = static_cast<Strategy>(pick(random, 0, 2));
    // Without a draw, which would change all that follows.
    dimension.both_ways =
        dimension.topology == Topology::Ring && (*dimension.degree + d + system.chips) % 2 == 0;
    if (limits.two_axes && chance(random, 60)) dimension.strategy = Strategy::Tensor;
    if (workload.network_use == NetworkUse::Tensor) dimension.strategy = Strategy::Tensor;
    if (workload.network_use == NetworkUse::Data) dimension.strategy = Strategy::Data;
    system.chips *= *dimension.degree;
    system.network.push_back(dimension);
  }
}

/// Sets SRAM and memory near what the layer needs, so that they bind.
void random_capacities(Random& random, Problem& problem) {
  const std::int64_t tile = pick(random, 1, problem.workload.sequence);
  NetworkChoice network;
  for (const NetworkDimension& d : problem.system.network) {
    network.push_back({.degree = *d.degree, .strategy = *d.strategy});
  }
  const LayerCosts costs(problem, {.network = network,
                                   .sharding = loop_sets(least_bytes_sharding(problem)),
                                   .micro_batch = 1,
                                   .tile = tile});
  const DataflowGraph& graph = problem.workload.graph;
  Bytes on_chip{};
  Bytes stored{};
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    on_chip += costs.fused_buffer(TensorId(t));
    stored += costs.stored(TensorId(t));
  }
  Bytes weights{};
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const LayerCosts::Held held = costs.held(KernelId(i));
    on_chip += held.inputs + held.outputs;
    weights += costs.weight(KernelId(i));
  }
  const auto share = [&](std::int64_t low, std::int64_t high) {
    return static_cast<double>(pick(random, low, high)) / 100.0;
  };
  problem.system.accelerator.sram =
      Bytes(std::floor(((on_chip + weights) * share(15, 120)).in_base_units()) + 1);
  if (chance(random, 40)) {
    problem.system.memory[0].capacity = Bytes(
        std::floor((weights * static_cast<double>(problem.workload.layers) + stored * share(0, 130))
                       .in_base_units()) +
        1);
  }
}

/// Leaves degrees and strategies to the search, and restricts some.
void free_machine(Random& random, Problem& problem) {
  for (NetworkDimension& dimension : problem.system.network) {
    if (chance(random, 70)) dimension.degree.reset();
    if (chance(random, 70)) dimension.strategy.reset();
  }
  for (DegreeChoice& choice : problem.parallelism) {
    if (chance(random, 10)) choice.most = pick(random, 1, 4);
    if (chance(random, 5)) choice.values = {1, 2, 3};
  }
}

/// Leaves the sharding to the search and pins some of it.
void joint_sharding(Random& random, Problem& problem) {
  problem.sharding = ShardingChoice::Joint;
  if (!chance(random, 25)) return;
  for (const Kernel& kernel : problem.workload.graph.kernels()) {
    const LoopSet loops = shardable_pairs(problem, kernel);
    std::optional<LoopPair>& pin = problem.sharding_pins.emplace_back();
    if (chance(random, 20)) {
      auto at = loops.begin();
      for (std::int64_t place = pick(random, 0, loops.size() - 1); place > 0; --place) ++at;
      pin = *at;
    }
  }
}

double shardings(const Problem& problem) {
  double count = 1.0;
  if (problem.sharding == ShardingChoice::LeastBytes) return count;
  for (const Kernel& kernel : problem.workload.graph.kernels()) {
    count *= static_cast<double>(shardable_pairs(problem, kernel).size());
  }
  return count;
}

void random_objective(Random& random, Problem& problem, Objective objective) {
  problem.objective = objective;
  const auto units = [&](auto& price) {
    using Price = std::remove_reference_t<decltype(price)>;
    const auto any = [&] { return static_cast<double>(pick(random, 0, 30)); };
    price.accelerator = decltype(Price::accelerator)(1.0 + any());
    price.memory = decltype(Price::memory)(any());
    for (std::size_t d = 0; d < problem.system.network.size(); ++d) {
      price.link.emplace_back(any());
    }
    price.switch_port = decltype(Price::switch_port)(any());
  };
  units(problem.system.price);
  units(problem.system.power);
}

void random_execution(Random& random, Problem& problem, const WorldLimits& limits) {
  const auto kernels = static_cast<std::int64_t>(problem.workload.graph.kernel_count());
  Execution& execution = problem.execution;
  execution.overlap = static_cast<Overlap>(pick(random, 0, 2));
  if (chance(random, 50)) {
    execution.compute_utilization = static_cast<double>(pick(random, 10, 100)) / 100.0;
  }
  std::int64_t partitions = pick(random, 1, kernels);
  const auto tries = [&](std::int64_t p) {
    return std::pow(static_cast<double>(p), static_cast<double>(kernels)) *
           static_cast<double>(problem.workload.sequence) * shardings(problem);
  };
  while (partitions > 1 && tries(partitions) > limits.assignments) --partitions;
  execution.partitions = partitions;
  if (chance(random, 5)) execution.style = Style::KernelByKernel;
  if (chance(random, 15) && execution.style == Style::Dataflow) {
    execution.pins.resize(static_cast<std::size_t>(kernels));
    for (auto& pin : execution.pins) {
      if (chance(random, 30)) pin = pick(random, 0, partitions - 1);
    }
  }
  Equations& equations = problem.equations;
  if (chance(random, 40)) equations = Equations::published();
  if (chance(random, 30)) equations.phases = SplitPhases::Halves;
  if (chance(random, 10)) equations.weight_traffic = WeightTraffic::PerSample;
  if (chance(random, 20)) equations.all_reduce_passes = 1;
  if (chance(random, 20)) equations.shards = Shards::Even;
  if (chance(random, 20)) equations.layer_seams = LayerSeams::Free;
}

}  // namespace

std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

Problem random_problem(std::uint64_t seed, const WorldLimits& limits) {
  Random random(seed);
  Problem problem;
  const auto most = static_cast<std::int64_t>(limits.kernels);
  const auto count =
      static_cast<std::size_t>(chance(random, 30) ? pick(random, 1, most)
                                                  : pick(random, std::min<std::int64_t>(3, most),
                                                         std::min<std::int64_t>(5, most)));
  Workload& workload = problem.workload;
  workload.sequence = pick(random, 1, 6);
  workload.graph = random_graph(random, count, workload.sequence);
  random_surroundings(random, problem, limits);
  return problem;
}

std::optional<Problem> large_problem(std::uint64_t seed, std::size_t kernels) {
  try {
    Problem problem = random_problem(
        seed, {.kernels = std::max<std::size_t>(150, kernels / 3 * 4), .assignments = 1e300});
    if (problem.workload.graph.kernel_count() > kernels) return problem;
  } catch (const InputError&) {
  }
  return std::nullopt;
}

void random_surroundings(std::mt19937_64& random, Problem& problem, const WorldLimits& limits) {
  Workload& workload = problem.workload;
  workload.word = Bytes(static_cast<double>(pick(random, 1, 2)));
  workload.layers = pick(random, 1, 5);
  workload.boundary = Bytes(static_cast<double>(pick(random, 0, 50)));
  if (chance(random, 30)) workload.tile = pick(random, 1, workload.sequence);

  Machine& system = problem.system;
  random_network(random, workload, system, limits);
  system.chips *= workload.copies;
  workload.global_batch = pick(random, 1, 6);
  for (const NetworkDimension& d : system.network) {
    if (d.strategy == Strategy::Data) workload.global_batch *= *d.degree;
  }
  if (chance(random, 30)) workload.micro_batch = 1;
  system.accelerator = {.cores = pick(random, 1, 10),
                        .lanes = pick(random, 1, 4),
                        .stages = pick(random, 1, 3),
                        .frequency = Hertz(static_cast<double>(pick(random, 1, 30))),
                        .sram = Bytes(1e9)};
  system.memory[0].bandwidth = BytesPerSecond(static_cast<double>(pick(random, 5, 400)));
  if (limits.two_axes) problem.tensor_axes = 2;
  if (limits.joint || limits.two_axes) joint_sharding(random, problem);
  random_execution(random, problem, limits);
  random_capacities(random, problem);
  if (limits.free_machine) free_machine(random, problem);
  if (limits.objective) random_objective(random, problem, *limits.objective);
}

void set_rates(Problem& problem, std::uint64_t seed) {
  DataflowGraph& graph = problem.workload.graph;
  std::vector<Kernel> kernels = graph.kernels();
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    kernels[k].slowness = static_cast<double>(1 + (seed + k) % 5) / 2.0;
    kernels[k].cycle_scale = static_cast<double>(1 + (seed + 3 * k) % 7) / 4.0;
  }
  graph = DataflowGraph(std::move(kernels), graph.tensors(), graph.seams());
}

void add_level(Problem& problem, double words, double speed, Seconds latency) {
  const Accelerator& chip = problem.system.accelerator;
  const double word = problem.workload.word.in_base_units();
  const double units = static_cast<double>(chip.cores) * static_cast<double>(chip.lanes) *
                       static_cast<double>(chip.stages);
  std::vector<OnChipLevel>& levels = problem.system.levels;
  levels.push_back({kLevelNames[levels.size()], Bytes(words * word),
                    BytesPerSecond(word * units * chip.frequency.in_base_units() * speed),
                    latency});
  problem.execution.levels = true;
}

}  // namespace dfsearch::test
