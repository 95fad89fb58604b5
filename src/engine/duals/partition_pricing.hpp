#pragma once
// Which partitions cost less than the duals of their kernels.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Time in parts of a tick, so that rounding duals costs less than a tick in all.
using FineTicks = std::int64_t;
inline constexpr FineTicks kFinePerTick = 256;
/// Above the sum of all duals; twice as much does not overflow.
inline constexpr FineTicks kGreatestDual = FineTicks{1} << 62;
/// The whole part of what is not negative, kGreatestDual at most.
FineTicks whole_fine_ticks(long double value);

/// What kernels are worth, by position, and what a partition of each group
/// (PartitionRules) pays for being one more.  Not negative.
struct Duals {
  std::vector<FineTicks> kernels;
  std::array<FineTicks, 2> charge{};
};

/// A set of kernels that may be a partition.
struct PartitionColumn {
  KernelSet kernels;
  std::size_t group = 0;
  Ticks time = 0;         ///< what it takes
  FineTicks excess = 0;   ///< duals of its kernels less its time and charge
  std::int64_t size = 0;  ///< number of its kernels
};

/// The times that a partition takes at least, each a sum over its kernels: with perfect
/// overlap compute, network and memory; otherwise their sums as the overlap says.
using KernelParts = std::array<Ticks, 3>;
KernelParts parts(Overlap overlap, Ticks compute, Ticks network, Ticks memory);

/// Enumerates the partitions that duals overpay.  It refers to the tables; one thread uses it.
class PartitionPricing {
 public:
  /// Ordered: sets that the tables' order of kernels that are alike allows.  OneOfEach: of
  /// all sets that exchanges of such kernels make of each other, some; duals must then be the same
  /// for kernels that are alike, and queries without `among` and `with`.
  enum class Sets : std::uint8_t { Ordered, OneOfEach };
  explicit PartitionPricing(const FusionTables& tables, Sets sets = Sets::Ordered);

  /// Which partitions are looked for.
  struct Query {
    FineTicks threshold = 0;  ///< they have more excess than this
    std::size_t most = 0;     ///< so many at most: the greatest excess, then the most kernels
    const KernelSet* among = nullptr;  ///< they have no other kernels; null: any
    std::size_t with = kAny;           ///< they hold this kernel
    static constexpr std::size_t kAny = ~std::size_t{0};
  };
  struct Found {
    std::vector<PartitionColumn> partitions;  ///< the greatest excess first
    bool complete = false;
  };
  /// Sets that no mapping can have may be among them (the memory and the order of
  /// partitions are not looked at).  If `steps`, which it counts down, suffice the answer is
  /// complete, else it has some of them.  Throws Stopped by the deadline of the tables.
  [[nodiscard]] Found find(const Duals& duals, const Query& query, std::int64_t& steps) const;

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
  /// Kernels that may share a partition with it.
  [[nodiscard]] const KernelSet& partners(std::size_t p) const { return partners_[p]; }
  /// What a partition of this kernel alone takes.
  [[nodiscard]] Ticks time_alone(std::size_t kernel) const;

 private:
  const FusionTables& tables_;
  PartitionRules rules_;
  const std::vector<KernelSet>& descendants_;
  const std::vector<KernelOrder::Exchange> exchanges_;  // that make sets of each other
  std::vector<KernelSet> partners_;  // those that may share a partition with the kernel
  const MemoryCharge memory_;        // of the partners
};

}  // namespace dfsearch
