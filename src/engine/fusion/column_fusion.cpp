// An exact cover of the kernels by partitions that take no longer than their duals say, depth
// first.  The kernel that gains most from company is covered next; the partitions that may
// cover it are enumerated (engine/duals/partition_pricing.hpp) among the kernels that are left, the
// largest first, for there must not be too many.  First few of them are tried for each
// kernel, then more (limited discrepancy, Harvey and Ginsberg 1995).
//
// Partitions that each need the other done first cannot be in one fusion.  Pairs of them are
// kept apart on the way; longer cycles, the memory and the rules for indices show when the
// cover is put in order.

#include "engine/fusion/column_fusion.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/duals/partition_pricing.hpp"
#include "engine/fusion/ordered_fusion.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {
namespace {

class Cover {
 public:
  Cover(const FusionTables& tables, const PartitionDuals& duals, std::int64_t steps)
      : tables_(tables), duals_(duals), pricing_(tables), order_(tables.size()), steps_(steps) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) {
      return excess_alone(a) < excess_alone(b);
    });
  }

  std::optional<Fusion> find() {
    KernelSet left(tables_.size());
    for (std::size_t p = 0; p < tables_.size(); ++p) left.insert(p);
    // More and more partitions for a kernel, until all were tried.
    for (tried_ = 4; !found_ && steps_ > 0 && cut_; tried_ *= 2) {
      cut_ = false;
      extend(left, 0);
    }
    return std::move(found_);
  }

 private:
  struct Chosen {
    PartitionColumn partition;
    KernelSet before;  // the partition and all before it
    KernelSet after;   // the partition and all after it
  };

  [[nodiscard]] FineTicks excess_alone(std::size_t p) const {
    return duals_.kernels[p] - pricing_.time_alone(p) * kFinePerTick;
  }

  /// `slack`: what the chosen ones take beyond their duals.
  void extend(const KernelSet& left, FineTicks slack) {
    const auto next =
        std::find_if(order_.begin(), order_.end(), [&](std::size_t p) { return left.contains(p); });
    if (next == order_.end()) {
      if (slack + unused_charges() >= kFinePerTick) return;
      std::vector<const PartitionColumn*> cover;
      for (const Chosen& chosen : chosen_) cover.push_back(&chosen.partition);
      found_ = put_in_order(tables_, std::move(cover)).fusion;
      return;
    }
    if (!indices_suffice(left)) return;
    auto found = pricing_.find(
        duals_, {.threshold = slack - kFinePerTick, .most = tried_, .among = &left, .with = *next},
        steps_);
    cut_ = cut_ || found.partitions.size() == tried_;
    for (PartitionColumn& partition : found.partitions) {
      if (found_ || steps_ < 0) return;
      const FineTicks more = slack - partition.excess;
      KernelSet rest = left;
      partition.kernels.for_each([&](std::size_t p) { rest.erase(p); });
      Chosen chosen = with_neighbours(std::move(partition));
      if (!goes_with_all(chosen)) continue;
      chosen_.push_back(std::move(chosen));
      extend(rest, more);
      chosen_.pop_back();
    }
  }

  /// Of the indices that the bound counts on beyond those chosen.
  [[nodiscard]] FineTicks unused_charges() const {
    FineTicks sum = duals_.charges(pricing_.rules(), 0);
    for (const Chosen& chosen : chosen_) sum -= duals_.charge[chosen.partition.group];
    return sum;
  }

  [[nodiscard]] bool indices_suffice(const KernelSet& left) const {
    const PartitionRules& rules = pricing_.rules();
    for (std::size_t g = 0; g < rules.groups(); ++g) {
      Rest rest;
      left.for_each([&](std::size_t p) {
        if (rules.group(tables_.kernel(p).backward) == g) rest += tables_.kernel(p).share;
      });
      const auto used = std::count_if(chosen_.begin(), chosen_.end(), [&](const Chosen& chosen) {
        return chosen.partition.group == g;
      });
      if (used + tables_.least_partitions(rest) > rules.left(g, 0)) return false;
    }
    return true;
  }

  [[nodiscard]] Chosen with_neighbours(PartitionColumn&& partition) const {
    Chosen chosen{.partition = std::move(partition),
                  .before = KernelSet(tables_.size()),
                  .after = KernelSet(tables_.size())};
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      if (tables_.descendants(p).intersects(chosen.partition.kernels)) chosen.before.insert(p);
    }
    chosen.partition.kernels.for_each(
        [&](std::size_t p) { chosen.after |= tables_.descendants(p); });
    return chosen;
  }

  [[nodiscard]] bool goes_with_all(const Chosen& chosen) const {
    return std::none_of(chosen_.begin(), chosen_.end(), [&](const Chosen& other) {
      const KernelSet& kernels = other.partition.kernels;
      return chosen.before.intersects(kernels) && chosen.after.intersects(kernels);
    });
  }

  const FusionTables& tables_;
  const PartitionDuals& duals_;
  const PartitionPricing pricing_;
  std::vector<std::size_t> order_;  // of covering
  std::int64_t steps_;
  std::size_t tried_ = 0;  // partitions for a kernel
  bool cut_ = true;        // there may be more of them
  std::vector<Chosen> chosen_;
  std::optional<Fusion> found_;
};

}  // namespace

std::optional<Fusion> column_fusion(const FusionTables& tables, const PartitionDuals& duals,
                                    std::int64_t steps) {
  return Cover(tables, duals, steps).find();
}

}  // namespace dfsearch
