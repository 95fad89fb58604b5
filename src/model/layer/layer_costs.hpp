#pragma once
// The costs of the kernels and tensors of one layer once everything but the fusion is decided;
// `evaluate` adds them up and the fusion search tabulates them.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "graph/dataflow_graph.hpp"
#include "graph/loop_set.hpp"
#include "model/clock.hpp"
#include "model/layer/core_allocation.hpp"
#include "model/layer/shard.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/collectives.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Everything a layer's cost depends on except partitions and cores.
struct LayerDecisions {
  std::vector<Mapping::Dimension> network;
  LoopSets sharding;  ///< per kernel; a kernel with more than one loop is not decided yet
  std::int64_t micro_batch = 1;
  std::int64_t tile = 1;
  bool spilled = false;  ///< the first tier of memory does not hold all data
};

/// A time for each level of the chip, from the inside out.
using LevelTicks = std::array<Ticks, kLevelNames.size()>;

/// Evaluates the equations of docs/model.md, section 6, kernel by kernel and tensor by tensor.
/// Where the sharding is not decided, each number by itself is the least over the shardings left,
/// and options are the best ones, so that no decision costs less (docs/search.md, section 9).
/// Ticks are then no longer than after any decision.  Refers to the problem, which must outlive it.
/// Immutable.
class LayerCosts {
 public:
  /// `coarser` is the argument of Clock; `cache` has the options of earlier layers on
  /// the same machine, or is null.
  LayerCosts(const Problem& problem, LayerDecisions decisions, int coarser = 0,
             CoreOptionsCache* cache = nullptr);
  /// Uses the clock of another layer.
  LayerCosts(const Problem& problem, LayerDecisions decisions, const Clock& clock,
             CoreOptionsCache* cache);

  [[nodiscard]] const LayerDecisions& decisions() const { return decisions_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] std::int64_t tiles() const { return network_.tiles; }
  [[nodiscard]] BytesPerSecond memory_bandwidth() const { return bandwidth_; }

  [[nodiscard]] Ticks compute_at_utilization(KernelId kernel) const;
  /// The ways to run the kernel when cores are allocated one by one; none when a
  /// utilization is given.
  [[nodiscard]] const std::vector<CoreOption>& options(KernelId kernel) const {
    return *options_[kernel.index()];
  }
  /// The time of `cycles_per_tile` over all tiles.
  [[nodiscard]] Ticks cycle_time(std::int64_t cycles_per_tile) const;

  /// Whether traffic through the levels of the chip takes time.
  [[nodiscard]] bool has_levels() const { return !level_seconds_.empty(); }
  /// The time of the kernel's traffic out of each level, over all tiles; zero for levels that
  /// the chip does not have.
  [[nodiscard]] LevelTicks level_times(KernelId kernel) const;
  /// The time of each level for a partition with this traffic, plus the latency of the level if the
  /// traffic is not zero.
  [[nodiscard]] LevelTicks with_latency(LevelTicks traffic) const;
  /// The time of memory traffic with its latency, which never falls when the traffic grows.
  [[nodiscard]] Ticks with_latency(Ticks traffic) const {
    return traffic > 0 ? capped_sum(traffic, memory_latency()) : 0;
  }
  [[nodiscard]] Ticks memory_latency() const { return memory_latency_; }

  [[nodiscard]] Ticks network(KernelId kernel) const;
  /// The time of one store or one load of the tensor, over all tiles; zero for tensors that always
  /// cross memory, which count in explicit_memory() of their kernels.
  [[nodiscard]] Ticks transfer(TensorId tensor) const;
  /// The time of one store or one load of a seam that is charged, over all tiles.
  [[nodiscard]] Ticks seam_transfer(std::size_t seam) const;
  /// The time of the kernel's explicit memory traffic alone.
  [[nodiscard]] Ticks own_memory(KernelId kernel) const;
  /// The time of own_memory(), of charged seams, of tensors that always cross memory, and of the
  /// latency of all steps but one.
  [[nodiscard]] Ticks explicit_memory(KernelId kernel) const;
  /// Whether weights are loaded from memory for all decisions that are left.
  [[nodiscard]] bool loads_weights() const;
  /// Whether a stage with these kernels loads its weights from memory.  Unless stages divide the
  /// graph, a stage has all kernels.
  [[nodiscard]] bool loads_weights(std::span<const KernelId> stage) const;
  /// The time to send tensors of a sample, with `tile` bytes in all for each tile, to the next
  /// stage.  Zero bytes take no time.
  [[nodiscard]] Ticks handed_on(Bytes tile) const;
  /// The time to load the weight for a sample, in a stage that loads weights.
  [[nodiscard]] Ticks weight_load(KernelId kernel) const;
  /// The time to load the weight for a sample if the kernel has these loops.
  [[nodiscard]] Seconds weight_load(KernelId kernel, LoopPair loop) const;
  /// The time to read the weight again at each step of a sample, in a stage that loads weights, if
  /// the weight does not stay on the chip (DataflowGraph::turn).
  [[nodiscard]] Ticks reload(KernelId kernel) const;
  /// The latency of memory for a kernel with steps, beyond the first step.
  [[nodiscard]] Ticks step_latency(KernelId kernel) const;

  /// The extents of one tile on one chip; the sharding of the kernel must be decided.
  [[nodiscard]] Shard shard(KernelId kernel) const;
  [[nodiscard]] Bytes weight(KernelId kernel) const { return of_kernel_[kernel.index()].weight; }
  /// The bytes of the weight in the SRAM; zero with skip_weight or out of core.
  [[nodiscard]] Bytes resident_weight(KernelId kernel) const;
  /// The bytes of the kernel's weights in the memory; zero out of core.
  [[nodiscard]] Bytes stored_weight(KernelId kernel) const;
  [[nodiscard]] Bytes tile_bytes(TensorId tensor) const { return tile_bytes_[tensor.index()]; }
  /// The bytes in the SRAM that a kernel has in any partition, beside its weight: values between
  /// layers, streamed and accumulated bytes, and keys and values of all tokens.  Zero out of core.
  struct Held {
    Bytes inputs{};
    Bytes outputs{};
  };
  [[nodiscard]] Held held(KernelId kernel) const {
    return held_.empty() ? Held{} : held_[kernel.index()];
  }
  /// The bytes of the tensor in the SRAM if both its ends are in the partition.  Zero out of core,
  /// like the results of the next three functions.
  [[nodiscard]] Bytes fused_buffer(TensorId tensor) const;
  /// The bytes of the tensor in the SRAM if one end is in the partition: a double buffer.
  [[nodiscard]] Bytes streamed_buffer(TensorId tensor) const;
  /// The bytes of the tensor while it waits in memory: all tiles of a micro-batch.
  [[nodiscard]] Bytes stored(TensorId tensor) const;
  /// The bytes of the tensor in the memory for one sample.
  [[nodiscard]] Bytes kept(TensorId tensor) const;
  /// The bytes of memory that seams, incoming and outgoing, take all the time.
  [[nodiscard]] Bytes stored_seams() const;

 private:
  /// Numbers of a kernel that are read often, and so computed once.
  struct KernelNumbers {
    Seconds compute{};
    Seconds network{};
    Bytes weight{};
    Bytes explicit_memory{};
    Bytes weight_load{};  ///< for a sample
    Bytes reload{};       ///< for a sample
  };

  [[nodiscard]] std::vector<KernelNumbers> kernel_numbers() const;
  [[nodiscard]] Seconds compute_seconds(KernelId kernel) const;
  [[nodiscard]] Bytes weight_of(KernelId kernel) const;
  [[nodiscard]] Bytes explicit_bytes_of(KernelId kernel) const;
  [[nodiscard]] bool weights_exceed_sram() const;
  [[nodiscard]] Seconds handed_on_seconds(Bytes tile) const;
  [[nodiscard]] Bytes load_of(KernelId kernel, LoopPair loop) const;
  void fill_weight_loads();
  [[nodiscard]] Bytes tile_bytes_of(const Tensor& tensor) const;
  [[nodiscard]] Bytes buffer_of(const Tensor& tensor) const;
  void fill_tensors();
  [[nodiscard]] Ticks crossing(TensorId tensor) const;
  [[nodiscard]] bool always_crosses(TensorId tensor) const;
  void charge_pieces();
  [[nodiscard]] std::vector<CoreOptionsCache::List> make_options(CoreOptionsCache* cache) const;
  void fill_levels(CoreOptionsCache* cache);
  [[nodiscard]] Shard shard(KernelId kernel, LoopPair loop) const;
  [[nodiscard]] Clock make_clock(int coarser) const;
  void set_clock(const Clock& clock);

  const Problem& problem_;
  const DataflowGraph& graph_;
  LayerDecisions decisions_;
  NetworkContext network_;
  BytesPerSecond bandwidth_;                     // of the memory
  std::vector<CoreOptionsCache::List> options_;  // per kernel; kernels of one shape share a list
  std::vector<KernelNumbers> of_kernel_;
  std::vector<Bytes> tile_bytes_;     // per tensor
  std::vector<bool> always_crosses_;  // per tensor; empty if no tensor always crosses memory
  std::vector<Bytes> buffers_;        // per tensor: bytes of a tile in a buffer
  std::vector<Bytes> seam_bytes_;     // per charged seam: bytes of a tile
  std::vector<Held> held_;            // per kernel; empty if all are zero
  // Per kernel, its time in each level; empty if levels take no time.
  std::vector<std::array<Seconds, kLevelNames.size()>> level_seconds_;
  Clock clock_;
  Ticks memory_latency_ = 0;
  LevelTicks level_latency_{};
};

/// Whether the consumer of the tensor reads all its tiles for each tile of its own: fused attention
/// that is tiled on its queries reads all keys and values.
bool reads_all_tiles(const DataflowGraph& graph, const Tensor& tensor);

}  // namespace dfsearch
