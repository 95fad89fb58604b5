// Compares the costs of a layer under two numbers of tiles, cost by cost and loop by loop.
//
// Buffers are smaller with more tiles.  Times are higher if a tensor passes through memory once for
// each tile; otherwise times differ only if the tiles do not divide an extent.  So neither more nor
// fewer tiles are better in general.  Mostly many tiles are better if the SRAM may bind, and a
// single tile is better if no tile has to fit.  Quantities that do not depend on the tiles, such as
// weights, are ignored.
//
// Numbers are compared as the model computes them, not in exact arithmetic, so that the monotone
// operations of the model keep their order.

#include "engine/mapping/tile_dominance.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>

#include "engine/mapping/point_bound.hpp"
#include "model/layer/sharding.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kMostReplacing = 4;
constexpr std::size_t kRoundingsOfTileSum = 9;

std::int64_t tiled_extent(const Kernel& kernel) {
  switch (kernel.tiled) {
    case Loop::None:
      return 1;
    case Loop::Outer:
      return kernel.outer;
    case Loop::M:
      return kernel.m;
    case Loop::K:
      return kernel.k;
    case Loop::N:
      return kernel.n;
  }
  return 1;
}

/// Whether the ratio of the two numbers of tiles is a power of two.
bool is_doubled(std::int64_t a, std::int64_t b) {
  const auto [low, high] = std::minmax(a, b);
  return high % low == 0 && std::has_single_bit(static_cast<std::uint64_t>(high / low));
}

}  // namespace

bool can_compare_tiles(const Problem& problem) {
  return problem.execution.compute_utilization || problem.execution.style == Style::KernelByKernel;
}

bool fewer_tiles_replace(const Problem& problem) {
  return problem.streams_kernels() || problem.workload.out_of_core;
}

/// Numbers of tiles at which some tiled loop has one iteration per tile: more tiles would only add
/// to the work of its kernel.
std::vector<std::int64_t> replacing_tiles(const Problem& problem) {
  if (fewer_tiles_replace(problem)) return {1};
  std::vector<std::int64_t> tiles;
  for (const Kernel& kernel : problem.workload.graph.kernels()) {
    const std::int64_t extent = tiled_extent(kernel);
    if (extent > 1 && std::find(tiles.begin(), tiles.end(), extent) == tiles.end()) {
      tiles.push_back(extent);
    }
  }
  std::sort(tiles.begin(), tiles.end(), std::greater<>());
  if (tiles.size() > kMostReplacing) tiles.resize(kMostReplacing);
  return tiles;
}

TileCosts::TileCosts(const Problem& problem, const LayerDecisions& decisions,
                     CoreOptionsCache& cache)
    : tiles_(tile_count(problem.workload, decisions.tile)) {
  const DataflowGraph& graph = problem.workload.graph;
  const NetworkContext context(
      problem, decisions.network, tiles_,
      step_time(problem, decisions.network, decisions.micro_batch).micro_batches,
      &cache.conversions);
  const ChipGrid& grid = context.machine.grid();
  const auto tiles = static_cast<double>(tiles_);
  const bool any_fits = fewer_tiles_replace(problem);
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const Kernel& kernel = graph.kernels()[i];
    for (const Bytes streamed : {kernel.streamed_in, kernel.streamed_out}) {
      if (!any_fits) numbers_.push_back(streamed_tile(streamed, tiles_) / Bytes(1.0));
    }
    for (const LoopPair loop : decisions.sharding[i]) {
      const Shard shard = shard_of(kernel, loop, grid, tiles_);
      numbers_.push_back(
          problem.execution.compute_utilization
              ? tiles * tile_flops(kernel, shard) / Flops(1.0)
              : tiles *
                    static_cast<double>(
                        cache.options(kernel, {shard}, problem.system.accelerator)->back().cycles));
      numbers_.push_back(own_network_time(context, kernel, loop) / Seconds(1.0));
    }
  }
  const auto add_tile = [&](const Tensor& tensor, LoopPair producer) {
    const double bytes =
        tensor_bytes(graph, tensor, producer, grid, tiles_, problem.workload.word) / Bytes(1.0);
    numbers_.push_back(tiles * bytes);
    numbers_.push_back(static_cast<double>(decisions.micro_batch) * tiles * bytes);
    if (any_fits) return;
    numbers_.push_back(bytes);
    if (reads_all_tiles(graph, tensor)) numbers_.push_back(std::max(0.0, tiles - 2.0) * bytes);
  };
  const auto add_tensor = [&](const Tensor& tensor) {
    if (converts_values(problem)) add_tile(tensor, Loop::None);  // a gathered value
    for (const LoopPair producer : decisions.sharding[tensor.from.index()]) {
      add_tile(tensor, producer);
      if (!producer.is_single()) {  // a value gathered along one axis
        add_tile(tensor, producer.loops[0]);
        add_tile(tensor, {Loop::None, producer.loops[1]});
      }
      for (const LoopPair consumer : decisions.sharding[tensor.to.index()]) {
        tile_sums_.push_back(conversion_time(context, tensor, producer, consumer) / Seconds(1.0));
      }
    }
  };
  for (const Tensor& tensor : graph.tensors()) add_tensor(tensor);
  for (const Tensor& seam : charged_seams(problem)) {
    add_tensor(seam);
    // The model also adds up the stored bytes of all seams for one tile.
    for (const LoopPair producer : decisions.sharding[seam.from.index()]) {
      tile_sums_.push_back(
          tensor_bytes(graph, seam, producer, grid, tiles_, problem.workload.word) / Bytes(1.0));
    }
  }
}

bool TileCosts::no_more_than(const TileCosts& other) const {
  if (!std::equal(numbers_.begin(), numbers_.end(), other.numbers_.begin(), std::less_equal<>())) {
    return false;
  }
  const auto tiles = static_cast<double>(tiles_);
  const auto other_tiles = static_cast<double>(other.tiles_);
  // Products with a power of two are exact, so sums of them keep their order.
  const double margin = is_doubled(tiles_, other.tiles_)
                            ? 1.0
                            : less_roundings(2 * (tile_sums_.size() + kRoundingsOfTileSum));
  return std::equal(
      tile_sums_.begin(), tile_sums_.end(), other.tile_sums_.begin(),
      [&](double one, double beside) { return one * (tiles / other_tiles) <= beside * margin; });
}

}  // namespace dfsearch
