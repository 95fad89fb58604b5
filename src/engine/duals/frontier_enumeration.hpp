#pragma once
// The partitions that duals overpay, for graphs with a small frontier
// (engine/duals/partition_pricing.hpp).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/shared_work.hpp"
#include "engine/duals/frontier_plan.hpp"
#include "engine/duals/frontier_walk.hpp"
#include "engine/duals/ordered_walks.hpp"
#include "engine/duals/partition_pricing.hpp"
#include "engine/tables/allowance.hpp"

namespace dfsearch {

/// Does what PartitionPricing::find asks for, once.  Refers to all it is given.
class FrontierEnumeration {
 public:
  /// `plans` are those of the tables.  What is found does not depend on who helps with the `work`.
  FrontierEnumeration(const FusionTables& tables, const PartitionPricing& pricing,
                      const std::vector<FrontierPlanOfGroup>& plans, const Duals& duals,
                      const PartitionPricing::Query& query, SharedWork& work, std::int64_t& steps);

  [[nodiscard]] PartitionPricing::Found run();

 private:
  void add_alone();
  [[nodiscard]] PromisedPlan promised(const FrontierPlanOfGroup& of, FrontierGains&& gains,
                                      std::size_t first_place, std::size_t states);
  [[nodiscard]] bool firsts(std::size_t begin, std::size_t end);
  [[nodiscard]] bool some_firsts(const PromisedPlan& plan, std::size_t begin, std::size_t count);
  void keep(std::vector<PartitionColumn>&& partitions);

  const FusionTables& tables_;
  const PartitionPricing& pricing_;
  const Duals& duals_;
  const PartitionPricing::Query query_;
  SharedWork& work_;
  FineTicks threshold_;
  std::int64_t& steps_;
  bool adds_up_ = true;  // what duals make of all sets; else no set is looked at
  std::vector<PromisedPlan> plans_;
  MemoryCharge memory_;  // of these
  MemoryCharge memory_of_branches_;
  std::vector<PartitionColumn> found_;
  std::size_t next_ = 0;
  OrderedWalks<FrontierWalk> walks_;
};

}  // namespace dfsearch
