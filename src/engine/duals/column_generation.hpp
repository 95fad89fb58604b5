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

/// Colour of each kernel, after up to three rounds of refinement: the first round compares the
/// costs of kernels and their tensors, the others also the colours of neighbours.  Refinement stops
/// before a round that makes more than 48 colours.  Kernels of one colour may be anywhere in the
/// graph.
[[nodiscard]] std::vector<std::uint32_t> kernel_colours(const FusionTables& tables);

/// The kernels of each class; `classes` has the number of each kernel's class.
[[nodiscard]] KernelClasses kernels_by(const std::vector<std::uint32_t>& classes);

/// Whether there are few colours, with many kernels each.
[[nodiscard]] bool are_mostly_alike(const FusionTables& tables);

/// The pricing of all kernels, with a LabelPricing for each group of kernels that may share
/// partitions; kernels that must be alone are left out.  Nothing if a frontier is too wide.  Throws
/// Stopped by the deadline of the tables.
[[nodiscard]] std::optional<std::vector<LabelPricing>> label_pricings(const FusionTables& tables);

/// The search for duals that no set within the SRAM undercuts, whether the set has gaps or not
/// (docs/duals.md, section 4).  It may run in slices; its result is a function of the tables and of
/// the work of the calls.  Refers to the tables.  Used by one thread.
class ColumnGeneration {
 public:
  /// The search ends at once if a frontier is too wide, or if there are too many classes for the
  /// linear program.  Counts `work` down.
  ColumnGeneration(const FusionTables& tables, Work& work);

  /// Whether nothing is left to do.
  [[nodiscard]] bool has_ended() const { return stage_ == Stage::Ended; }
  /// Continues until `work`, which it counts down, is used up or better duals are proved.  Throws
  /// Stopped by the deadline of the tables; after that it must not be called again.
  void advance(Work& work);
  /// Returns the best duals proved since the last call, and keeps no copy; nothing if there are
  /// none.
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

  // Number of labels that the first beam keeps for each state of the frontier.  If a beam finds no
  // set but a search with all labels does, the next beams are kWider times as wide.
  static constexpr std::size_t kBeam = 64;
  static constexpr std::size_t kWider = 8;

  const FusionTables& tables_;
  const PartitionRules rules_;
  std::vector<LabelPricing> pricings_;
  KernelClasses classes_;  // of kernels that have the same dual
  std::vector<std::uint32_t> class_of_;
  std::optional<CoveringLp> program_;  // none if times are too long to be added up
  Duals duals_;                        // of the program's last solution
  Stage stage_ = Stage::Ended;
  std::size_t beam_ = kBeam;      // width of the next beam
  bool is_by_beam_ = true;        // false once a beam finds nothing
  std::size_t priced_ = 0;        // pricings done in this round
  bool is_any_overpaid_ = false;  // a set of this round has positive excess
  std::size_t spared_ = 0;        // index into kSpared
  FineTicks best_ = std::numeric_limits<FineTicks>::min();  // greatest bound proved so far
  std::optional<PartitionDuals> proved_;
};

}  // namespace dfsearch
