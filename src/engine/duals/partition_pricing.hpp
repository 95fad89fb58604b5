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

/// Enumerates the partitions that duals overpay, along a path decomposition of the graph: its
/// frontier must be small.  It refers to the tables; one thread uses it, and what it finds does not
/// depend on others that help.
class PartitionPricing {
 public:
  /// Ordered: sets that the tables' order of kernels that are alike allows.  Any: all that tensors
  /// allow.
  enum class Sets : std::uint8_t { Ordered, Any };
  /// Other threads may help with the `work`, to which it refers; null: nobody does.
  explicit PartitionPricing(const FusionTables& tables, Sets sets = Sets::Ordered,
                            SharedWork* work = nullptr);

  /// Which partitions are looked for.
  struct Query {
    FineTicks threshold = 0;  ///< they have more excess than this
    std::size_t most = 0;     ///< so many at most: the greatest excess, then the most kernels
    /// Once so many have been found it ends, soon if not at once, and is not complete; kAny: never.
    std::size_t enough = kAny;
    std::size_t first = 0;    ///< those whose first kernel this is come first, then the next ones
    std::size_t at_once = 0;  ///< first kernels looked through at a time; 0: as suits the graph
    /// Before the rest of the sets that begin alike is left to any thread: about a millisecond.
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
  /// complete, else it has some of them.  Asked only if may_enumerate.  Throws Stopped by the deadline
  /// of the tables.
  [[nodiscard]] Found find(const Duals& duals, const Query& query, std::int64_t& steps) const;

  /// Whether there is a small frontier.
  [[nodiscard]] bool may_enumerate() const { return plans_.has_value(); }
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
  /// The kernel and what comes before it.
  [[nodiscard]] const KernelSet& ancestors(std::size_t p) const { return ancestors_[p]; }
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
  std::vector<KernelSet> ancestors_;
  std::vector<KernelSet> partners_;  // those that may share a partition with the kernel
  std::optional<std::vector<FrontierPlanOfGroup>> plans_;  // nothing: the frontier is too wide
  const MemoryCharge memory_;                              // of the partners
};

}  // namespace dfsearch
