#pragma once
// What one chip holds and does of one kernel (docs/model.md, section 6).

#include <compare>
#include <cstdint>

#include "graph/kernel.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Extents of one tile of one chip's part of a kernel; `m` counts outer * M.
struct Shard {
  std::int64_t m = 1;
  std::int64_t k = 1;
  std::int64_t n = 1;

  friend auto operator<=>(const Shard&, const Shard&) = default;
};

/// a / b rounded up; a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

/// Divides the sharded loop by `tensor_degree`, then the tiled one by `tiles`,
/// each rounded up.
Shard shard_of(const Kernel& kernel, Loop sharding, std::int64_t tensor_degree, std::int64_t tiles);

/// Bytes of the output, and of every tensor that leaves the kernel.
Bytes output_bytes(const Shard& shard, Bytes word);

/// Bytes of the weight a chip holds: all tiles of it, so `tiles` plays no part.
/// Zero for kernels without one.
Bytes weight_bytes(const Kernel& kernel, Loop sharding, std::int64_t tensor_degree, Bytes word);

/// FLOP a core array spends on one tile: 2mkn in systolic mode, mn in SIMD
/// mode, times the repeat.
Flops tile_flops(const Kernel& kernel, const Shard& shard);

/// Tiles of the sequence for a tile of so many elements.
std::int64_t tile_count(const Workload& workload, std::int64_t tile);

}  // namespace dfsearch
