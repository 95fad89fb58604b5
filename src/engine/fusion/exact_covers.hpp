#pragma once
// Exact covers of the kernels by partitions from a list.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
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
  /// Among covers of less slack than the limit, whose slacks are so far `apart` or the same.  Counts
  /// `steps` down, of some hundred operations each.  Called again it knows which kernels that are left
  /// lead to nothing.  Throws Stopped by the deadline of the tables.
  [[nodiscard]] Best find(FineTicks limit, std::int64_t& steps, FineTicks apart = 1);

 private:
  using Word = std::uint64_t;
  /// A bit for each column: those are the partitions of the list, of the least slack first.
  using Columns = std::vector<Word>;
  /// How many choices were made before this one.  What was deduced from several choices has the
  /// depth of the earliest of them.
  using Depth = std::uint32_t;
  static constexpr Depth kOnNone = ~Depth{0};
  /// What the choice of a column means, whatever else is chosen.
  struct Meaning {
    KernelSet before;     // its kernels and all that come before them
    KernelSet after;      // and all that come after them
    Columns overlapping;  // that have some kernel of it
    Columns cyclic;       // that need it done first and the other way round
    MemoryCharge memory;
  };
  struct Chosen {
    const PartitionColumn* partition = nullptr;
    KernelSet before;  // its kernels and all that come before them, as far as the chosen ones tell
    KernelSet after;
    Depth depends = 0;  // before and after do
  };
  struct Level {
    Columns columns;                   // that may still be chosen
    std::vector<std::uint32_t> count;  // per kernel: how many of these hold it
    Columns met;                       // that have some kernel of a chosen one
    // Columns that the choice leading here has ruled out, by reason.
    Columns cyclic;              // each would close a cycle with the chosen column alone
    Columns cyclic_with_others;  // only together with columns chosen earlier as well
    Depth depends = kOnNone;     // the earliest choice that such a cycle goes through
    Columns full;                // their group has all the partitions that it may have
    bool any_cyclic = false;     // whether there are any of these
    bool any_cyclic_with_others = false;
    bool any_full = false;
    Meaning meaning;  // of what is tried, where there is no room to keep it
    MemoryCharge memory;
  };

  void begin();
  [[nodiscard]] Depth extend(Depth depth, const KernelSet& left, FineTicks slack);
  [[nodiscard]] Depth choose(Depth depth, const KernelSet& left, std::uint32_t column,
                             FineTicks slack);
  [[nodiscard]] const Meaning& meaning(std::uint32_t column, Level& level);
  void find_meaning(std::uint32_t column, Meaning& meaning) const;
  [[nodiscard]] Chosen with_neighbours(std::uint32_t column, const Meaning& meaning,
                                       bool& goes) const;
  void find_cyclic_with_others(const Chosen& next, const Meaning& meaning, const KernelSet& left,
                               const Columns& columns);
  void enter(Depth depth, const Meaning& meaning, FineTicks slack);
  [[nodiscard]] Depth left_out(Depth depth) const;
  [[nodiscard]] Depth offer(FineTicks slack);
  void remember(const KernelSet& left, FineTicks least);
  [[nodiscard]] FineTicks unused_charges() const;
  [[nodiscard]] bool is_full(std::size_t group) const;
  [[nodiscard]] bool meets(std::uint32_t column, const KernelSet& kernels) const;
  [[nodiscard]] std::size_t columns_within(FineTicks slack) const;
  void prepare(Level& level) const;
  [[nodiscard]] std::size_t bytes_of_columns() const { return words_ * sizeof(Word); }

  const FusionTables& tables_;
  const PartitionPricing& pricing_;
  const PartitionDuals& duals_;
  // Of the columns:
  std::vector<const PartitionColumn*> partitions_;
  std::vector<FineTicks> slack_;
  std::size_t words_;  // of bits for all of them
  std::size_t words_of_kernels_;
  std::vector<Word> bits_;       // the kernels of each
  std::vector<Columns> having_;  // each kernel
  std::array<Columns, 2> of_group_;
  std::vector<std::unique_ptr<Meaning>> meanings_;  // null: not yet known
  std::deque<Level> levels_;
  KernelSet forward_;
  KernelSet backward_;
  std::vector<Chosen> chosen_;
  Columns cyclic_with_others_;  // of the choice that is made
  Best best_;
  FineTicks apart_ = 1;
  FineTicks wanted_ = 0;     // less slack than this
  bool looks_ahead_ = true;  // whether what closes a cycle is left out at once
  std::int64_t steps_ = 0;
  PacedDeadline deadline_;
  // Of kernels that are left: all fusions of them alone have as much slack.
  std::unordered_map<KernelSet, FineTicks, KernelSetHash> least_;
  std::size_t charged_ = 0;  // of these, so many at most
  std::vector<MemoryCharge> memory_;
};

}  // namespace dfsearch
