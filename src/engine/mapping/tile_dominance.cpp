// One layer beside another, number by number.
//
// With more tiles buffers are smaller; times are the same, but for extents that the tiles do
// not divide, or higher, where a tensor passes through memory once for each tile.  So
// neither is better in general, and the one with more tiles mostly is.  What does not depend on
// the tiles, such as weights, is not looked at.

#include "engine/mapping/tile_dominance.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace dfsearch {
namespace {

// Clocks that are further apart are those of layers that have little to do with each other.
constexpr int kMostShift = 20;

constexpr std::size_t kMostReplacing = 4;

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

/// Ticks of a finer clock against those of a coarser one, 2^shift times as long.
bool no_longer(Ticks fine, Ticks coarse, int shift) {
  return ((fine >> shift) + ((fine & ((Ticks{1} << shift) - 1)) != 0 ? 1 : 0)) <= coarse;
}

}  // namespace

bool can_compare_tiles(const Problem& problem) {
  return problem.execution.compute_utilization.has_value();
}

std::vector<std::int64_t> replacing_tiles(const Problem& problem) {
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

bool takes_no_more(const Problem& problem, const LayerCosts& a, const LayerCosts& b) {
  const int shift = b.clock().exponent() - a.clock().exponent();
  if (shift < 0 || shift > kMostShift) return false;
  if (a.stored_seams() > b.stored_seams()) return false;
  const DataflowGraph& graph = problem.workload.graph;
  for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
    const TensorId t(i);
    if (!no_longer(a.transfer(t), b.transfer(t), shift) ||
        a.streamed_buffer(t) > b.streamed_buffer(t) || a.fused_buffer(t) > b.fused_buffer(t) ||
        a.stored(t) > b.stored(t)) {
      return false;
    }
  }
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const KernelId k(i);
    if (!no_longer(a.compute_at_utilization(k), b.compute_at_utilization(k), shift) ||
        !no_longer(a.network(k), b.network(k), shift) ||
        !no_longer(a.explicit_memory(k), b.explicit_memory(k), shift) ||
        a.held(k).inputs > b.held(k).inputs || a.held(k).outputs > b.held(k).outputs) {
      return false;
    }
  }
  return true;
}

}  // namespace dfsearch
