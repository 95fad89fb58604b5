#pragma once
// Duals of graphs whose kernels have a small frontier, by exact pricing.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/duals/column_generation.hpp"

namespace dfsearch {

/// Duals that no partition undercuts (docs/search.md, 5.7).
class ExactDualSearch final : public ColumnGeneration {
 public:
  /// Ended at once if the frontier of the graph is too wide.  Other threads may help with the work,
  /// which is to live as long as this; null: nobody does.
  explicit ExactDualSearch(const FusionTables& tables, SharedWork* work = nullptr);

  /// Whether there are few enough kinds of kernels for the linear program, and exact pricing is not
  /// switched off.  Asked first: what a search prepares grows with the square of the kernels.
  [[nodiscard]] static bool is_possible(const FusionTables& tables);

 private:
  enum class Round : std::uint8_t { Columns, Proof, Raising };

  void begin_pricing() override;
  void price() override;

  void price_columns();
  void prove();
  void lower_for(const PartitionColumn& overpaid, std::vector<PartitionColumn>& list);
  void settle(std::vector<PartitionColumn>& list, std::int64_t steps);
  void raise();
  void raise_by(FineTicks most, std::vector<PartitionColumn>& list);
  void set_excess(PartitionColumn& partition) const;
  void change(std::size_t of, FineTicks by, std::vector<PartitionColumn>& list);
  void finish();

  Round round_ = Round::Columns;
  std::size_t first_ = 0;            // where enumerations that are not complete go on
  std::int64_t steps_of_round_ = 0;  // of an enumeration that need not be complete
  std::int64_t steps_to_raise_ = 0;
  PartitionDuals duals_;
};

}  // namespace dfsearch
