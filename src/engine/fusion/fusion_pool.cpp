// Several good fusions are good in different places.  What lies between them, of which path
// relinking (Glover and Laguna 1997) looks at one way from one to another, is here searched as a
// whole: all covers of the kernels by partitions that any of the fusions has.  The linear program
// over these partitions says what kernels are worth, so few covers are worth trying.
//
// Against all choices of partitions: tests/engine/fusion/fusion_pool_test.cpp.

#include "engine/fusion/fusion_pool.hpp"

#include <algorithm>
#include <utility>

#include "engine/fusion/costed_parts.hpp"
#include "engine/fusion/exact_covers.hpp"
#include "engine/fusion/open_partition.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kMostKernels = 512;

KernelClasses each_by_itself(const FusionTables& tables) {
  KernelClasses classes(tables.size());
  for (std::size_t p = 0; p < tables.size(); ++p) classes[p].push_back(p);
  return classes;
}

}  // namespace

FusionPool::FusionPool(const FusionTables& tables)
    : tables_(tables),
      pricing_(tables, PartitionPricing::Sets::Ordered, PartitionPricing::Way::Topological),
      program_(tables, pricing_, each_by_itself(tables)) {}

bool FusionPool::is_possible(const FusionTables& tables) { return tables.size() <= kMostKernels; }

void FusionPool::add(const Fusion& fusion) {
  KernelSet done(tables_.size());
  bool any = false;
  for (KernelSet& set : parts_of(tables_, fusion)) {
    const KernelSet before = done;
    done |= set;
    if (!known_.insert(set).second) continue;
    PartitionColumn column{.kernels = std::move(set)};
    OpenPartition open(tables_, before);
    column.kernels.for_each([&](std::size_t p) {
      open.put_in(p);
      ++column.size;
    });
    column.group = pricing_.group(column.kernels);
    column.time = open.time(kNever - 1);
    program_.add(column);
    partitions_.push_back(std::move(column));
    any = true;
  }
  new_from_ += any;
  const std::size_t bytes = sizeof(PartitionColumn) + tables_.size() / 4;
  memory_ = tables_.allowance().charge(2 * partitions_.size() * bytes +
                                       tables_.size() * tables_.size() * sizeof(double));
}

std::optional<Fusion> FusionPool::best(Ticks below, std::int64_t steps) {
  new_from_ = 0;
  if (program_.solve(steps) != CoveringLp::Outcome::Solved) return std::nullopt;
  const PartitionDuals duals = proved_duals();
  const FineTicks bound =
      duals.of_rest(KernelSet(tables_.size())) - duals.charges(pricing_.rules(), 0);
  const Ticks most = std::min(below - tables_.weight_loads(), kGreatestDual / kFinePerTick);
  const FineTicks limit = most * kFinePerTick - bound;
  if (limit <= 0) return std::nullopt;
  auto found = ExactCovers(tables_, pricing_, duals, partitions_).find(limit, steps, kFinePerTick);
  if (!found.fusion || found.fusion->time >= below) return std::nullopt;
  return std::move(found.fusion);
}

/// Takes off what a partition of the pool is overpaid, which is little, and tells them all what
/// they are worth.
PartitionDuals FusionPool::proved_duals() {
  PartitionDuals duals;
  static_cast<Duals&>(duals) = program_.duals();
  const auto excess = [&](const PartitionColumn& column) {
    FineTicks sum = -column.time * kFinePerTick - duals.charge[column.group];
    column.kernels.for_each([&](std::size_t p) { sum += duals.kernels[p]; });
    return sum;
  };
  for (const PartitionColumn& column : partitions_) {
    FineTicks more = excess(column);
    column.kernels.for_each([&](std::size_t p) {
      const FineTicks less = std::clamp<FineTicks>(more, 0, duals.kernels[p]);
      duals.kernels[p] -= less;
      more -= less;
    });
  }
  for (PartitionColumn& column : partitions_) column.excess = excess(column);
  return duals;
}

}  // namespace dfsearch
