#pragma once
// All sets of kernels that begin with a given one, for the enumeration along a frontier
// (engine/duals/frontier_enumeration.hpp).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.hpp"
#include "engine/duals/frontier_plan.hpp"
#include "engine/duals/frontier_promise.hpp"
#include "engine/duals/frontier_worth.hpp"
#include "engine/duals/partition_pricing.hpp"

namespace dfsearch {

/// A set so far: of its kernels only the frontier matters to what comes.
struct PartialSet {
  std::uint32_t frontier = 0;  ///< which of it are inside
  double sram = 0.0;
  FrontierExcess excess{};  ///< by the parts that take time; the others are 0
};

/// A plan with what duals make of it.  Refers to the plan.
struct PromisedPlan {
  const FrontierPlan& plan;
  std::size_t group;
  std::size_t first_place;  ///< of its first step, among the steps of all plans
  double sram;
  FineTicks charge;
  FrontierGains gains;
  std::vector<std::size_t> timed;
  std::vector<FrontierPromise> promises;
  std::vector<PromisedMixture> mixtures;  ///< with these
  /// By the number of steps that are decided: those kernels, and all that are in no set here.
  std::vector<KernelSet> decided;

  /// False if no way to go on from this step has more excess.
  [[nodiscard]] bool may_exceed(FineTicks threshold, std::size_t step, const PartialSet& set) const;
};

/// Looks for the sets with a first kernel after the other.  Refers to all it is given.  Used by
/// one thread.
class FrontierWalk {
 public:
  FrontierWalk(const FusionTables& tables, const PartitionPricing& pricing, const Duals& duals,
               const PartitionPricing::Query& query);

  /// Sets that have these kernels and decide others from a step on.
  struct Branch {
    std::size_t first = 0;              ///< step of the first kernel
    std::vector<std::uint32_t> inside;  ///< so far; empty: the first one is to be put in
    std::size_t step = 0;               ///< the next one to be decided
    PartialSet set;
  };
  struct Found {
    std::vector<PartitionColumn> partitions;  ///< in any order; too few if steps did not suffice
    std::vector<Branch> left;                 ///< of a long branch: not looked through yet
    std::int64_t steps = 0;                   ///< taken; more than there were: they did not suffice
  };
  /// Those of more excess than the threshold; all of these that are among the greatest that are asked
  /// for, but for what is left.  That does not depend on the steps, if they suffice.
  [[nodiscard]] Found find(const PromisedPlan& plan, const Branch& branch, FineTicks threshold,
                           std::int64_t steps);

 private:
  void begin(const Branch& branch);
  void go_on(std::size_t step, const PartialSet& set);
  void put_in(std::size_t step, const PartialSet& set);
  void join(std::size_t kernel);
  void leave(std::size_t kernel);
  void keep_for_later(std::size_t step, const PartialSet& set);
  [[nodiscard]] bool may_exceed(std::size_t step, const PartialSet& set) const {
    return plan_->may_exceed(threshold_, step, set);
  }
  [[nodiscard]] bool is_between(std::size_t kernel) const {
    return after_[size_].contains(kernel) && before_[size_].contains(kernel);
  }
  void close();

  const FusionTables& tables_;
  const PartitionPricing& pricing_;
  const Duals& duals_;
  PacedDeadline deadline_;
  const PartitionPricing::Query query_;
  const PromisedPlan* plan_ = nullptr;
  FineTicks threshold_ = 0;
  std::int64_t steps_ = 0;            // left
  std::int64_t steps_of_branch_ = 0;  // left, before the rest is left to others
  std::size_t first_ = 0;
  KernelSet inside_;
  std::size_t size_ = 0;           // of inside_
  std::vector<KernelSet> after_;   // by the number of kernels inside: these and all after them
  std::vector<KernelSet> before_;  // and all before them
  Found found_;
};

}  // namespace dfsearch
