#pragma once

// The loop of a kernel that tensor parallelism splits, the layouts in which tensors then leave and
// arrive, and the communication in between (docs/model.md, section 4), and the sharding that
// communicates least.

#include <array>
#include <memory>
#include <vector>

#include "base/deadline.hpp"
#include "graph/kernel.hpp"
#include "graph/loop_set.hpp"
#include "model/layer/conversion_cache.hpp"
#include "model/layer/machine_network.hpp"
#include "model/layer/shard.hpp"
#include "model/machine/collectives.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

enum class Layout : std::uint8_t {
  Replicated,   ///< every chip holds all of it (RR)
  ColumnSplit,  ///< split along N (RS)
  RowSplit,     ///< split along M (SR)
  /// Split along the M of a consumer that adds up groups of rows, so that each chip has rows of
  /// each group.  Consumers may require it, but producers never make it.
  SumSplit,
};
inline constexpr std::size_t kLayouts = 4;

/// The layout of a tensor along each axis of the tensor group.
using LayoutPair = std::array<Layout, kTensorAxes>;
inline constexpr std::size_t kLayoutPairs = kLayouts * kLayouts;
constexpr std::size_t index_of(const LayoutPair& layouts) {
  return static_cast<std::size_t>(layouts[1]) * kLayouts + static_cast<std::size_t>(layouts[0]);
}

enum class Conversion : std::uint8_t { Free, AllGather, AllToAll };

/// The loops that may be sharded, in the order of preference (none, outer, K, M, N).
/// They never contain a loop of extent 1 or the tiled loop.  If `outer` is above 1, it is the
/// only loop.  A kernel with a weight has no `none`, unless no loop is left to shard: then the
/// weight is replicated.  A kernel that is spread over the grid or the machine has `none` only.
std::vector<Loop> shardable_loops(const Kernel& kernel);
/// The pairs of loops that a kernel may have along the two tensor axes.  One of the two may be
/// none; both may be none only if shardable_loops() contains none.
LoopSet shardable_pairs(const Problem& problem, const Kernel& kernel);
/// The pairs that differ on this network: all pairs if it has two tensor dimensions of more than
/// one chip; else the pairs without a loop along the second axis, or all if there is no such pair.
LoopSet pairs_along(LoopSet pairs, const std::vector<Mapping::Dimension>& network);

Layout produced_layout(Loop sharding);
Layout consumed_layout(const Kernel& consumer, Loop sharding, int operand);
Conversion conversion(Layout from, Layout to);

/// Whether conversions are of values, not of single tensors: then each value of the graph is
/// converted once to each layout, and heads that share an input read the whole input.
bool converts_values(const Problem& problem);
/// The layout that the consumer of a tensor requires along an axis with this loop, or along both.
Layout wanted_layout(const Problem& problem, const Tensor& tensor, Loop consumer);
LayoutPair wanted_layouts(const Problem& problem, const Tensor& tensor, LoopPair consumer);
LayoutPair produced_layouts(LoopPair sharding);
/// The producer's sharding without the loops of axes along which the consumer requires the whole
/// tensor.
LoopPair kept_loops(const Problem& problem, const Tensor& tensor, LoopPair producer,
                    LoopPair consumer);
/// Groups of tensors that are converted together: all tensors of a value, or each tensor by itself.
std::vector<std::vector<TensorId>> converted_together(const Problem& problem);

/// The values between layers, if they are charged.
const std::vector<Tensor>& charged_seams(const Problem& problem);

/// Whether this sharding makes the kernel all-reduce its output, over the axes that have K.
bool reduces_output(const Kernel& kernel, LoopPair sharding, int tensor_axes = 1);

/// The bytes that a kernel's own collective and a tensor's conversion move, counted on
/// whole tensors along a single axis; `sharding: least_bytes` minimises their sum.
Bytes own_bytes(const Problem& problem, const Kernel& kernel, LoopPair sharding, Bytes word);
/// A value that several consumers require in one layout counts once.
Bytes conversion_bytes(const Problem& problem, const Tensor& tensor, LoopPair from, LoopPair to,
                       Bytes word);

/// The context of the network times of a layer's kernels, beside the sharding.
struct NetworkContext {
  /// Keeps a reference to the problem, which must outlive it.  With two axes there are many
  /// conversions, so their times are kept in the cache.
  NetworkContext(const Problem& its_problem, const std::vector<Mapping::Dimension>& network,
                 std::int64_t its_tiles, std::int64_t its_micro_batches,
                 ConversionCache* cache = nullptr);

  /// The chips of a tensor group along the axes that have this loop.
  [[nodiscard]] const Collectives& along(LoopPair sharding, Loop loop) const;
  /// Like wanted_layouts, but replicated along a second axis of one chip, so that layouts that are
  /// the same there compare equal.
  [[nodiscard]] LayoutPair wanted(const Tensor& tensor, LoopPair consumer) const;

  const Problem& problem;
  Collectives tensor;
  std::array<Collectives, kTensorAxes> axes;  ///< the axes of `tensor`
  Collectives nobody;                         ///< a group of one chip
  Collectives data;
  MachineNetwork machine;
  std::int64_t tiles;
  std::int64_t micro_batches;
  std::shared_ptr<ConversionTable> conversions;  ///< null: no times are kept
};

/// The network time of a kernel over all tiles: its all-reduce or own collective, the sums that
/// couple its rows, the conversions of the tensors (or values) and seams that it produces, and its
/// share of the gradient all-reduce of a step.  Where the sharding is not decided, it is a lower
/// bound on the time of any decision, and never falls when loops are taken out.
Seconds network_time(const NetworkContext& context, KernelId kernel, const LoopSets& sharding);

/// The parts of network_time: the kernel's own communication over all tiles, and the conversion of
/// one tile of a tensor, with a tile's part of the latency, which all tiles together pay once.  Two
/// axes are converted one after the other, in the cheaper order.
Seconds own_network_time(const NetworkContext& context, const Kernel& kernel, LoopPair sharding);
Seconds conversion_time(const NetworkContext& context, const Tensor& tensor, LoopPair producer,
                        LoopPair consumer);

/// The sharding of least communicated bytes; ties are broken kernel by kernel in
/// list order by the order of `Loop`.  Pinned loops are kept.  Exact.  Throws InputError at once
/// for graphs so entangled that this would take minutes.  If no network splits any kernel,
/// graphs that would take more than some ten milliseconds get the first loops.  Throws Stopped.
std::vector<LoopPair> least_bytes_sharding(const Problem& problem, const Deadline& deadline = {});

}  // namespace dfsearch
