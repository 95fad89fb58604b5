#include "engine/fusion/ordered_fusion.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/fusion/open_partition.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {
namespace {

/// Whether SRAM holds it and memory what waits meanwhile.
bool fits(const FusionTables& tables, const KernelSet& done, const PartitionColumn& partition) {
  OpenPartition open(tables, done);
  bool fits = true;
  bool escapes = true;
  partition.kernels.for_each([&](std::size_t p) {
    fits = fits && open.fits(p);
    open.put_in(p);
    escapes = tables.kernel(p).escapes;
  });
  return (fits || (partition.size == 1 && escapes)) && open.fits_in_memory();
}

/// Whether all that comes before it is done, forward kernels before any backward one.
bool is_ready(const FusionTables& tables, const KernelSet& done, const KernelSet& kernels) {
  bool has_backward = false;
  kernels.for_each(
      [&](std::size_t p) { has_backward = has_backward || tables.kernel(p).backward; });
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (done.contains(p) || kernels.contains(p)) continue;
    if (has_backward && !tables.kernel(p).backward) return false;
    if (tables.descendants(p).intersects(kernels)) return false;
  }
  return true;
}

}  // namespace

OrderedFusion put_in_order(const FusionTables& tables, std::vector<const PartitionColumn*> left) {
  const PartitionRules rules(tables);
  KernelSet done(tables.size());
  std::shared_ptr<const ClosedPartition> last;
  Fusion fusion{.time = tables.weight_loads(), .partition = {}, .used = 0};
  std::int32_t next_index = 0;
  while (!left.empty()) {
    tables.deadline().check();
    const Unplaced unplaced = rules.unplaced(done);
    const bool may_go_on = rules.open(next_index, unplaced);
    std::optional<std::int32_t> index;
    bool any_ready = false;
    const auto found = std::find_if(left.begin(), left.end(), [&](const PartitionColumn* next) {
      if (!is_ready(tables, done, next->kernels)) return false;
      any_ready = true;
      if (!may_go_on || !fits(tables, done, *next)) return false;
      index = rules.index_for(next->kernels, next_index, unplaced);
      return index.has_value();
    });
    if (found == left.end()) return {.fusion = std::nullopt, .is_cyclic = !any_ready};
    last = std::make_shared<const ClosedPartition>(ClosedPartition{
        .previous = std::move(last), .kernels = KernelList((*found)->kernels), .index = *index});
    done |= (*found)->kernels;
    fusion.time += (*found)->time;
    ++fusion.used;
    next_index = *index + 1;
    left.erase(found);
  }
  fusion.partition = FusionTree(tables).assignment(last.get());
  return {.fusion = std::move(fusion), .is_cyclic = false};
}

}  // namespace dfsearch
