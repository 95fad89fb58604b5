#pragma once
// Which partitions cost less than the duals of their kernels.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/shared_work.hpp"
#include "engine/duals/duals.hpp"
#include "engine/duals/frontier_plan.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Enumerates the partitions that duals overpay.  It refers to the tables; one thread uses it, and
/// what it finds does not depend on others that help.
class PartitionPricing {
 public:
  /// Ordered: sets that the tables' order of kernels that are alike allows.  OneOfEach: of
  /// all sets that exchanges of such kernels make of each other, some; duals must then be the same
  /// for kernels that are alike.
  enum class Sets : std::uint8_t { Ordered, OneOfEach };
  /// How all sets are enumerated: kernels in a topological order, by relaxations of what is
  /// undecided; or along a frontier, where there is a small one, which is soon done in large graphs
  /// and looks at no exchanges: all sets count as different then.
  enum class Way : std::uint8_t { Topological, Frontier };
  /// Along a frontier where there are many kernels and most of them are not alike.
  [[nodiscard]] static Way way_for(const FusionTables& tables);
  /// Other threads may help with the `work`, to which it refers; null: nobody does.
  explicit PartitionPricing(const FusionTables& tables, Sets sets = Sets::Ordered,
                            Way way = Way::Topological, SharedWork* work = nullptr);

  /// Which partitions are looked for.
  struct Query {
    FineTicks threshold = 0;  ///< they have more excess than this
    std::size_t most = 0;     ///< so many at most: the greatest excess, then the most kernels
    /// Of two of which one could stand for the other with no less excess, one is enough: what
    /// is found holds a partition of the greatest excess, but not all that have any.
    bool best_only = false;
    /// Once so many have been found it ends, soon if not at once, and is not complete; kAny: never.
    std::size_t enough = kAny;
    std::size_t first = 0;     ///< those whose first kernel this is come first, then the next ones
    std::int64_t trial = 300;  ///< nodes for a first kernel before its sets are many
    std::size_t at_once = 0;   ///< first kernels looked through at a time; 0: as suits the graph
    /// Along a frontier, before the rest of the sets that begin alike is left to any thread: about a
    /// millisecond.
    std::int64_t steps_of_branch = 20'000;
    static constexpr std::size_t kAny = ~std::size_t{0};
  };
  struct Found {
    std::vector<PartitionColumn> partitions;  ///< the greatest excess first
    bool complete = false;
    std::size_t next = 0;  ///< if not complete: the place of the first kernel to go on with
  };
  /// Sets that no mapping can have may be among them (the memory and the order of
  /// partitions are not looked at).  If `steps`, which it counts down, suffice the answer is
  /// complete, else it has some of them.  Throws Stopped by the deadline of the tables.
  [[nodiscard]] Found find(const Duals& duals, const Query& query, std::int64_t& steps) const;

  /// Whether this was asked for and there is a small one.
  [[nodiscard]] bool is_along_frontier() const { return plans_.has_value(); }
  [[nodiscard]] const PartitionRules& rules() const { return rules_; }
  /// What a partition of these kernels takes, by the sums of its parts; kNever if the cores do
  /// not suffice.
  [[nodiscard]] Ticks time(const KernelSet& kernels, Ticks compute, Ticks network,
                           Ticks memory) const;
  [[nodiscard]] std::size_t group(const KernelSet& kernels) const {
    return rules_.group(tables_.kernel(kernels.first_from(0)).backward);
  }
  /// The kernel and what comes after it, as far as the sets are concerned.
  [[nodiscard]] const KernelSet& descendants(std::size_t p) const { return descendants_[p]; }
  /// The topological order in which enumerations decide kernels: few that are decided have
  /// tensors to others.  That of the tables where sets are one of each.
  [[nodiscard]] const std::vector<std::uint32_t>& order() const { return order_; }
  /// The kernel and what comes before it.
  [[nodiscard]] const KernelSet& ancestors(std::size_t p) const { return ancestors_[p]; }
  /// Of sets that exchanges make of each other one is enough; empty if all are looked for.
  [[nodiscard]] const std::vector<KernelOrder::Exchange>& exchanges() const { return exchanges_; }
  /// Places among these of the exchanges that the kernel takes part in.
  [[nodiscard]] const std::vector<std::uint32_t>& exchanges_of(std::size_t p) const {
    return exchanges_of_[p];
  }
  /// Kernels that may share a partition with it.
  [[nodiscard]] const KernelSet& partners(std::size_t p) const { return partners_[p]; }
  /// What a partition of this kernel alone takes.
  [[nodiscard]] Ticks time_alone(std::size_t kernel) const;
  /// That partition, beside these duals.
  [[nodiscard]] PartitionColumn alone(std::size_t kernel, const Duals& duals) const;

 private:
  const FusionTables& tables_;
  SharedWork* work_;
  PartitionRules rules_;
  const std::vector<KernelSet>& descendants_;
  const std::vector<KernelOrder::Exchange> exchanges_;  // that make sets of each other
  std::vector<std::vector<std::uint32_t>> exchanges_of_;
  std::vector<std::uint32_t> order_;
  std::vector<KernelSet> ancestors_;
  std::vector<KernelSet> partners_;  // those that may share a partition with the kernel
  std::optional<std::vector<FrontierPlanOfGroup>> plans_;  // nothing: in a topological order
  const MemoryCharge memory_;                              // of the partners
};

}  // namespace dfsearch
