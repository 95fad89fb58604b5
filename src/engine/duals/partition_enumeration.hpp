#pragma once
// One enumeration of the partitions that duals overpay (engine/duals/partition_pricing.hpp).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/shared_work.hpp"
#include "engine/duals/ordered_walks.hpp"
#include "engine/duals/partition_pricing.hpp"
#include "engine/duals/partition_walk.hpp"

namespace dfsearch {

/// Does what PartitionPricing::find asks for, once.  Refers to all it is given.
class PartitionEnumeration {
 public:
  /// What is found does not depend on who helps with the `work`.
  PartitionEnumeration(const FusionTables& tables, const PartitionPricing& pricing,
                       const Duals& duals, const PartitionPricing::Query& query, SharedWork& work,
                       std::int64_t& steps);

  [[nodiscard]] PartitionPricing::Found run();

 private:
  void add_alone();
  [[nodiscard]] bool firsts(std::size_t begin, std::size_t end);
  [[nodiscard]] bool one_first(std::size_t place);
  [[nodiscard]] bool some_firsts(const std::vector<std::size_t>& places);
  void keep(std::vector<PartitionColumn>&& partitions);

  const FusionTables& tables_;
  const PartitionPricing& pricing_;
  const Duals& duals_;
  const PartitionPricing::Query query_;
  const std::size_t at_once_;  // first kernels
  FineTicks threshold_;
  std::int64_t& steps_;
  PartitionWalk walk_;  // of one after the other, or to see which come next
  OrderedWalks<PartitionWalk> walks_;
  std::size_t next_ = 0;  // first kernel, where the steps did not suffice
  std::vector<PartitionColumn> found_;
};

}  // namespace dfsearch
