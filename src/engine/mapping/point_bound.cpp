// Every fusion spends the compute time of all kernels and their network time
// (docs/search.md, section 3).
//
// Roundings: n kernels take n - 1 additions here, and each of their times at most three.  The
// product with the number of tiles, the sum of both times and the factor are three more.  The
// model rounds a time at most three times before it is rounded up to a tick, adds up ticks
// without rounding and makes seconds of them with one rounding more.  Together they are
// n + 9; network times are the same doubles on both sides.

#include "engine/mapping/point_bound.hpp"

#include <algorithm>
#include <vector>

#include "model/layer/core_allocation.hpp"
#include "model/layer/level_traffic.hpp"
#include "model/layer/shard.hpp"
#include "model/layer/sharding.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kRoundingsBesideSum = 9;
// Each term of either side has at most sixteen; the divisions and the product are a few more.
constexpr std::size_t kRoundingsOfWork = 48;

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

// Chips share the work of a kernel and tiles divide it, and every count of cycles or FLOP is a
// product of factors that are subadditive in one extent each: the parts together take no less than
// the whole, in one step (docs/search.md, section 3).
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
    // The factor for loading arrays has two extents: parts of a weight may take less than all.
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

}  // namespace dfsearch
