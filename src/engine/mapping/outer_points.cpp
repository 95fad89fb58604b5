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
      // Kernel by kernel there is one mapping, whose memory evaluate computes.
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
