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
  LoopSets sharding;  ///< per kernel; more than one loop: not decided yet
  std::int64_t micro_batch = 1;
  std::int64_t tile = 1;
  bool spilled = false;  ///< more is in memory than its first tier holds
};

/// A time for each level of the chip, from the inside out.
using LevelTicks = std::array<Ticks, kLevelNames.size()>;

/// Evaluates the equations of docs/model.md, section 6, kernel by kernel and
/// tensor by tensor.  Where the sharding is not decided, every number by itself
/// is the least (options: the best) over the shardings left, so that no decision
/// costs less (docs/search.md, section 9); nor are the ticks longer than after
/// any decision.  Refers to the problem, which must outlive it.  Immutable.
class LayerCosts {
 public:
  /// Clock explains `coarser`; `cache` has the options of earlier layers of the same
  /// machine, or is null.
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
  /// The time that the kernel's traffic out of each level takes, over all tiles; those that
  /// the chip does not have take none.
  [[nodiscard]] LevelTicks level_times(KernelId kernel) const;
  /// The time of each level for a partition with this traffic, with the latency of the level where
  /// there is any.
  [[nodiscard]] LevelTicks with_latency(LevelTicks traffic) const;
  /// Memory traffic with its latency.  It never falls when the traffic grows.
  [[nodiscard]] Ticks with_latency(Ticks traffic) const {
    return traffic > 0 ? capped_sum(traffic, memory_latency()) : 0;
  }
  [[nodiscard]] Ticks memory_latency() const { return memory_latency_; }

  [[nodiscard]] Ticks network(KernelId kernel) const;
  /// The time of one store or one load of the tensor, over all tiles; nothing for values that cross
  /// memory in any partition, which are among the explicit memory of their kernels.
  [[nodiscard]] Ticks transfer(TensorId tensor) const;
  /// The time of one store or one load of a seam that is charged, over all tiles.
  [[nodiscard]] Ticks seam_transfer(std::size_t seam) const;
  /// The time of the kernel's explicit memory traffic alone.
  [[nodiscard]] Ticks own_memory(KernelId kernel) const;
  /// Own memory traffic with the values that pass between layers or steps in memory, those that no
  /// SRAM holds, and the latency of all steps but one.
  [[nodiscard]] Ticks explicit_memory(KernelId kernel) const;
  /// Whether weights are loaded from memory for all decisions that are left.
  [[nodiscard]] bool loads_weights() const;
  /// Whether the weights of one stage are loaded; its kernels are all kernels unless stages divide
  /// the graph.
  [[nodiscard]] bool loads_weights(std::span<const KernelId> stage) const;
  /// The time of a sample's tensors, of `tile` bytes a tile together, from a stage to the next one.
  /// Zero bytes take no time.
  [[nodiscard]] Ticks handed_on(Bytes tile) const;
  /// The time of a sample for loading the weight, in a stage that loads weights.
  [[nodiscard]] Ticks weight_load(KernelId kernel) const;
  /// Likewise for one of its loops.
  [[nodiscard]] Seconds weight_load(KernelId kernel, LoopPair loop) const;
  /// The traffic of a sample for reading the weight again at each step, in such a stage, where it
  /// does not stay (DataflowGraph::turn).
  [[nodiscard]] Ticks reload(KernelId kernel) const;
  /// The latency of memory for a kernel with steps, beyond the first step.
  [[nodiscard]] Ticks step_latency(KernelId kernel) const;

  /// The extents of one tile on one chip; the sharding of the kernel must be decided.
  [[nodiscard]] Shard shard(KernelId kernel) const;
  [[nodiscard]] Bytes weight(KernelId kernel) const { return of_kernel_[kernel.index()].weight; }
  /// The bytes of the weight in the SRAM; nothing with skip_weight or out of core.
  [[nodiscard]] Bytes resident_weight(KernelId kernel) const;
  /// The bytes of its weights in the memory; nothing out of core.
  [[nodiscard]] Bytes stored_weight(KernelId kernel) const;
  [[nodiscard]] Bytes tile_bytes(TensorId tensor) const { return tile_bytes_[tensor.index()]; }
  /// The bytes of the kernel in the SRAM beside its weight, in any partition: values
  /// between layers, and keys and values of all tokens.  Nothing out of core.
  struct Held {
    Bytes inputs{};
    Bytes outputs{};
  };
  [[nodiscard]] Held held(KernelId kernel) const {
    return held_.empty() ? Held{} : held_[kernel.index()];
  }
  /// The bytes of the tensor in the SRAM when both its ends are in the partition; this and the next
  /// two are nothing out of core.
  [[nodiscard]] Bytes fused_buffer(TensorId tensor) const;
  /// Its bytes in the SRAM when one of its ends is: a double buffer.
  [[nodiscard]] Bytes streamed_buffer(TensorId tensor) const;
  /// Its bytes in the memory while it waits there: all tiles of a micro-batch.
  [[nodiscard]] Bytes stored(TensorId tensor) const;
  /// Its bytes in the memory for one sample.
  [[nodiscard]] Bytes kept(TensorId tensor) const;
  /// The bytes that values between layers take all the time, incoming and outgoing.
  [[nodiscard]] Bytes stored_seams() const;

 private:
  /// Numbers of a kernel that are read again and again.
  struct KernelNumbers {
    Seconds compute{};
    Seconds network{};
    Bytes weight{};
    Bytes explicit_memory{};
    Bytes weight_load{};  ///< for a sample
    Bytes reload{};       ///< likewise
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
  std::vector<bool> always_crosses_;  // per tensor; empty: none does
  std::vector<Bytes> buffers_;        // per tensor, of a tile as it is made and as it is read
  std::vector<Bytes> seam_bytes_;     // of a tile of each charged seam
  std::vector<Held> held_;            // per kernel; empty: none
  // Per kernel, its time in each level; empty: levels take none.
  std::vector<std::array<Seconds, kLevelNames.size()>> level_seconds_;
  Clock clock_;
  Ticks memory_latency_ = 0;
  LevelTicks level_latency_{};
};

/// Whether the kernel at its end reads all tiles of the tensor for each tile of its own: fused
/// attention that is tiled on its queries, of keys and values.
bool reads_all_tiles(const DataflowGraph& graph, const Tensor& tensor);

}  // namespace dfsearch
