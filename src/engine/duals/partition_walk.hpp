#pragma once
// All partitions that begin with a given kernel, for the enumeration in a topological order
// (engine/duals/partition_enumeration.hpp).

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.hpp"
#include "engine/duals/excess_bound.hpp"
#include "engine/duals/met_states.hpp"
#include "engine/duals/partition_pricing.hpp"

namespace dfsearch {

/// Looks for the partitions with one first kernel after the other.  Places are those of the pricing's
/// order.  Refers to all it is given.  Used by one thread.
class PartitionWalk {
 public:
  PartitionWalk(const FusionTables& tables, const PartitionPricing& pricing, const Duals& duals,
                const PartitionPricing::Query& query);

  /// Leaves out what comes before the place.  False if no set is left that leads.
  bool go_to(std::size_t place);
  /// Whether the kernel of the place may be inside.
  [[nodiscard]] bool is_open(std::size_t place) const {
    return open_.contains(pricing_.order()[place]);
  }
  /// False if no set of what is left has more excess.
  [[nodiscard]] bool may_exceed(FineTicks threshold) const;

  struct Found {
    std::vector<PartitionColumn> partitions;  ///< in any order; too few if steps did not suffice
    std::int64_t steps = 0;                   ///< taken; more than there were: they did not suffice
    ExcessBound::Relaxations relaxations;     ///< as they were left
  };
  /// Goes to the place and finds the sets of more excess than the threshold that begin there; all
  /// of these that are among the greatest that are asked for.  It begins with these relaxations.
  [[nodiscard]] Found find(std::size_t place, FineTicks threshold,
                           const ExcessBound::Relaxations& relaxations, std::int64_t steps);
  void use(const ExcessBound::Relaxations& relaxations);
  [[nodiscard]] const ExcessBound::Relaxations& relaxations() const { return bound_.relaxations(); }

 private:
  /// To go back to.
  struct Mark {
    std::size_t decided = 0;
    std::size_t compared = 0;
    PartitionSums sums;
  };

  void with_first(std::size_t place);
  void decide(std::size_t from);
  [[nodiscard]] bool put_in(std::size_t p);
  void refuse(std::size_t p);
  void leave_out(std::size_t p);
  void set_decided(std::size_t p, bool inside);
  [[nodiscard]] bool leads();
  [[nodiscard]] bool is_replaced();
  void close();

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
  std::int64_t steps_ = 0;   // left
  PacedDeadline deadline_;
  ExcessBound bound_;

  KernelSet inside_;
  KernelSet open_;                      // undecided
  KernelSet not_out_;                   // inside or undecided
  PartitionSums sums_;                  // of what is inside
  std::vector<KernelSet> after_;        // by the number of kernels inside
  std::vector<std::uint32_t> decided_;  // in this order
  std::size_t compared_ = 0;            // of these, with what they may be exchanged with
  Mark all_;                            // at the first place
  std::size_t place_ = 0;               // what comes before is left out
  bool leads_ = true;                   // and some set of the others leads

  bool sums_tell_all_ = true;      // the time of a partition is that of its sums
  std::array<bool, 3> matters_{};  // parts of the time that some kernel has
  bool is_long_ = false;           // the sets with this first kernel are worth more care
  std::int64_t trial_ = 0;         // nodes until that shows
  MetStates met_;
  std::array<KernelSet, 3> future_;       // scratch of is_replaced()
  std::vector<std::uint32_t> by_weight_;  // the heaviest first
  std::vector<PartitionColumn> found_;
};

}  // namespace dfsearch
