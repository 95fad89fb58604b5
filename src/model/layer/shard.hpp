#pragma once
// The part of a kernel that one chip holds and computes (docs/model.md, section 6), and the
// dataflow of the systolic arrays: which operand of a product stays while the others stream
// (Ardalani et al., DeepFlow, section 4.2.1).

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/dataflow_graph.hpp"
#include "graph/loop_set.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The extents of one tile of one chip's part of a kernel; `m` counts outer * M.
struct Shard {
  std::int64_t m = 1;
  std::int64_t k = 1;
  std::int64_t n = 1;

  std::int64_t steps = 1;  ///< of the kernel, in a tile

  [[nodiscard]] Shard of_step() const;

  friend auto operator<=>(const Shard&, const Shard&) = default;
};

/// The extents of a kernel, or of a part of its output, that are divided.
struct Extents {
  std::int64_t outer = 1;
  std::int64_t m = 1;
  std::int64_t k = 1;  ///< output_depth
  std::int64_t n = 1;
  Spread spread = Spread::Tensor;
  Loop tiled = Loop::N;
  std::int64_t steps = 1;
};

Extents extents_of(const Kernel& kernel);

/// a / b rounded up; a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

// docs/model.md (58)
inline Shard Shard::of_step() const { return {.m = m, .k = k, .n = ceil_div(n, steps)}; }

/// The numbers of chips over which kernels are spread, by Spread.  The
/// chips of a copy form a grid of X x Y: Y is the outermost dimension with members (or of
/// all), X all others.
struct ChipGrid {
  std::int64_t tensor = 1;  ///< tensor degree
  std::int64_t x = 1;
  std::int64_t y = 1;
  bool splits_heads = false;  ///< rows are divided, also within one of `outer` (Shards::Even)
  std::int64_t second = 1;    ///< the part of `tensor` that lies along a second axis

  [[nodiscard]] std::int64_t chips() const { return x * y; }
  /// Chips of the tensor group along an axis.
  [[nodiscard]] std::int64_t members(std::size_t axis) const {
    return axis == 0 ? tensor / second : second;
  }
  /// The number of parts into which the axes that have this loop divide it.
  [[nodiscard]] std::int64_t parts(LoopPair sharding, Loop loop) const {
    std::int64_t parts = 1;
    for (std::size_t axis = 0; axis < kTensorAxes; ++axis) {
      if (sharding.loops[axis] == loop) parts *= members(axis);
    }
    return parts;
  }
};

/// If there are two tensor axes, the first is the innermost tensor dimension with members, the
/// second all others.
ChipGrid chip_grid(const std::vector<Mapping::Dimension>& network, const Equations& equations,
                   int tensor_axes = 1);

/// Divides the sharded loop by the tensor degree or, for each axis, by its chips, or the loops of a
/// kernel that is spread over the grid or the machine by their chips; then the tiled loop by
/// `tiles`, each rounded up.  A chip has whole elements of `outer`.
Shard shard_of(const Extents& whole, LoopPair sharding, const ChipGrid& grid, std::int64_t tiles);
Shard shard_of(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid, std::int64_t tiles);
/// The shard in a machine of tensor dimensions only.
Shard shard_of(const Kernel& kernel, LoopPair sharding, std::int64_t tensor_degree,
               std::int64_t tiles);

/// The number of heads of keys and values that one of `chips` reads for its part of `outer` heads,
/// if each of the `shared` heads serves equally many: at least one.
std::int64_t heads_held(std::int64_t outer, std::int64_t shared, std::int64_t chips);

/// The bytes of the output, and of every tensor that carries all of it.
Bytes output_bytes(const Shard& shard, Bytes word);
/// The rows and columns of one tile of a tensor on one chip, if its producer has the shard, and its
/// bytes.
Shard tensor_shard(const DataflowGraph& graph, const Tensor& tensor, LoopPair sharding,
                   const ChipGrid& grid, std::int64_t tiles);
Bytes tensor_bytes(const DataflowGraph& graph, const Tensor& tensor, LoopPair sharding,
                   const ChipGrid& grid, std::int64_t tiles, Bytes word);

/// The bytes of the weight that a chip holds, zero for kernels without one.  A chip holds
/// all tiles of it, so `tiles` plays no part.
Bytes weight_bytes(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid, Bytes word);
Bytes weight_bytes(const Kernel& kernel, LoopPair sharding, std::int64_t tensor_degree, Bytes word);

/// The weight with all matrices; a sample may use a few of them.
Bytes all_matrices_bytes(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid, Bytes word);

/// Bytes in memory: all matrices and the parameters stored beside them, undivided; nothing for the
/// weight of another kernel.
Bytes stored_weight_bytes(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid,
                          Bytes word);

/// The explicit memory traffic of one chip: its own, and its part of the group's traffic, by the
/// weight that it holds or, without one, by its loops; for the caches of attention by the heads
/// that it reads.
Bytes explicit_bytes(const DataflowGraph& graph, KernelId kernel, LoopPair sharding,
                     const ChipGrid& grid);
/// The traffic if every head had keys and values of its own.
Bytes explicit_bytes(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid);

/// The share of a chip in `Workload::stored`, in whole bytes.
Bytes stored_share(const Workload& workload, std::int64_t chips);

/// A tile of the bytes that a kernel streams beside its tensors.
Bytes streamed_tile(Bytes streamed, std::int64_t tiles);

/// The FLOP that a core array spends on one tile: 2mkn in systolic mode, mn in SIMD
/// mode, times the passes.
Flops tile_flops(const Kernel& kernel, const Shard& shard);

/// The number of tiles, of `tile` elements each, in the sequence.
std::int64_t tile_count(const Workload& workload, std::int64_t tile);

/// The extents of a product by their use in an array.
struct ArrayExtents {
  std::int64_t lanes = 1;     ///< spread over its lanes
  std::int64_t stages = 1;    ///< spread over its stages
  std::int64_t streamed = 1;  ///< columns that pass, one cycle each
};
/// The extents of a product of a weight of m x k and an input of k x n.
ArrayExtents array_extents(const Shard& gemm, Dataflow dataflow);

/// The dataflows of a machine, in the order of ties.
std::span<const Dataflow> dataflows_of(const Accelerator& accelerator);

/// The words of a product that the arrays take from their registers and give to them.
double register_words(const Shard& gemm, const Accelerator& accelerator, Dataflow dataflow);

}  // namespace dfsearch
