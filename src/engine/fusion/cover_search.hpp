#pragma once
// The best fusion by covers of the kernels: all that take no more than their duals and a little.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "engine/duals/partition_duals.hpp"
#include "engine/duals/partition_pricing.hpp"
#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// Covers with more and more slack, until one is a fusion: then it is the best there is.  It may be
/// done bit by bit (docs/duals.md, section 9).  Refers to tables and duals; what it finds is a
/// function of them.  Used by one thread.
class CoverSearch {
 public:
  /// Other threads may help with the `work`; null: nobody does.
  CoverSearch(const FusionTables& tables, const PartitionDuals& duals, SharedWork* work = nullptr);

  /// Goes on for about so many steps, of some hundred operations each; less, if what comes next
  /// would take long.  True once there is nothing more to do.  After Stopped, by the deadline of
  /// the tables, it must not be called again.
  bool advance(std::int64_t steps);

  /// No fusion takes less than what is known now.
  [[nodiscard]] Ticks least() const { return least_; }
  /// Gives away the best fusion, if one was found since it was last asked: the best of all if it
  /// takes just that.
  [[nodiscard]] std::optional<Fusion> take() { return std::exchange(fusion_, std::nullopt); }

 private:
  enum class Outcome : std::uint8_t { None, OutOfSteps, Ended };
  [[nodiscard]] Outcome find_within(FineTicks slack);

  const FusionTables& tables_;
  const PartitionDuals& duals_;
  const PartitionPricing pricing_;
  FineTicks bound_ = 0;  // by the duals
  FineTicks slack_ = 0;  // to be tried next
  Ticks least_ = 0;
  Ticks best_time_ = kNever;  // of the fusions found
  std::optional<Fusion> fusion_;
  std::int64_t steps_ = 0;
};

}  // namespace dfsearch
