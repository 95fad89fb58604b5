#pragma once
// Which sets of kernels cost less than their duals, for graphs with a small frontier.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/duals/frontier_plan.hpp"
#include "engine/duals/frontier_promise.hpp"
#include "engine/duals/frontier_worth.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tree/effort.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// The promises of the last query: room for the next.  Those who share it ask one after the other.
struct FrontierRoom {
  std::vector<FrontierPromise> promises;
  MemoryCharge memory;  ///< of these
};

class LabelSearch;

/// Looks among the sets of some kernels that SRAM holds for those that duals overpay, by the sums
/// of their parts: sets with gaps on the way from one kernel to another are among them, and the
/// cores of a chip are not looked at.  Refers to the tables.  Used by one thread.
class FrontierPricing {
 public:
  /// `plan` is of kernels that are of this group (PartitionRules).
  FrontierPricing(const FusionTables& tables, FrontierPlan plan, std::size_t group,
                  std::shared_ptr<FrontierRoom> room);
  FrontierPricing(FrontierPricing&&) noexcept;
  ~FrontierPricing();

  /// TooMany: partial sets, so that more work would not help.
  enum class End : std::uint8_t { Complete, OutOfWork, TooMany };
  struct Found {
    std::vector<PartitionColumn> partitions;  ///< the one of the greatest excess first
    End end = End::Complete;
  };
  /// Finds sets with more excess than the noise, those that share no kernels before any others.
  /// `beam` partial sets are kept for each state of the frontier; 0: all that matter.  Of several
  /// sets of equal SRAM, duals and times only one is found.  Complete without a beam and without
  /// sets: there are none.  Counts `work` down; OutOfWork: the next call, which is to have the same
  /// duals and beam, goes on.  Throws Stopped by the deadline of the tables.
  [[nodiscard]] Found find(const Duals& duals, std::size_t beam, Work& work);

  /// Sets that are overpaid by no more are not found: those that are just paid come in numbers.
  [[nodiscard]] FineTicks noise(const Duals& duals) const;

  [[nodiscard]] const FrontierPlan& plan() const { return plan_; }
  [[nodiscard]] std::size_t group() const { return group_; }

 private:
  const FusionTables& tables_;
  FrontierPlan plan_;
  std::size_t group_;
  std::vector<std::size_t> timed_;  // parts that take any time
  std::shared_ptr<FrontierRoom> room_;
  std::unique_ptr<LabelSearch> search_;  // while a query goes on
};

}  // namespace dfsearch
