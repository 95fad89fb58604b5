#pragma once
// Which loop of a kernel tensor parallelism splits, in which layout tensors
// then leave and arrive, and what must be communicated in between
// (docs/model.md, section 4).

#include <optional>
#include <vector>

#include "graph/loop_set.hpp"
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
  /// Split along the M of a consumer that adds up groups of rows, each of which a chip has: asked
  /// for, and never left in.
  SumSplit,
};
inline constexpr std::size_t kLayouts = 4;

enum class Conversion : std::uint8_t { Free, AllGather, AllToAll };

/// The loops that may be sharded, in the order of preference (none, outer, K, M, N).
/// A loop of extent 1 and the tiled one are never among them; `outer` stands alone
/// when it is above 1; a kernel with a weight has no `none`, unless no loop is left
/// to shard: then the weight is replicated.  A kernel that is spread over the grid or
/// the machine has `none` and nothing else.
std::vector<Loop> shardable_loops(const Kernel& kernel);

Layout produced_layout(Loop sharding);
Layout consumed_layout(const Kernel& consumer, Loop sharding, int operand);
Conversion conversion(Layout from, Layout to);

/// Whether whole values are converted, not shards of tensors: then what the graph says to be one
/// value is converted once to each layout, and heads that share an input read all of it.
bool converts_values(const Problem& problem);
/// The layout in which the consumer of a tensor wants it.
Layout wanted_layout(const Problem& problem, const Tensor& tensor, Loop consumer);
/// The tensors that are converted together: each by itself, or those of each value.
std::vector<std::vector<TensorId>> converted_together(const Problem& problem);

/// What a layer hands the next one, if that is charged.
const std::vector<Tensor>& charged_seams(const Problem& problem);

/// Whether sharding this loop makes the kernel all-reduce its output.
bool reduces_output(const Kernel& kernel, Loop sharding);

/// The bytes that a kernel's own collective and a tensor's conversion move, counted
/// on whole tensors; `sharding: least_bytes` minimises their sum.
Bytes own_bytes(const Problem& problem, const Kernel& kernel, Loop sharding, Bytes word);
/// Of a value that several consumers want in one layout it counts once.
Bytes conversion_bytes(const Problem& problem, const Tensor& tensor, Loop from, Loop to,
                       Bytes word);

/// What the network times of a layer's kernels depend on beside the sharding.
struct NetworkContext {
  /// Keeps a reference to the problem, which must outlive it.
  NetworkContext(const Problem& its_problem, const std::vector<Mapping::Dimension>& network,
                 std::int64_t its_tiles, std::int64_t its_micro_batches);

  const Problem& problem;
  Collectives tensor;
  Collectives data;
  MachineNetwork machine;
  std::int64_t tiles;
  std::int64_t micro_batches;
};

/// The network time of a kernel over all tiles: its all-reduce or own collective, what couples its
/// rows, and the conversions of the tensors or values and seams it produces, plus its share of the gradient
/// all-reduce of a step.  Where the sharding is not decided it is at most the least that any
/// decision takes, and never falls when loops are taken out.
Seconds network_time(const NetworkContext& context, KernelId kernel, const LoopSets& sharding);

/// Its parts: what the kernel communicates by itself, over all tiles, and the
/// conversion of a tensor, for one tile with its part of the latency, which all tiles pay once.
Seconds own_network_time(const NetworkContext& context, const Kernel& kernel, Loop sharding);
Seconds conversion_time(const NetworkContext& context, const Tensor& tensor, Loop producer,
                        Loop consumer);

}  // namespace dfsearch
