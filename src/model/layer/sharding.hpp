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
  /// Split along the M of a consumer that adds up groups of rows, and each chip has rows of each
  /// group: required by consumers, and never made.
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
/// A loop of extent 1 and the tiled one are never among them; `outer` stands alone
/// when it is above 1; a kernel with a weight has no `none`, unless no loop is left
/// to shard: then the weight is replicated.  A kernel that is spread over the grid or
/// the machine has `none` and nothing else.
std::vector<Loop> shardable_loops(const Kernel& kernel);
/// The pairs of shardable loops, or of one and none, that a kernel may have over the tensor axes: a
/// kernel that must be sharded has a loop along at least one axis.
LoopSet shardable_pairs(const Problem& problem, const Kernel& kernel);
/// The pairs that differ for a tensor group of one axis: pairs that leave the second axis alone, or
/// all if none does.
LoopSet pairs_along(LoopSet pairs, const std::vector<Mapping::Dimension>& network);

Layout produced_layout(Loop sharding);
Layout consumed_layout(const Kernel& consumer, Loop sharding, int operand);
Conversion conversion(Layout from, Layout to);

/// Whether values are converted, not tensors one by one: then each value of the graph is converted
/// once to each layout, and heads that share an input read all of it.
bool converts_values(const Problem& problem);
/// The layout that the consumer of a tensor requires, along an axis with this loop, and along both.
Layout wanted_layout(const Problem& problem, const Tensor& tensor, Loop consumer);
LayoutPair wanted_layouts(const Problem& problem, const Tensor& tensor, LoopPair consumer);
LayoutPair produced_layouts(LoopPair sharding);
/// The part of the producer's sharding that is left in the layout of the consumer: nothing along
/// axes where the consumer requires all.
LoopPair kept_loops(const Problem& problem, const Tensor& tensor, LoopPair producer,
                    LoopPair consumer);
/// The tensors that are converted together: each by itself, or all of a value.
std::vector<std::vector<TensorId>> converted_together(const Problem& problem);

/// The values between layers, if they are charged.
const std::vector<Tensor>& charged_seams(const Problem& problem);

/// Whether this sharding makes the kernel all-reduce its output, over the axes that have K.
bool reduces_output(const Kernel& kernel, LoopPair sharding, int tensor_axes = 1);

/// The bytes that a kernel's own collective and a tensor's conversion move, counted
/// on whole tensors; `sharding: least_bytes` minimises their sum.  Of a single axis.
Bytes own_bytes(const Problem& problem, const Kernel& kernel, LoopPair sharding, Bytes word);
/// A value that several consumers require in one layout counts once.
Bytes conversion_bytes(const Problem& problem, const Tensor& tensor, LoopPair from, LoopPair to,
                       Bytes word);

/// The context of the network times of a layer's kernels, beside the sharding.
struct NetworkContext {
  /// Keeps a reference to the problem, which must outlive it.  Where two axes make conversions
  /// many, conversions in the cache are not computed again.
  NetworkContext(const Problem& its_problem, const std::vector<Mapping::Dimension>& network,
                 std::int64_t its_tiles, std::int64_t its_micro_batches,
                 ConversionCache* cache = nullptr);

  /// The chips of a tensor group along the axes that have this loop.
  [[nodiscard]] const Collectives& along(LoopPair sharding, Loop loop) const;
  /// Like wanted_layouts, but replicated along an axis of one chip: equal where they are the same.
  [[nodiscard]] LayoutPair wanted(const Tensor& tensor, LoopPair consumer) const;

  const Problem& problem;
  Collectives tensor;
  std::array<Collectives, kTensorAxes> axes;  ///< of `tensor`
  Collectives nobody;                         ///< a group of one
  Collectives data;
  MachineNetwork machine;
  std::int64_t tiles;
  std::int64_t micro_batches;
  std::shared_ptr<ConversionTable> conversions;  ///< null: none are known
};

/// The network time of a kernel over all tiles: its all-reduce or own collective, the sums that
/// couple its rows, and the conversions of the tensors or values and seams it produces, plus its
/// share of the gradient all-reduce of a step.  Where the sharding is not decided it is at most the
/// least that any decision takes, and never falls when loops are taken out.
Seconds network_time(const NetworkContext& context, KernelId kernel, const LoopSets& sharding);

/// Its parts: the kernel's own communication over all tiles, and the conversion of a tensor, for
/// one tile with its part of the latency, which all tiles pay once.  Of two axes one is converted
/// after the other, in the cheaper order.
Seconds own_network_time(const NetworkContext& context, const Kernel& kernel, LoopPair sharding);
Seconds conversion_time(const NetworkContext& context, const Tensor& tensor, LoopPair producer,
                        LoopPair consumer);

/// The sharding of least communicated bytes; ties are broken kernel by kernel in
/// list order by the order of `Loop`.  Pinned loops are kept.  Exact.  For graphs so entangled
/// that this would take minutes it throws InputError, at once; where no network splits any
/// kernel it has the first loops for graphs that would take more than some ten milliseconds.
/// Throws Stopped.
std::vector<LoopPair> least_bytes_sharding(const Problem& problem, const Deadline& deadline = {});

}  // namespace dfsearch
