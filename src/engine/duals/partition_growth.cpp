// Greedy growth.  Of the kernels that may join a set, with what lies on paths between, the one joins
// that leaves the greatest excess, if only the least bad: a partition often pays only once
// several kernels share the time that it takes.  It ends when nothing fits any more or
// nothing has paid for a while.
//
// Every set against the enumeration: tests/engine/duals/partition_growth_test.cpp.

#include "engine/duals/partition_growth.hpp"

#include <algorithm>
#include <utility>

namespace dfsearch {
namespace {

constexpr int kPatience = 8;  // kernels that join without the best excess so far

}  // namespace

PartitionGrowth::PartitionGrowth(const FusionTables& tables, const PartitionPricing& pricing)
    : tables_(tables), pricing_(pricing) {}

std::optional<PartitionColumn> PartitionGrowth::grow(std::size_t start, const Duals& duals,
                                                     FineTicks threshold,
                                                     std::int64_t& steps) const {
  if (tables_.kernel(start).lonely) return std::nullopt;
  const KernelSet none(tables_.size());
  Growing set{.inside = none, .before = none, .after = none, .partners = none, .totals = {}};
  for (std::size_t p = 0; p < tables_.size(); ++p) set.partners.insert(p);
  put_in(start, duals, set);
  const FineTicks charge = duals.charge[pricing_.group(set.inside)];
  KernelSet best = set.inside;
  PartitionSums totals = set.totals;
  for (int patience = kPatience; patience > 0; --patience) {
    std::optional<KernelSet> next;
    FineTicks most = 0;
    std::int64_t tried = 0;
    set.partners.for_each([&](std::size_t p) {
      ++tried;
      KernelSet its = joining(p, set);
      const auto candidate = with(its, duals, set);
      if (!candidate || (next && excess(*candidate, charge) <= most)) return;
      most = excess(*candidate, charge);
      next = std::move(its);
    });
    steps -= tried / 8 + 1;
    if (!next) break;
    next->for_each([&](std::size_t p) { put_in(p, duals, set); });
    if (most <= excess(totals, charge)) continue;
    best = set.inside;
    totals = set.totals;
    patience = kPatience;
  }
  PartitionColumn column{.kernels = best, .size = totals.kernels};
  column.group = pricing_.group(best);
  column.time = pricing_.time(best, totals.compute, totals.network, totals.memory);
  column.excess = totals.dual - column.time * kFinePerTick - charge;
  if (column.excess <= threshold) return std::nullopt;
  return column;
}

/// The kernel and what lies on paths between it and the set.
KernelSet PartitionGrowth::joining(std::size_t p, const Growing& set) const {
  KernelSet kernels(tables_.size());
  if (set.after.contains(p)) {
    kernels = set.after;
    kernels &= pricing_.ancestors(p);
  } else if (set.before.contains(p)) {
    kernels = set.before;
    kernels &= pricing_.descendants(p);
  }
  kernels.insert(p);
  set.inside.for_each([&](std::size_t q) { kernels.erase(q); });
  return kernels;
}

/// Nothing if they do not fit.
std::optional<PartitionSums> PartitionGrowth::with(const KernelSet& joining, const Duals& duals,
                                                   const Growing& set) const {
  if (!set.partners.contains_all(joining)) return std::nullopt;
  PartitionSums totals = set.totals;
  const std::size_t first = joining.first_from(0);
  if (joining.first_from(first + 1) >= joining.end()) {
    totals.add(tables_, duals, first, set.inside);
  } else {
    KernelSet inside = set.inside;
    bool partners = true;
    joining.for_each([&](std::size_t p) {
      totals.add(tables_, duals, p, inside);
      inside.insert(p);
      joining.for_each([&](std::size_t q) {
        partners = partners && (p == q || pricing_.partners(p).contains(q));
      });
    });
    if (!partners) return std::nullopt;
  }
  if (totals.sram > tables_.sram() || totals.kernels > tables_.cores()) return std::nullopt;
  return totals;
}

void PartitionGrowth::put_in(std::size_t p, const Duals& duals, Growing& set) const {
  set.totals.add(tables_, duals, p, set.inside);
  set.inside.insert(p);
  set.before |= pricing_.ancestors(p);
  set.after |= pricing_.descendants(p);
  set.partners &= pricing_.partners(p);
}

FineTicks PartitionGrowth::excess(const PartitionSums& totals, FineTicks charge) const {
  const KernelParts inside = totals.parts(tables_.problem().execution.overlap);
  return totals.dual - *std::max_element(inside.begin(), inside.end()) * kFinePerTick - charge;
}

}  // namespace dfsearch
