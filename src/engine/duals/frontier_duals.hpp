#pragma once
// Duals of large graphs of which a small frontier is of interest at any time.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "engine/duals/column_program.hpp"
#include "engine/duals/dual_smoothing.hpp"
#include "engine/duals/frontier_pricing.hpp"
#include "engine/duals/partition_duals.hpp"
#include "engine/duals/partition_pricing.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// The pricing of all kernels, those that never share a partition apart from each other; kernels
/// that share none with any are in none.  Where most kernels are alike sets may need less SRAM than
/// they do.  Nothing if a frontier is too wide.  Throws Stopped by the deadline of the tables.
[[nodiscard]] std::optional<std::vector<FrontierPricing>> frontier_pricings(
    const FusionTables& tables);

/// The search for duals that no set undercuts which SRAM holds, with gaps or without
/// (docs/duals.md, section 7).  It may be done bit by bit; what it finds is a function of the tables
/// and of the steps of the calls.  Refers to the tables.  Used by one thread.
class FrontierDualSearch {
 public:
  /// Ended at once if a frontier is too wide, or if there are too many classes for the linear
  /// program.
  explicit FrontierDualSearch(const FusionTables& tables);

  /// Goes on for about so many steps, of some hundred operations each, or until better duals are
  /// proved.  True once there is nothing more to do.  After Stopped, by the deadline of the tables,
  /// it must not be called again.
  bool advance(std::int64_t steps);
  /// The steps of the last call that it did not spend; 0 or less if it spent all.
  [[nodiscard]] std::int64_t steps_left() const { return steps_; }

  /// Gives away the best duals that were proved since the last time; nothing if none were.
  [[nodiscard]] std::optional<PartitionDuals> take();

 private:
  enum class Stage : std::uint8_t { Program, Growth, Beams, Proof, Ended };

  void solve_program();
  [[nodiscard]] Duals lower_duals() const;
  void grow_columns();
  void search_beams();
  void prove();
  void keep(PartitionDuals duals);
  [[nodiscard]] bool is_none_overpaid(const Duals& duals, std::size_t beam);
  enum class Met : std::uint8_t { Some, None, OutOfSteps, TooMany };
  [[nodiscard]] Met add_overpaid(const Duals& duals, std::size_t beam);
  [[nodiscard]] PartitionDuals made_right(const Duals& proved) const;

  const FusionTables& tables_;
  std::vector<FrontierPricing> frontiers_;
  std::optional<PartitionPricing> pricing_;
  std::optional<ColumnProgram> program_;
  DualSmoothing smoothing_;
  Stage stage_ = Stage::Ended;
  bool grows_ = true;                                       // until that finds nothing
  std::int64_t steps_ = 0;                                  // left
  std::size_t beam_ = 0;                                    // place
  std::size_t spared_ = 0;                                  // place
  FineTicks best_ = std::numeric_limits<FineTicks>::min();  // proved bound of all kernels
  std::optional<PartitionDuals> proved_;
};

}  // namespace dfsearch
