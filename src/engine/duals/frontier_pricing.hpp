#pragma once
// Which sets of kernels cost less than their duals, for graphs with a small frontier.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/duals/frontier_plan.hpp"
#include "engine/duals/frontier_promise.hpp"
#include "engine/duals/frontier_worth.hpp"
#include "engine/duals/partition_pricing.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// The promises of the last query: room for the next.  Those who share it ask one after the other.
struct FrontierRoom {
  std::vector<FrontierPromise> promises;
  MemoryCharge memory;  ///< of these
};

/// Looks among the sets of some kernels that SRAM holds for those that duals overpay, by the sums
/// of their parts: sets with gaps on the way from one kernel to another are among them, and the
/// cores of a chip are not looked at.  Refers to the tables.  Used by one thread.
class FrontierPricing {
 public:
  /// `plan` is of kernels that are of this group (PartitionRules).
  FrontierPricing(const FusionTables& tables, FrontierPlan plan, std::size_t group,
                  std::shared_ptr<FrontierRoom> room);

  struct Query {
    FineTicks threshold = 0;  ///< sets with more excess than this and the noise are looked for
    std::size_t most = 1;     ///< so many at most
    /// Partial sets that are kept for each state of the frontier; 0: all that matter.
    std::size_t beam = 0;
  };
  struct Found {
    std::vector<PartitionColumn> partitions;  ///< that of the greatest excess first
    bool complete = false;                    ///< if there are none, there are none
    bool too_many = false;                    ///< partial sets: more steps would not help
  };
  /// Sets with excess, as the query asks: those that share no kernels before any others.  Of several
  /// sets of equal SRAM, duals and times only one is found.  Counts `steps` down, of some hundred
  /// operations each; if they do not suffice, nothing is found.  Throws Stopped by the deadline of the
  /// tables.
  [[nodiscard]] Found find(const Duals& duals, const Query& query, std::int64_t& steps);

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
};

}  // namespace dfsearch
