// A micro-batch that is left open is one sample.  The bubble factor, the gradient's share of a
// micro-batch and what it is handed on grow as the number of micro-batches falls ((36), (40) and
// (42) of docs/model.md), stored activations grow with the micro-batch, and nothing else depends on
// it: a mapping with more samples is feasible and no slower with one.  (With `weight_pieces:
// reread`, which reads weights once a micro-batch, it has to be given.)
//
// Each point comes twice where there is a second tier of memory, as whether the first one holds a
// mapping depends on its fusion and sharding.  Bandwidth is no higher at the second point and both
// count the same ticks, so what a mapping that the first tier holds dominates there is no better
// than what the first point finds: such mappings are dropped at the second one, and ties go the
// same way.

#include "engine/mapping/outer_points.hpp"

#include <algorithm>

#include "model/layer/shard.hpp"

namespace dfsearch {
namespace {

std::vector<std::int64_t> tiles_of(const Workload& workload) {
  if (workload.tile) return {*workload.tile};
  std::vector<std::int64_t> tiles;
  for (std::int64_t tile = workload.sequence; tile >= 1;) {
    tiles.push_back(tile);
    // The largest tile that makes more tiles.
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

std::vector<OuterPoint> outer_points(const Problem& problem, std::size_t network) {
  std::vector<OuterPoint> points;
  for (const std::int64_t tile : tiles_of(problem.workload)) {
    for (const std::int64_t micro_batch : micro_batches_of(problem.workload)) {
      points.push_back({.network = network, .tile = tile, .micro_batch = micro_batch});
      // Kernel by kernel there is one mapping, whose memory evaluate knows.
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
