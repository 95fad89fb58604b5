#pragma once
// Column generation of duals, priced by labels along a path decomposition.
// Colour refinement: kernels of one colour have the same dual.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/duals/covering_lp.hpp"
#include "engine/duals/duals.hpp"
#include "engine/duals/label_pricing.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"
#include "engine/tree/effort.hpp"

namespace dfsearch {

using KernelClasses = std::vector<std::vector<std::size_t>>;

/// Colour of each kernel: the costs of itself and its tensors and, after up to three rounds of
/// refinement, the colours of its neighbours; coarser if colours exceed 48.  Kernels of one colour
/// may be anywhere in the graph.
[[nodiscard]] std::vector<std::uint32_t> kernel_colours(const FusionTables& tables);

/// The classes, given the number of each kernel's class.
[[nodiscard]] KernelClasses kernels_by(const std::vector<std::uint32_t>& classes);

/// Whether there are few colours, with many kernels each.
[[nodiscard]] bool are_mostly_alike(const FusionTables& tables);

/// The pricing of all kernels, in separate parts for kernels that never share a partition; kernels
/// that share no partition at all are left out.  If most kernels are alike, sets may need less SRAM
/// here than in truth.  Nothing if a frontier is too wide.  Throws Stopped by the deadline of the
/// tables.
[[nodiscard]] std::optional<std::vector<LabelPricing>> label_pricings(const FusionTables& tables);

/// The search for duals that no set within the SRAM undercuts, with gaps or without (docs/duals.md,
/// section 4).  It may run in slices; its result is a function of the tables and of the work of the
/// calls.  Refers to the tables.  Used by one thread.
class ColumnGeneration {
 public:
  /// Ended at once if a frontier is too wide, or if there are too many classes for the linear
  /// program.  Counts `work` down.
  ColumnGeneration(const FusionTables& tables, Work& work);

  /// Whether nothing is left to do.
  [[nodiscard]] bool has_ended() const { return stage_ == Stage::Ended; }
  /// Goes on until `work`, which it counts down, is used up or better duals are proved.  After
  /// Stopped, by the deadline of the tables, it must not be called again.
  void advance(Work& work);
  /// Gives away the best duals that were proved since the last time; nothing if none were.
  [[nodiscard]] std::optional<PartitionDuals> take() {
    return std::exchange(proved_, std::nullopt);
  }

 private:
  enum class Stage : std::uint8_t { Program, Pricing, Ended };

  void make_program();
  void solve_program(Work& work);
  [[nodiscard]] bool take_duals();
  void add(const PartitionColumn& partition);
  void price(Work& work);
  [[nodiscard]] Duals lower_duals() const;
  void keep(PartitionDuals duals);
  [[nodiscard]] PartitionDuals made_right(const Duals& proved) const;

  // Number of labels that a beam keeps for each state of the frontier.  If a beam finds no set, but
  // all labels do, the next beams are wider by this factor.
  static constexpr std::size_t kBeam = 64;
  static constexpr std::size_t kWider = 8;

  const FusionTables& tables_;
  const PartitionRules rules_;
  std::vector<LabelPricing> pricings_;
  KernelClasses classes_;  // of kernels that have the same dual
  std::vector<std::uint32_t> class_of_;
  std::optional<CoveringLp> program_;  // none if times are too long to be added up
  Duals duals_;                        // of its last solution
  Stage stage_ = Stage::Ended;
  std::size_t beam_ = kBeam;      // width
  bool is_by_beam_ = true;        // until a beam finds nothing
  std::size_t priced_ = 0;        // pricings done in this round
  bool is_any_overpaid_ = false;  // a set of this round has positive excess
  std::size_t spared_ = 0;        // index into kSpared
  FineTicks best_ = std::numeric_limits<FineTicks>::min();  // proved bound of all kernels
  std::optional<PartitionDuals> proved_;
};

}  // namespace dfsearch
