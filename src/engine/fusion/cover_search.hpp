#pragma once
// The best fusion by covers of the kernels: all that take no more than their duals and a little.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/duals/partition_duals.hpp"
#include "engine/duals/partition_pricing.hpp"
#include "engine/fusion/exact_covers.hpp"
#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// How many partitions are listed, at first and at the most.
struct CoverLists {
  std::size_t first = 20'000;
  std::size_t most = 100'000;
};

/// Covers with more and more slack, until one is a fusion: then it is the best there is.  It may be
/// done bit by bit (docs/duals.md, section 8).  Refers to tables and duals; what it finds is a
/// function of them.  Used by one thread.
class CoverSearch {
 public:
  /// Other threads may help with the `work`; null: nobody does.
  CoverSearch(const FusionTables& tables, const PartitionDuals& duals, SharedWork* work = nullptr,
              CoverLists lists = {});

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
  /// Of the partitions of some slack the covers.
  struct Listed {
    std::vector<PartitionColumn> partitions;
    MemoryCharge memory;
    FineTicks best = 0;                 // slack that covers are below that are still wanted
    std::optional<ExactCovers> covers;  // of the partitions
  };
  [[nodiscard]] Outcome list();
  void keep(std::vector<PartitionColumn>&& partitions, FineTicks slack);
  [[nodiscard]] Outcome find_covers();
  /// Of a partition of the list.
  [[nodiscard]] std::size_t bytes_of_one() const {
    return sizeof(PartitionColumn) + tables_.size() / 8;
  }

  const FusionTables& tables_;
  const PartitionDuals& duals_;
  const PartitionPricing pricing_;
  std::size_t length_;            // of a list, at the most
  const std::size_t most_;        // of any list
  FineTicks bound_ = 0;           // by the duals
  FineTicks slack_ = 0;           // that is tried
  std::unique_ptr<Listed> list_;  // with it; null: not yet
  FineTicks excluded_ = -1;       // no fusion has as little
  std::size_t tried_ = 0;         // partitions that have, of which no cover is a fusion
  Ticks least_ = 0;
  Ticks best_time_ = kNever;  // of the fusions found
  std::optional<Fusion> fusion_;
  std::int64_t steps_ = 0;
};

}  // namespace dfsearch
