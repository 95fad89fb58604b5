#include "model/layer/shard.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/counts.hpp"
#include "base/error.hpp"

namespace dfsearch {

namespace {

double product(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

/// The most rows of a chip, if `chips` divide `outer` whole matrices with `rows` rows in all.
std::int64_t rows_of_whole(std::int64_t rows, std::int64_t outer, std::int64_t chips) {
  return std::min(rows, ceil_div(outer, chips) * ceil_div(rows, outer));
}

LoopPair without_outer(LoopPair sharding) {
  std::replace(sharding.loops.begin(), sharding.loops.end(), Loop::Outer, Loop::None);
  return sharding;
}

}  // namespace

ChipGrid chip_grid(const std::vector<Mapping::Dimension>& network, const Equations& equations,
                   int tensor_axes) {
  ChipGrid grid{.splits_heads = equations.shards == Shards::Even};
  for (const Mapping::Dimension& d : network) {
    if (equations.grid == GridSides::Members && d.degree == 1) continue;
    grid.x *= grid.y;  // the dimension that was outermost so far
    grid.y = d.degree;
    if (d.strategy != Strategy::Tensor) continue;
    if (tensor_axes > 1 && grid.tensor > 1) grid.second *= d.degree;
    grid.tensor *= d.degree;
  }
  return grid;
}

Extents extents_of(const Kernel& kernel) {
  return {.outer = kernel.outer,
          .m = kernel.m,
          .k = output_depth(kernel),
          .n = kernel.n,
          .spread = kernel.spread,
          .tiled = kernel.tiled,
          .steps = kernel.steps};
}

Shard shard_of(const Kernel& kernel, LoopPair sharding, std::int64_t tensor_degree,
               std::int64_t tiles) {
  return shard_of(extents_of(kernel), sharding, ChipGrid{.tensor = tensor_degree}, tiles);
}

Shard shard_of(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid, std::int64_t tiles) {
  return shard_of(extents_of(kernel), sharding, grid, tiles);
}

// docs/model.md (24), (25)
Shard shard_of(const Extents& whole, LoopPair sharding, const ChipGrid& grid, std::int64_t tiles) {
  Shard shard{.m = whole.outer * whole.m, .k = whole.k, .n = whole.n};
  const auto divide = [&shard](Loop loop, std::int64_t by) {
    switch (loop) {
      case Loop::Outer:
      case Loop::M:
        shard.m = ceil_div(shard.m, by);
        break;
      case Loop::K:
        shard.k = ceil_div(shard.k, by);
        break;
      case Loop::N:
        shard.n = ceil_div(shard.n, by);
        break;
      case Loop::None:
        break;
    }
  };
  switch (whole.spread) {
    case Spread::Tensor:
      if (sharding.has(Loop::Outer) && !grid.splits_heads) {
        shard.m = rows_of_whole(shard.m, whole.outer, grid.parts(sharding, Loop::Outer));
        sharding = without_outer(sharding);
      }
      for (std::size_t axis = 0; axis < kTensorAxes; ++axis) {
        divide(sharding.loops[axis], grid.members(axis));
      }
      break;
    case Spread::Grid:
      divide(Loop::M, grid.x);
      divide(Loop::K, grid.y);
      break;
    case Spread::Machine:
      divide(Loop::N, grid.chips());
      break;
  }
  divide(whole.tiled, tiles);
  shard.steps = whole.tiled == Loop::N ? ceil_div(whole.steps, tiles) : whole.steps;
  return shard;
}

// The first head of a chip is a multiple of `held`, the heads of a chip.  So it has few possible
// places among the heads that share keys and values, and the loop covers all of these.
// docs/model.md (33)
std::int64_t heads_held(std::int64_t outer, std::int64_t shared, std::int64_t chips) {
  const std::int64_t sharing = outer / shared;
  const std::int64_t held = ceil_div(outer, chips);
  chips = std::min(ceil_div(outer, held), sharing / std::gcd(sharing, held));
  std::int64_t most = 1;
  for (std::int64_t chip = 0; chip < chips; ++chip) {
    const std::int64_t first = chip * held;
    const std::int64_t last = std::min(outer, first + held) - 1;
    most = std::max(most, last / sharing - first / sharing + 1);
  }
  return most;
}

// docs/model.md (26)
Bytes output_bytes(const Shard& shard, Bytes word) { return word * product(shard.m, shard.n); }

// docs/model.md (24), (26)
Shard tensor_shard(const DataflowGraph& graph, const Tensor& tensor, LoopPair sharding,
                   const ChipGrid& grid, std::int64_t tiles) {
  Extents part = extents_of(graph.kernel(tensor.from));
  if (tensor.rows == 0) return shard_of(part, sharding, grid, tiles);
  const std::int64_t outer = part.outer;
  part.outer = 1;
  part.m = tensor.rows;
  if (sharding.has(Loop::Outer) && !grid.splits_heads) {
    part.m = rows_of_whole(tensor.rows, outer, grid.parts(sharding, Loop::Outer));
    sharding = without_outer(sharding);
  }
  return shard_of(part, sharding, grid, tiles);
}

// docs/model.md (26)
Bytes tensor_bytes(const DataflowGraph& graph, const Tensor& tensor, LoopPair sharding,
                   const ChipGrid& grid, std::int64_t tiles, Bytes word) {
  return output_bytes(tensor_shard(graph, tensor, sharding, grid, tiles), word);
}

// docs/model.md (27)
Bytes stored_weight_bytes(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid,
                          Bytes word) {
  if (kernel.weight_of) return Bytes{};
  return all_matrices_bytes(kernel, sharding, grid, word) +
         word * static_cast<double>(kernel.parameters);
}

// docs/model.md (27)
Bytes all_matrices_bytes(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid,
                         Bytes word) {
  if (kernel.matrices == 0) return weight_bytes(kernel, sharding, grid, word);
  if (!kernel.has_weight()) return Bytes{};
  Extents all = extents_of(kernel);
  all.outer = kernel.matrices;
  const Shard whole = shard_of(all, sharding, grid, 1);
  return word * product(whole.m, whole.k);
}

// docs/model.md (27)
Bytes weight_bytes(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid, Bytes word) {
  if (!kernel.has_weight()) return Bytes{};
  const Shard whole = shard_of(kernel, sharding, grid, 1);
  return word * product(whole.m, whole.k);
}

Bytes weight_bytes(const Kernel& kernel, LoopPair sharding, std::int64_t tensor_degree,
                   Bytes word) {
  return weight_bytes(kernel, sharding, ChipGrid{.tensor = tensor_degree}, word);
}

// docs/model.md (33)
Bytes explicit_bytes(const Kernel& kernel, LoopPair sharding, const ChipGrid& grid) {
  if (!(kernel.sharded_memory > Bytes{})) return kernel.memory;
  if (grid.splits_heads) {
    return kernel.memory + kernel.sharded_memory / static_cast<double>(grid.tensor);
  }
  const auto held = [&kernel](const Shard& shard) {
    const double rows = product(shard.m, shard.k);
    // A weight is m x k, but Spread::Machine divides n alone, even for kernels with a weight.
    const bool is_weight = kernel.has_weight() && kernel.spread != Spread::Machine;
    return is_weight ? rows : rows * static_cast<double>(shard.n);
  };
  const double share =
      held(shard_of(kernel, sharding, grid, 1)) / held(shard_of(kernel, Loop::None, ChipGrid{}, 1));
  return kernel.memory + kernel.sharded_memory * share;
}

// docs/model.md (33)
Bytes explicit_bytes(const DataflowGraph& graph, KernelId id, LoopPair sharding,
                     const ChipGrid& grid) {
  const Kernel& kernel = graph.kernel(id);
  if (sharding.has(Loop::Outer) && !grid.splits_heads && kernel.sharded_memory > Bytes{}) {
    for (const TensorId t : graph.inputs(id)) {
      const std::int64_t heads = shared_heads(graph, graph.tensor(t));
      if (heads == kernel.outer) continue;
      const double held =
          static_cast<double>(heads_held(kernel.outer, heads, grid.parts(sharding, Loop::Outer)));
      return kernel.memory + kernel.sharded_memory * (held / static_cast<double>(heads));
    }
  }
  return explicit_bytes(kernel, sharding, grid);
}

// Rounded up so that sums of sizes stay exact whatever their order.
// docs/model.md (31)
Bytes streamed_tile(Bytes streamed, std::int64_t tiles) {
  return Bytes(std::ceil(streamed.in_base_units() / static_cast<double>(tiles)));
}

// Rounded up so that sums of sizes stay exact whatever their order.
// docs/model.md (43)
Bytes stored_share(const Workload& workload, std::int64_t chips) {
  return Bytes(std::ceil(workload.stored.in_base_units() / static_cast<double>(chips)));
}

// docs/model.md (28)
Flops tile_flops(const Kernel& kernel, const Shard& shard) {
  const std::int64_t columns = shard.steps * shard.of_step().n;
  const double elements =
      product(shard.m, columns) * static_cast<double>(passes(kernel)) * kernel.slowness;
  return Flops(kernel.mode == Mode::Systolic ? 2.0 * elements * static_cast<double>(shard.k)
                                             : elements);
}

// docs/model.md (9)
std::int64_t tile_count(const Workload& workload, std::int64_t tile) {
  return ceil_div(workload.sequence, tile);
}

namespace {

constexpr std::array kDataflows = {Dataflow::Output, Dataflow::Weight, Dataflow::Input};

}  // namespace

// docs/model.md (29)
ArrayExtents array_extents(const Shard& gemm, Dataflow dataflow) {
  switch (dataflow) {
    case Dataflow::Output:
      return {.lanes = gemm.m, .stages = gemm.n, .streamed = gemm.k};
    case Dataflow::Weight:
      return {.lanes = gemm.m, .stages = gemm.k, .streamed = gemm.n};
    case Dataflow::Input:
      return {.lanes = gemm.n, .stages = gemm.k, .streamed = gemm.m};
    case Dataflow::Best:
      break;
  }
  throw InternalError("an array without a dataflow");
}

std::span<const Dataflow> dataflows_of(const Accelerator& accelerator) {
  if (accelerator.dataflow == Dataflow::Best) return kDataflows;
  return {&accelerator.dataflow, 1};
}

/// A word that stays in the arrays is reused: an output for its whole sum, a weight or an input for
/// all pieces that stream past it.
// docs/model.md (29)
double register_words(const Shard& gemm, const Accelerator& accelerator, Dataflow dataflow) {
  const std::int64_t reused = dataflow == Dataflow::Output   ? gemm.k
                              : dataflow == Dataflow::Weight ? ceil_div(gemm.n, accelerator.stages)
                                                             : ceil_div(gemm.m, accelerator.lanes);
  return number(gemm.m) * number(gemm.k) * number(gemm.n) *
         (1.0 / number(reused) + 1.0 / number(accelerator.lanes) +
          1.0 / number(accelerator.stages));
}

}  // namespace dfsearch
