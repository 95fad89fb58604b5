// Costs a fusion as the tree does: partition after partition, each kernel once what it needs is
// there.

#include "engine/fusion/costed_parts.hpp"

#include <algorithm>

#include "engine/fusion/open_partition.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {
namespace {

/// Of the kernels as the next partition, which is empty; kNever if they do not fit.
Ticks time_of_next(const FusionTables& tables, const KernelSet& kernels, OpenPartition& partition) {
  bool fits = true;
  kernels.for_each([&](std::size_t p) {
    const bool escapes = partition.kernels().empty() && tables.kernel(p).escapes;
    const bool ready = partition.undecided(p) && partition.first_ready(p) == p;
    fits = fits && ready && (partition.fits(p) || escapes);
    if (fits) partition.put_in(p);
  });
  if (!fits) return kNever;
  const bool alone = partition.kernels().size() == 1;
  fits = partition.totals().sram <= tables.sram() || alone;
  return fits && partition.fits_in_memory() ? partition.time(kNever) : kNever;
}

}  // namespace

std::optional<Fusion> costed_parts(const FusionTables& tables, const std::vector<KernelSet>& sets) {
  const PartitionRules rules(tables);
  Fusion fusion{.time = tables.weight_loads(),
                .partition = std::vector<std::int64_t>(tables.size(), -1),
                .used = 0};
  KernelSet done(tables.size());
  OpenPartition partition(tables, done);
  std::int32_t next_index = 0;
  for (const KernelSet& kernels : sets) {
    tables.deadline().check();
    if (kernels.first_from(0) >= kernels.end()) continue;
    const auto index = rules.index_for(kernels, next_index, rules.unplaced(done));
    if (!index) return std::nullopt;
    fusion.time = capped_sum(fusion.time, time_of_next(tables, kernels, partition));
    if (fusion.time >= kNever) return std::nullopt;
    partition.close();
    kernels.for_each([&](std::size_t p) { fusion.partition[tables.id(p).index()] = *index; });
    ++fusion.used;
    next_index = *index + 1;
    done |= kernels;
  }
  return fusion;
}

std::vector<KernelSet> parts_of(const FusionTables& tables, const Fusion& fusion) {
  std::int64_t most = 0;
  for (const std::int64_t index : fusion.partition) most = std::max(most, index);
  std::vector<KernelSet> sets(static_cast<std::size_t>(most) + 1, KernelSet(tables.size()));
  for (std::size_t p = 0; p < tables.size(); ++p) {
    sets[static_cast<std::size_t>(fusion.partition[tables.id(p).index()])].insert(p);
  }
  std::erase_if(sets, [](const KernelSet& set) { return set.first_from(0) >= set.end(); });
  return sets;
}

}  // namespace dfsearch
