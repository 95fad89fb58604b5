#pragma once
// Dual values of kernels that no partition undercuts: the strongest lower bound of the fusion
// (docs/search.md, 5.7).

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/duals/column_program.hpp"
#include "engine/duals/partition_pricing.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// Every partition takes at least the duals of its kernels less its charge.
struct PartitionDuals : Duals {
  /// By how much a kernel's dual exceeds each part of its time.
  std::vector<std::array<FineTicks, 3>> gains;

  /// The duals of all that is not done.
  [[nodiscard]] FineTicks of_rest(const KernelSet& done) const;
  /// The charges of as many partitions as there may be from this index on.
  [[nodiscard]] FineTicks charges(const PartitionRules& rules, std::int32_t next_index) const;
  /// What all fusions take at least.
  [[nodiscard]] FineTicks bound(const PartitionRules& rules) const {
    return of_rest(KernelSet(kernels.size())) - charges(rules, 0);
  }
};

/// Sets the gains of duals of these tables.
void set_gains(const FusionTables& tables, PartitionDuals& duals);

/// The least whole number of ticks that is not below the dual.
constexpr Ticks ticks_of(FineTicks dual) {
  return dual / kFinePerTick + (dual % kFinePerTick > 0 ? 1 : 0);
}

/// The search for the duals whose sum, less the charges of as many partitions as there may be,
/// is about the greatest.  It may be done bit by bit.  Refers to the tables, of which
/// the result is a function.  Used by one thread.
class PartitionDualSearch {
 public:
  /// Ended at once if the frontier of the graph is too wide.  Begins with partitions that cost about
  /// what `known` duals say, which nothing undercuts; null: there are none.  They are to live as long
  /// as this, as is the work that other threads may help with; null: nobody does.
  explicit PartitionDualSearch(const FusionTables& tables, const Duals* known = nullptr,
                               SharedWork* work = nullptr);

  /// Whether there are few enough kinds of kernels for the linear program, and exact pricing is not
  /// switched off.  Asked first: what a search prepares grows with the square of the kernels.
  [[nodiscard]] static bool is_possible(const FusionTables& tables);

  /// Whether the frontier is too wide, or nothing is left to do.
  [[nodiscard]] bool has_ended() const { return stage_ == Stage::Ended; }

  /// Goes on for about so many steps, of some hundred operations each.  True once there is
  /// nothing more to do.  After Stopped, by the deadline of the tables, it must not be
  /// called again.
  bool advance(std::int64_t steps);

  /// Gives away the duals once the search has ended; nothing if none could be found.
  [[nodiscard]] std::optional<PartitionDuals> take() { return std::move(result_); }

 private:
  enum class Stage : std::uint8_t { Program, Growth, Pricing, Proof, Raising, Ended };

  void solve_program();
  void grow_columns();
  void price_columns();
  void prove();
  void lower_for(const PartitionColumn& overpaid, std::vector<PartitionColumn>& list);
  void settle(std::vector<PartitionColumn>& list, std::int64_t steps);
  void raise();
  void raise_by(FineTicks most, std::vector<PartitionColumn>& list);
  void set_excess(PartitionColumn& partition) const;
  void change(std::size_t of, FineTicks by, std::vector<PartitionColumn>& list);
  void finish();

  const FusionTables& tables_;
  PartitionPricing pricing_;
  ColumnProgram program_;
  const Duals* known_;  // until the first steps
  Stage stage_ = Stage::Program;
  std::int64_t steps_ = 0;             // left
  std::size_t first_ = 0;              // where enumerations that are not complete go on
  std::int64_t steps_of_growth_ = 0;   // the last that found nothing; 0: none
  std::int64_t steps_of_pricing_ = 0;  // the last enumeration
  std::int64_t steps_of_round_ = 0;    // of an enumeration that need not be complete
  std::int64_t steps_to_raise_ = 0;
  PartitionDuals duals_;
  std::optional<PartitionDuals> result_;
};

}  // namespace dfsearch
