#pragma once
// Which partitions cost less than the duals of their kernels.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/fusion_tables.hpp"
#include "engine/partition_rules.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Time in parts of a tick, so that rounding duals costs less than a tick in all.
using FineTicks = std::int64_t;
inline constexpr FineTicks kFinePerTick = 256;

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
  Ticks time = 0;         ///< that it takes
  FineTicks excess = 0;   ///< duals of its kernels less its time and charge
  std::int64_t size = 0;  ///< kernels
};

/// Times that a partition takes at least, each a sum over its kernels: with perfect overlap
/// compute, network and memory; otherwise their sums as the overlap says.
using KernelParts = std::array<Ticks, 3>;
KernelParts parts(Overlap overlap, Ticks compute, Ticks network, Ticks memory);

/// Refers to the tables.  Used by one thread.
class PartitionPricing {
 public:
  explicit PartitionPricing(const FusionTables& tables);

  /// Which partitions are looked for.
  struct Query {
    FineTicks threshold = 0;  ///< with more excess than this
    std::size_t most = 0;     ///< so many at most: the greatest excess, then the most kernels
    const KernelSet* among = nullptr;  ///< of these kernels only; null: all
    std::size_t with = kAny;           ///< that hold this kernel
    static constexpr std::size_t kAny = ~std::size_t{0};
  };
  struct Found {
    std::vector<PartitionColumn> partitions;  ///< the greatest excess first
    bool complete = false;
  };
  /// Sets that no mapping can have may be among them (the memory and the order of
  /// partitions are not looked at).  If `steps`, which it counts down, suffice the answer is
  /// complete, else it has some of them.
  [[nodiscard]] Found find(const Duals& duals, const Query& query, std::int64_t& steps) const;

  [[nodiscard]] const PartitionRules& rules() const { return rules_; }
  /// Of a kernel by itself.
  [[nodiscard]] Ticks time_alone(std::size_t kernel) const;

 private:
  const FusionTables& tables_;
  PartitionRules rules_;
  std::vector<KernelSet> partners_;  // those that may share a partition with the kernel
};

}  // namespace dfsearch
