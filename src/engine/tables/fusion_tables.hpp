#pragma once
// The fusion of one layer as flat arrays: everything else (tile, micro-batch,
// degrees, sharding) is decided.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/tables/effort.hpp"
#include "engine/tables/fusion_bounds.hpp"
#include "engine/tables/kernel_order.hpp"
#include "engine/tables/search_bounds.hpp"
#include "graph/kernel_set.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// A tensor, seen from the kernel at one of its ends.
struct Arc {
  std::uint32_t other = 0;  ///< position of the kernel at the far end
  Ticks transfer = 0;       ///< memory time of this end if the tensor crosses: a store or a load,
                            ///< and repeated reads of steps
  Ticks opposite = 0;       ///< memory time of the other end
  Bytes fused{};            ///< SRAM with both ends in the partition
  Bytes streamed{};         ///< SRAM with one end in the partition
  Bytes stored{};           ///< memory while the tensor waits between partitions
};

/// Compute time, then the time of each level of the chip.  The longest of the sums over a partition
/// is its time on the chip.
using OnChipTimes = std::array<Ticks, 1 + kLevelNames.size()>;

/// Costs that a kernel adds to a partition or to the rest that is still to be mapped.
struct KernelCosts {
  /// The compute time if a utilization is given, otherwise a lower bound on it from core-cycles.
  /// If a level of the chip takes longer for all kernels together, this is the time in that level.
  Ticks compute = 0;
  Ticks network = 0;
  Ticks explicit_memory = 0;
  OnChipTimes on_chip{};  ///< 0 unless levels take time
  Bytes weight{};         ///< bytes resident in SRAM: the weight and further data
  Rest share;             ///< its summands of Rest
  const std::vector<CoreOption>* options = nullptr;  ///< null when a utilization is given
  std::int32_t pin = -1;                             ///< index of its partition
  bool backward = false;
  bool repeats = false;
  bool lonely = false;   ///< must be alone: SRAM overflows with any other kernel
  bool escapes = false;  ///< fits when alone, with its weight in pieces
};

/// Settings that the tables of a problem have in common.
struct TableSettings {
  SearchBounds bounds{};
  CoreOptionsCache* cache = nullptr;  ///< shared by all tables; null: none
  /// Applies to the tables and to all searches over them.
  Allowance allowance{};
};

/// The tables of one layer.  Kernels are numbered as in KernelOrder.  The tables are immutable and
/// refer to the problem.
class FusionTables {
 public:
  /// `order` is the kernel order of the problem's graph.  Throws Stopped.
  FusionTables(const Problem& problem, LayerDecisions decisions,
               std::shared_ptr<const KernelOrder> order, const TableSettings& settings = {});

  [[nodiscard]] std::size_t size() const { return kernels_.size(); }
  [[nodiscard]] const KernelCosts& kernel(std::size_t position) const { return kernels_[position]; }
  [[nodiscard]] std::span<const Arc> inputs(std::size_t position) const {
    return std::span(input_arcs_)
        .subspan(input_begin_[position], input_begin_[position + 1] - input_begin_[position]);
  }
  [[nodiscard]] std::span<const Arc> outputs(std::size_t position) const {
    return std::span(output_arcs_)
        .subspan(output_begin_[position], output_begin_[position + 1] - output_begin_[position]);
  }
  /// The kernel and all its descendants.
  [[nodiscard]] const KernelSet& descendants(std::size_t position) const {
    return order_->descendants()[position];
  }
  [[nodiscard]] const KernelOrder& order() const { return *order_; }
  [[nodiscard]] KernelId id(std::size_t position) const { return order_->id(position); }

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] SearchBounds bounds() const { return bounds_; }
  [[nodiscard]] const Deadline& deadline() const { return allowance_.deadline; }
  [[nodiscard]] const Allowance& allowance() const { return allowance_; }
  [[nodiscard]] const LayerCosts& costs() const { return *costs_; }
  /// Greatest number of partitions.
  [[nodiscard]] std::int64_t partition_limit() const { return problem_.partition_limit(); }
  /// Whether each phase has half of the partitions.
  [[nodiscard]] bool has_halves() const { return has_halves_; }
  /// Whether traffic through the levels of the chip takes time.
  [[nodiscard]] bool has_levels() const { return costs_->has_levels(); }
  [[nodiscard]] const LayerDecisions& decisions() const { return costs_->decisions(); }
  [[nodiscard]] const Clock& clock() const { return costs_->clock(); }
  /// The time that loading the weights of all kernels takes in every mapping.
  [[nodiscard]] Ticks weight_loads() const { return weight_loads_; }
  /// Memory left by the weights; negative if they do not fit.
  [[nodiscard]] Bytes capacity_for_activations() const { return capacity_for_activations_; }
  /// Bytes that are always in memory: weights, and the share of stored data.
  [[nodiscard]] Bytes weights() const { return weights_; }
  /// Whether a complete fusion needs more memory than the first tier has; `partition` has the
  /// partition of each kernel, in the order of the graph's list.
  [[nodiscard]] bool spills(const std::vector<std::int64_t>& partition) const;
  [[nodiscard]] Bytes sram() const { return problem_.system.accelerator.sram; }
  [[nodiscard]] std::int64_t cores() const { return problem_.system.accelerator.cores; }

  [[nodiscard]] Ticks least_time(const Rest& rest) const;
  [[nodiscard]] std::int64_t least_partitions(const Rest& rest) const;
  /// Whether one partition can hold both kernels, by the costs of both and of the paths
  /// between them.
  [[nodiscard]] bool may_share(std::size_t a, std::size_t b) const;
  /// Whether may_share uses the paths between two kernels; in large graphs it does not.
  [[nodiscard]] bool sees_paths() const { return size() <= kHullLimit; }
  /// Whether forward and backward kernels may share a partition: only the middle one of an odd
  /// number of partitions under `phases: halves`.
  [[nodiscard]] bool phases_mix() const { return phases_mix_; }

 private:
  // In larger graphs the paths of all pairs would take too long: may_share uses the pair alone.
  static constexpr std::size_t kHullLimit = 256;

  [[nodiscard]] std::size_t heap_bytes() const;
  [[nodiscard]] Ticks crossing(TensorId tensor, KernelId end) const;
  void index_arcs();
  void flatten(const std::vector<std::vector<Arc>>& inputs,
               const std::vector<std::vector<Arc>>& outputs);
  void fill_kernels();
  void bound_by_slowest_level();
  void find_lonely_kernels();
  [[nodiscard]] bool agree(std::size_t a, std::size_t b) const;
  void find_partners();
  [[nodiscard]] bool fits(const KernelSet& kernels) const;

  const Problem& problem_;
  std::shared_ptr<const LayerCosts> costs_;
  std::shared_ptr<const KernelOrder> order_;
  const SearchBounds bounds_;
  const Allowance allowance_;
  std::vector<KernelCosts> kernels_;
  std::vector<Arc> input_arcs_;
  std::vector<Arc> output_arcs_;
  std::vector<std::uint32_t> input_begin_;
  std::vector<std::uint32_t> output_begin_;
  bool has_halves_ = false;
  bool phases_mix_ = false;
  Ticks weight_loads_ = 0;
  Bytes weights_{};
  Bytes capacity_for_activations_{};
  std::vector<KernelSet> partners_;  // kernels that each may share with; empty in large graphs
  MemoryCharge memory_;              // of the tables themselves
};

}  // namespace dfsearch
