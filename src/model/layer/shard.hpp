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

  std::int64_t steps = 1;  ///< steps of the kernel in a tile

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

/// The numbers of chips over which kernels are spread, by Spread.  The chips of a copy form a
/// grid of X x Y: Y is the degree of the outermost dimension with members (with GridSides::All,
/// of the outermost dimension), X the product of all other degrees.
struct ChipGrid {
  std::int64_t tensor = 1;  ///< tensor degree
  std::int64_t x = 1;
  std::int64_t y = 1;
  bool splits_heads = false;  ///< chips may have a part of one of `outer` (Shards::Even)
  std::int64_t second = 1;    ///< degree of the second tensor axis, a factor of `tensor`

  [[nodiscard]] std::int64_t chips() const { return x * y; }
  /// Chips of the tensor group along an axis.
  [[nodiscard]] std::int64_t members(std::size_t axis) const {
    return axis == 0 ? tensor / second : second;
  }
  /// The number of parts of a loop, which all axes with this loop divide.
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

/// Divides the loops by the chips that share them, and then the tiled loop by `tiles`.
/// Spread::Tensor divides the loop of each tensor axis by the chips of the axis; any other Spread
/// names its loops and the chips that divide them.  Quotients are rounded up.  A chip has whole
/// elements of `outer` unless grid.splits_heads.
Shard shard_of(const Extents& whole, LoopPair sharding, const ChipGrid& grid, std::int64_t tiles);
Shard shard_of(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid, std::int64_t tiles);
/// The shard on a machine with tensor dimensions only.
Shard shard_of(const Kernel& kernel, LoopPair sharding, std::int64_t tensor_degree,
               std::int64_t tiles);

/// The most heads of keys and values that one of `chips` chips reads for its part of `outer` heads,
/// if each of the `shared` heads of keys and values serves equally many of them; at least one.
std::int64_t heads_held(std::int64_t outer, std::int64_t shared, std::int64_t chips);

/// The bytes of the output of a shard, and of every tensor that carries the whole output.
Bytes output_bytes(const Shard& shard, Bytes word);
/// The rows and columns of one tile of a tensor on one chip, if its producer has this sharding; and
/// the bytes of that tile.
Shard tensor_shard(const DataflowGraph& graph, const Tensor& tensor, LoopPair sharding,
                   const ChipGrid& grid, std::int64_t tiles);
Bytes tensor_bytes(const DataflowGraph& graph, const Tensor& tensor, LoopPair sharding,
                   const ChipGrid& grid, std::int64_t tiles, Bytes word);

/// The bytes of the weight that a chip holds, zero for kernels without one.  A chip holds
/// all tiles of it, so `tiles` plays no part.
Bytes weight_bytes(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid, Bytes word);
Bytes weight_bytes(const Kernel& kernel, LoopPair sharding, std::int64_t tensor_degree, Bytes word);

/// The bytes of all matrices of the weight that a chip holds; a sample may use a few of them only.
Bytes all_matrices_bytes(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid, Bytes word);

/// The bytes of a kernel's weights in the memory of a chip: its part of all matrices, and the
/// undivided parameters beside them; zero if the weight belongs to another kernel.
Bytes stored_weight_bytes(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid,
                          Bytes word);

/// The explicit memory traffic of one chip: the traffic that each chip has, and a part of the
/// tensor group's traffic.  The part is in proportion to the weight that the chip holds; without a
/// weight, to the chip's share of the loops, or for caches of attention to the heads that it reads.
Bytes explicit_bytes(const DataflowGraph& graph, KernelId kernel, LoopPair sharding,
                     const ChipGrid& grid);
/// This traffic if every head had keys and values of its own.
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
  std::int64_t lanes = 1;     ///< spread over the lanes of the array
  std::int64_t stages = 1;    ///< spread over the stages of the array
  std::int64_t streamed = 1;  ///< columns that stream past, one in each cycle
};
/// The extents of a product of a weight of m x k and an input of k x n.
ArrayExtents array_extents(const Shard& gemm, Dataflow dataflow);

/// The dataflows that a machine may use; ties go to the first.
std::span<const Dataflow> dataflows_of(const Accelerator& accelerator);

/// The words of a product that the arrays take from their registers and give to them.
double register_words(const Shard& gemm, const Accelerator& accelerator, Dataflow dataflow);

}  // namespace dfsearch
