// Greedy growth.  Of the kernels that may join a set, with what lies on paths between, the one joins
// that leaves the greatest excess, if only the least bad: a partition often pays only once
// several kernels share the time that it takes.  It ends when nothing fits any more or
// nothing has paid for a while.
//
// What a kernel adds to the set by itself is kept for all of them: when one joins, only that of its
// neighbours changes.
//
// Every set against the enumeration: tests/engine/duals/partition_growth_test.cpp.

#include "engine/duals/partition_growth.hpp"

#include <algorithm>
#include <utility>

namespace dfsearch {
namespace {

constexpr std::size_t kBits = 64;  // of a word
constexpr int kPatience = 8;       // kernels that join without the best excess so far

class Growing {
 public:
  using Added = PartitionGrowth::Added;

  Growing(const FusionTables& tables, const PartitionPricing& pricing, const Duals& duals,
          const std::vector<Added>& alone, std::size_t start)
      : tables_(tables),
        pricing_(pricing),
        duals_(duals),
        overlap_(tables.problem().execution.overlap),
        added_(alone),
        inside_(tables.size()),
        before_(inside_),
        after_(inside_),
        partners_(inside_),
        neighbours_(inside_),
        candidates_(inside_),
        joining_(inside_),
        inside_then_(inside_) {
    for (std::size_t p = 0; p < tables.size(); ++p) partners_.insert(p);
    put_in(start);
    charge_ = duals.charge[pricing.group(inside_)];
  }

  /// The best kernel to join; nothing if none fits.
  std::optional<std::size_t> choose(PartitionGrowth::Reach reach, std::int64_t& steps) {
    std::optional<std::size_t> best;
    FineTicks most = 0;
    std::int64_t tried = 0;
    candidates_ = partners_;
    if (reach == PartitionGrowth::Reach::Near) candidates_ &= neighbours_;
    candidates_.for_each([&](std::size_t p) {
      ++tried;
      const auto sums = with(p);
      if (!sums) return;
      const FineTicks its = excess(*sums);
      if (best && its <= most) return;
      best = p;
      most = its;
    });
    steps -= tried / 8 + 1;
    return best;
  }

  void join(std::size_t p) {
    find_joining(p);
    const KernelSet joining = joining_;
    joining.for_each([&](std::size_t q) { put_in(q); });
  }

  [[nodiscard]] FineTicks excess() const { return excess(totals_); }
  [[nodiscard]] const KernelSet& inside() const { return inside_; }
  [[nodiscard]] const PartitionSums& totals() const { return totals_; }

 private:
  /// The kernel and what lies on paths between it and the set.
  void find_joining(std::size_t p) {
    if (after_.contains(p)) {
      joining_ = after_;
      joining_ &= pricing_.ancestors(p);
    } else if (before_.contains(p)) {
      joining_ = before_;
      joining_ &= pricing_.descendants(p);
    } else {
      joining_ -= joining_;
    }
    joining_ -= inside_;
    joining_.insert(p);
  }

  /// Whether something else outside lies between the kernel and the set.
  [[nodiscard]] bool is_path_left(std::size_t p) const {
    const bool is_after = after_.contains(p);
    if (!is_after && !before_.contains(p)) return false;
    const auto side = (is_after ? after_ : before_).words();
    const auto towards = (is_after ? pricing_.ancestors(p) : pricing_.descendants(p)).words();
    const auto inside = inside_.words();
    std::uint64_t others = 0;
    for (std::size_t w = 0; w < side.size(); ++w) {
      std::uint64_t between = side[w] & towards[w] & ~inside[w];
      if (w == p / kBits) between &= ~(std::uint64_t{1} << (p % kBits));
      others |= between;
    }
    return others != 0;
  }

  /// The sums with the kernel; nothing if they do not fit.
  std::optional<PartitionSums> with(std::size_t p) {
    PartitionSums sums = totals_;
    const bool several = is_path_left(p);
    if (several) {
      find_joining(p);
      if (!partners_.contains_all(joining_)) return std::nullopt;
      inside_then_ = inside_;
      joining_.for_each([&](std::size_t q) {
        sums.add(tables_, duals_, q, inside_then_);
        inside_then_.insert(q);
      });
    } else {
      const Added& added = added_[p];
      sums.compute += tables_.kernel(p).compute;
      sums.network += tables_.kernel(p).network;
      sums.memory += added.memory;
      sums.dual += duals_.kernels[p];
      sums.sram += added.sram;
      ++sums.kernels;
    }
    if (sums.sram > tables_.sram() || sums.kernels > tables_.cores()) return std::nullopt;
    if (several && !are_partners()) return std::nullopt;
    return sums;
  }

  /// Of each other, all that join.
  [[nodiscard]] bool are_partners() const {
    bool all = true;
    joining_.for_each([&](std::size_t p) {
      const KernelSet& partners = pricing_.partners(p);
      joining_.for_each([&](std::size_t q) { all = all && (p == q || partners.contains(q)); });
    });
    return all;
  }

  void put_in(std::size_t p) {
    totals_.add(tables_, duals_, p, inside_);
    inside_.insert(p);
    before_ |= pricing_.ancestors(p);
    after_ |= pricing_.descendants(p);
    partners_ &= pricing_.partners(p);
    const auto fuse = [&](const Arc& arc) {
      neighbours_.insert(arc.other);
      Added& neighbour = added_[arc.other];
      neighbour.memory -= arc.transfer + arc.opposite;
      neighbour.sram += arc.fused - 2.0 * arc.streamed;
    };
    for (const Arc& arc : tables_.inputs(p)) fuse(arc);
    for (const Arc& arc : tables_.outputs(p)) fuse(arc);
  }

  [[nodiscard]] FineTicks excess(const PartitionSums& sums) const {
    const KernelParts parts = sums.parts(overlap_);
    return sums.dual - *std::max_element(parts.begin(), parts.end()) * kFinePerTick - charge_;
  }

  const FusionTables& tables_;
  const PartitionPricing& pricing_;
  const Duals& duals_;
  const Overlap overlap_;
  std::vector<Added> added_;  // by each kernel beside those inside
  KernelSet inside_;
  KernelSet before_;      // inside and all before it
  KernelSet after_;       // inside and all after it
  KernelSet partners_;    // that may share a partition with all inside
  KernelSet neighbours_;  // of any inside
  KernelSet candidates_;  // scratch
  PartitionSums totals_;
  FineTicks charge_ = 0;
  KernelSet joining_;      // scratch
  KernelSet inside_then_;  // likewise
};

}  // namespace

PartitionGrowth::PartitionGrowth(const FusionTables& tables, const PartitionPricing& pricing)
    : tables_(tables), pricing_(pricing) {
  const Duals none{.kernels = std::vector<FineTicks>(tables.size(), 0), .charge = {}};
  const KernelSet nothing(tables.size());
  for (std::size_t p = 0; p < tables.size(); ++p) {
    PartitionSums sums;
    sums.add(tables, none, p, nothing);
    alone_.push_back({.memory = sums.memory, .sram = sums.sram});
  }
}

std::optional<PartitionColumn> PartitionGrowth::grow(std::size_t start, const Duals& duals,
                                                     FineTicks threshold, Reach reach,
                                                     std::int64_t& steps) const {
  if (tables_.kernel(start).lonely) return std::nullopt;
  Growing set(tables_, pricing_, duals, alone_, start);
  KernelSet best = set.inside();
  PartitionSums totals = set.totals();
  FineTicks most = set.excess();
  for (int patience = kPatience; patience > 0; --patience) {
    const auto next = set.choose(reach, steps);
    if (!next) break;
    set.join(*next);
    // What was kept of each kernel is rounded elsewhere.
    if (set.totals().sram > tables_.sram()) break;
    if (set.excess() <= most) continue;
    best = set.inside();
    totals = set.totals();
    most = set.excess();
    patience = kPatience;
  }
  PartitionColumn column{.kernels = best, .size = totals.kernels};
  column.group = pricing_.group(best);
  column.time = pricing_.time(best, totals.compute, totals.network, totals.memory);
  column.excess = totals.dual - column.time * kFinePerTick - duals.charge[column.group];
  if (column.excess <= threshold) return std::nullopt;
  return column;
}

}  // namespace dfsearch
