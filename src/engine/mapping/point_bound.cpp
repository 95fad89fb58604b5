// Every fusion spends the compute time of all kernels and their network time
// (docs/search.md, section 3).
//
// Roundings: n kernels take n - 1 additions here, and each of their times at most three roundings.
// The product with the number of tiles, the sum of both times and the factor are three more.  The
// model rounds a time at most three times before it rounds it up to a tick, adds up ticks without
// rounding and converts them to seconds with one more rounding.  In all these are n + 9; network
// times are the same doubles on both sides.

// Multipliers.
//
// A partition takes at least its compute time and at least its network time.  Let C and N be the
// sums of compute and network time over a phase.  Then all partitions of the phase take at least
// w C + (1 - w) N for any weight w between 0 and 1, or C + N if the network is not hidden.  Loads
// of weights come on top.  Forward and backward kernels share no partition, so the phases add up,
// each with its weight.  This bound is a sum of terms over single kernels and over kernels that
// share a value; the sharding of the least sum is found exactly (base/least_sum.hpp).  Any weights
// make a bound; good weights make C and N of that sharding equal, and bisection finds them.
//
// Roundings: a term takes at most eight, and a sum of n terms n more.  The sums are rounded twice:
// where the least sum is sought, and here.  The roundings of the model are counted above.
//
// Tested against brute force: tests/engine/mapping/bound_properties_test.cpp.

#include "engine/mapping/point_bound.hpp"

#include <algorithm>

#include "engine/sharding/loop_sum.hpp"
#include "model/layer/level_traffic.hpp"
#include "model/layer/sharding.hpp"
#include "model/mapping_rules.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kRoundingsBesideSum = 9;
// Each term of either side has at most sixteen roundings; the divisions and the product have a few
// more.
constexpr std::size_t kRoundingsOfWork = 48;

constexpr int kWeightRounds = 7;
constexpr double kMostJointSteps = 1e5;
constexpr std::size_t kPhases = 2;
constexpr std::size_t kRoundingsBesideTerms = 20;

/// The sums of compute, network and load times of each phase; both phases are one group under
/// `phases: halves`, where they may share a partition.
LoopSum times_by_phase(const Problem& problem, const LayerDecisions& decisions,
                       const NetworkContext& context, CoreOptionsCache& cache,
                       const Deadline& deadline) {
  const std::vector<Kernel>& kernels = problem.workload.graph.kernels();
  const bool has_phases = !has_halves(problem);
  std::vector<std::size_t> phases;
  for (const Kernel& kernel : kernels) {
    phases.push_back(has_phases && kernel.phase == Phase::Backward ? 1 : 0);
  }
  LoopSum sum(context, decisions.sharding, std::move(phases), deadline);
  const LayerCosts costs(problem, decisions, 0, &cache);
  const bool loads_weights = costs.loads_weights();
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    sum.add(k, sum.group(k), [&](LoopPair loop) {
      const Shard shard = shard_of(kernels[k], loop, context.machine.grid(), context.tiles);
      const Seconds compute =
          least_compute(problem, kernels[k], shard) * static_cast<double>(context.tiles);
      const Seconds loads = loads_weights ? costs.weight_load(KernelId(k), loop) : Seconds{};
      return LoopTimes{.compute = compute / Seconds(1.0),
                       .memory = loads / Seconds(1.0),
                       .network = own_network_time(context, kernels[k], loop) / Seconds(1.0)};
    });
  }
  return sum;
}

std::vector<std::int64_t> tiles_of(const Workload& workload) {
  if (workload.tile) return {*workload.tile};
  std::vector<std::int64_t> tiles;
  for (std::int64_t tile = workload.sequence; tile >= 1;) {
    tiles.push_back(tile);
    // The next tile is the largest one that makes more tiles.
    const std::int64_t count = ceil_div(workload.sequence, tile);
    if (count >= workload.sequence) break;
    tile = std::min(tile - 1, (workload.sequence - 1) / count);
  }
  return tiles;
}

std::vector<std::int64_t> micro_batches_of(const Workload& workload) {
  if (workload.micro_batch) return {*workload.micro_batch};
  // One sample at a time is never slower, nor does it need more memory: larger
  // micro-batches lengthen the bubble, raise the share of gradients per
  // sample and store more (docs/search.md, section 3).
  return {1};
}

}  // namespace

Seconds least_compute(const Problem& problem, const Kernel& kernel, const Shard& shard) {
  const Accelerator& chip = problem.system.accelerator;
  if (const auto utilization = problem.execution.compute_utilization) {
    return tile_flops(kernel, shard) / (*utilization * chip.peak());
  }
  // No allocation spends fewer core-cycles than a single core.
  return static_cast<double>(cycles(kernel, shard, chip, {})) / static_cast<double>(chip.cores) /
         chip.frequency;
}

// Chips and tiles divide the work of a kernel.  Every count of cycles or FLOP is a product of
// factors that are subadditive in one extent each, so the parts together take no less than the
// whole kernel in one step (docs/search.md, section 3).
Score least_score(const Problem& problem, const std::vector<NetworkChoice>& networks,
                  const Deadline& deadline) {
  PacedDeadline paced(deadline, 1'000);
  Seconds of_group{};  // of kernels that the tensor ranks divide
  Seconds of_copy{};   // of kernels that all chips of a copy divide
  const std::vector<Kernel>& kernels = problem.workload.graph.kernels();
  for (Kernel kernel : kernels) {
    paced.check();
    Extents whole = extents_of(kernel);
    whole.steps = 1;
    // The factor for loading arrays depends on two extents, so parts of a weight may take less time
    // than the whole: it is left out.
    kernel.loads_arrays = false;
    const Seconds time = least_compute(problem, kernel, shard_of(whole, Loop::None, ChipGrid{}, 1));
    (kernel.spread == Spread::Tensor ? of_group : of_copy) += time;
  }
  const double margin = less_roundings(kernels.size() + kRoundingsOfWork);
  Score least = Score::infinity();
  for (const NetworkChoice& network : networks) {
    paced.check();
    const ChipGrid grid = chip_grid(network, problem.equations);
    const Seconds layer = (of_group / static_cast<double>(grid.tensor) +
                           of_copy / static_cast<double>(grid.chips())) *
                          margin;
    if (problem.divides_graph()) {
      const auto stages = static_cast<double>(degree_of(network, Strategy::Pipeline));
      least = std::min(least, staged_step(problem, network).score(layer, layer / stages * margin));
    } else {
      const std::int64_t micro_batch = problem.workload.micro_batch.value_or(1);
      least = std::min(least, step_time(problem, network, micro_batch).score(layer));
    }
  }
  return least;
}

Seconds least_layer_time(const Problem& problem, const NetworkChoice& network, std::int64_t tiles,
                         std::int64_t micro_batches, const LoopSets& sharding,
                         CoreOptionsCache* cache) {
  CoreOptionsCache of_this_point;
  if (cache == nullptr) cache = &of_this_point;
  const DataflowGraph& graph = problem.workload.graph;
  const NetworkContext context(problem, network, tiles, micro_batches, &cache->conversions);
  Seconds compute{};
  Seconds communication{};
  const Machine& system = problem.system;
  const std::size_t levels = problem.execution.levels ? system.levels.size() : 0;
  std::vector<Seconds> level_times(levels);
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const Kernel& kernel = graph.kernels()[i];
    Seconds least = Seconds::infinity();
    std::vector<Bytes> least_bytes(levels, Bytes::infinity());
    for (const LoopPair loop : sharding[i]) {
      const Shard shard = shard_of(kernel, loop, context.machine.grid(), tiles);
      least = std::min(least, least_compute(problem, kernel, shard));
      if (levels == 0) continue;
      const Shard whole = shard_of(kernel, loop, context.machine.grid(), 1);
      const std::vector<Bytes> bytes = cache->levels.level_bytes(
          kernel, whole, system.accelerator, system.levels, problem.workload.word);
      for (std::size_t x = 0; x < levels; ++x) least_bytes[x] = std::min(least_bytes[x], bytes[x]);
    }
    for (std::size_t x = 0; x < levels; ++x) {
      level_times[x] += least_bytes[x] / system.levels[x].bandwidth;
    }
    compute += least;
    communication += network_time(context, KernelId(i), sharding);
  }
  compute = compute * static_cast<double>(tiles);
  for (const Seconds level : level_times) compute = std::max(compute, level);
  const Seconds layer = problem.execution.overlap == Overlap::Perfect
                            ? std::max(compute, communication)
                            : compute + communication;
  return layer * less_roundings(graph.kernel_count() + kRoundingsBesideSum);
}

std::optional<JointBound> least_joint_time(const Problem& problem, const LayerDecisions& decisions,
                                           std::int64_t micro_batches, CoreOptionsCache& cache,
                                           const Deadline& deadline,
                                           const std::function<bool(Seconds)>& is_enough) {
  const NetworkContext context(problem, decisions.network,
                               tile_count(problem.workload, decisions.tile), micro_batches);
  LoopSum sum = times_by_phase(problem, decisions, context, cache, deadline);
  if (!sum.find_order(kMostJointSteps)) return std::nullopt;
  const bool hides_network = problem.execution.overlap == Overlap::Perfect;
  const double half = hides_network ? 0.5 : 1.0;
  std::vector<LoopTimes> weights(kPhases, {.compute = half, .memory = 1.0, .network = half});
  JointBound best;
  double step = 0.25;
  for (int round = 0; round < (hides_network ? kWeightRounds : 1); ++round, step /= 2.0) {
    sum.minimize(weights);
    const std::vector<LoopTimes> sums = sum.sums();
    double time = 0.0;
    for (std::size_t phase = 0; phase < sums.size(); ++phase) {
      time += sums[phase].times(weights[phase]);
      weights[phase].compute += sums[phase].compute > sums[phase].network ? step : -step;
      weights[phase].network = 1.0 - weights[phase].compute;
    }
    const double sure = less_roundings(2 * (sum.size() + kRoundingsBesideTerms));
    best.time = std::max(best.time, Seconds(time) * sure);
    if (is_enough(best.time)) break;
  }
  best.sharding = sum.loops();
  return best;
}

std::vector<OuterPoint> outer_points(const Problem& problem, std::size_t network) {
  std::vector<OuterPoint> points;
  for (const std::int64_t tile : tiles_of(problem.workload)) {
    for (const std::int64_t micro_batch : micro_batches_of(problem.workload)) {
      points.push_back({.network = network, .tile = tile, .micro_batch = micro_batch});
      // Kernel by kernel there is one mapping, and `evaluate` computes whether it spills.
      if (!problem.system.second_memory() || problem.execution.style == Style::KernelByKernel) {
        continue;
      }
      points.push_back(points.back());
      points.back().spilled = true;
    }
  }
  return points;
}

}  // namespace dfsearch
