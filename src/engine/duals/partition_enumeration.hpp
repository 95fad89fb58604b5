#pragma once
// One enumeration of the partitions that duals overpay (engine/duals/partition_pricing.hpp).

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.hpp"
#include "engine/duals/excess_bound.hpp"
#include "engine/duals/met_states.hpp"
#include "engine/duals/partition_pricing.hpp"

namespace dfsearch {

/// Does what PartitionPricing::find asks for, once.  Refers to all it is given.
class PartitionEnumeration {
 public:
  PartitionEnumeration(const FusionTables& tables, const PartitionPricing& pricing,
                       const Duals& duals, const PartitionPricing::Query& query,
                       std::int64_t& steps);

  [[nodiscard]] PartitionPricing::Found run();

 private:
  /// To go back to.
  struct Mark {
    std::size_t decided = 0;
    std::size_t compared = 0;
    PartitionSums sums;
  };

  void leave_out_what_joins_none();
  [[nodiscard]] bool firsts(std::size_t begin, std::size_t end);
  void with_first(std::size_t place);
  void decide(std::size_t from);
  [[nodiscard]] bool put_in(std::size_t p);
  void refuse(std::size_t p);
  void leave_out(std::size_t p);
  void set_decided(std::size_t p, bool inside);
  [[nodiscard]] bool leads();
  [[nodiscard]] bool is_replaced();
  [[nodiscard]] bool may_exceed() const;
  void close();
  void keep(const KernelSet& kernels, std::int64_t size, std::size_t group, FineTicks dual,
            Ticks time);

  [[nodiscard]] Mark mark() const {
    return {.decided = decided_.size(), .compared = compared_, .sums = sums_};
  }
  void go_back(const Mark& mark);
  /// What is inside and all that comes after it.
  [[nodiscard]] const KernelSet& after() const {
    return after_[static_cast<std::size_t>(sums_.kernels)];
  }
  [[nodiscard]] std::size_t group(std::size_t p) const {
    return pricing_.rules().group(tables_.kernel(p).backward);
  }

  const FusionTables& tables_;
  const PartitionPricing& pricing_;
  const Duals& duals_;
  const PartitionPricing::Query query_;
  const FineTicks least_charge_;
  FineTicks threshold_;
  const std::int64_t step_;  // what a node counts: in large graphs it takes longer
  std::int64_t& steps_;
  PacedDeadline deadline_;
  ExcessBound bound_;

  KernelSet inside_;
  KernelSet open_;                      // undecided
  KernelSet not_out_;                   // inside or undecided
  PartitionSums sums_;                  // of what is inside
  std::vector<KernelSet> after_;        // by the number of kernels inside
  std::vector<std::uint32_t> decided_;  // in this order
  std::size_t compared_ = 0;            // of these, with what they may be exchanged with

  bool sums_tell_all_ = true;      // the time of a partition is that of its sums
  std::array<bool, 3> matters_{};  // parts of the time that some kernel has
  bool is_long_ = false;           // the sets with this first kernel are worth more care
  std::int64_t trial_ = 0;         // nodes until that shows
  std::size_t next_ = 0;           // first kernel, where the steps did not suffice
  MetStates met_;
  std::array<KernelSet, 3> future_;       // scratch of is_replaced()
  std::vector<std::uint32_t> by_weight_;  // the heaviest first
  std::vector<PartitionColumn> found_;
};

}  // namespace dfsearch
