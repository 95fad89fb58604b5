#pragma once
// Exact covers of the kernels by partitions from a list.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/deadline.hpp"
#include "engine/duals/partition_duals.hpp"
#include "engine/duals/partition_pricing.hpp"
#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/allowance.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Looks for the cover by partitions of a list that takes least beyond its duals, its slack.  Refers
/// to all it is given.  Used by one thread.
class ExactCovers {
 public:
  /// No partition of the list is overpaid.
  ExactCovers(const FusionTables& tables, const PartitionPricing& pricing,
              const PartitionDuals& duals, const std::vector<PartitionColumn>& partitions);

  struct Best {
    bool complete = false;  ///< else the steps did not suffice, and there may be better ones
    /// Of the fusion that takes least: by as much it is above the bound of the duals, which
    /// counts the charges of all partitions that there may be.  The limit if there is none below it.
    FineTicks slack = 0;
    /// Nothing too where the order in which the partitions were tried is not allowed, though another
    /// one may be.
    std::optional<Fusion> fusion;
  };
  /// Among covers of less slack than the limit.  Counts `steps` down, of some hundred operations
  /// each.  Throws Stopped by the deadline of the tables.
  [[nodiscard]] Best find(FineTicks limit, std::int64_t& steps);

 private:
  using Word = std::uint64_t;
  /// The number of a choice, from the first on; of what depends on choices, that of the earliest.
  using Depth = std::uint32_t;
  static constexpr Depth kOnNone = ~Depth{0};
  struct Chosen {
    const PartitionColumn* partition = nullptr;
    KernelSet before;  // its kernels and all that come before them, as far as the chosen ones tell
    KernelSet after;
    Depth depends = 0;  // before and after do
  };
  /// A column that may not be chosen beside some that were.
  struct LeftOut {
    std::uint32_t column = 0;
    Depth depends = 0;
  };
  struct Level {
    std::vector<std::uint32_t> columns;   // that may still be chosen, of the least slack first
    std::vector<LeftOut> left_out;        // of kernels that are left, too
    std::vector<std::uint32_t> covering;  // of the columns: what is tried
  };

  [[nodiscard]] Depth extend(Depth depth, const KernelSet& left, FineTicks slack);
  [[nodiscard]] Depth choose(Depth depth, const KernelSet& left, std::uint32_t column,
                             FineTicks slack);
  void choose_covering(Level& level, const KernelSet& left);
  [[nodiscard]] Chosen with_neighbours(const PartitionColumn& partition, bool& goes) const;
  void keep_those_beside(const Chosen& next, FineTicks slack, const Level& from, Level& to);
  [[nodiscard]] Depth offer(FineTicks slack);
  void remember(const KernelSet& left, FineTicks least);
  [[nodiscard]] FineTicks slack(std::uint32_t column) const { return slack_[column]; }
  [[nodiscard]] FineTicks unused_charges() const;
  [[nodiscard]] bool is_full(std::size_t group) const;
  [[nodiscard]] const Word* bits(std::uint32_t column) const {
    return bits_.data() + column * words_;
  }

  const FusionTables& tables_;
  const PartitionPricing& pricing_;
  const PartitionDuals& duals_;
  const std::vector<PartitionColumn>& partitions_;
  std::size_t words_;
  std::vector<Word> bits_;  // of the partitions
  std::vector<FineTicks> slack_;
  std::vector<std::uint8_t> group_;
  std::deque<Level> levels_;
  std::vector<std::uint32_t> count_;  // per kernel: columns that hold it
  KernelSet forward_;
  KernelSet backward_;
  std::vector<Chosen> chosen_;
  Best best_;
  bool looks_ahead_ = true;  // whether what closes a cycle is left out at once
  std::int64_t steps_ = 0;
  PacedDeadline deadline_;
  // Of kernels that are left: all fusions of them alone have as much slack.
  std::unordered_map<KernelSet, FineTicks, KernelSetHash> least_;
  std::size_t charged_ = 0;  // of these, so many at most
  std::vector<MemoryCharge> memory_;
};

}  // namespace dfsearch
