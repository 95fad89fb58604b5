// Costs a fusion as the tree does: partition after partition, each kernel after its producers.
//
// Tested against evaluate and brute force: tests/engine/fusion/move_fusion_test.cpp.

#include "engine/fusion/partition_sequence.hpp"

namespace dfsearch {

PartitionSequence::PartitionSequence(const FusionTables& tables)
    : tables_(tables),
      rules_(tables),
      next_(tables, KernelSet(tables.size())),
      done_(tables.size()),
      fusion_{.time = tables.weight_loads(),
              .partition = std::vector<std::int64_t>(tables.size(), -1)} {}

bool PartitionSequence::close(const KernelSet& kernels) {
  const Unplaced unplaced = rules_.unplaced(done_);
  if (!rules_.open(next_index_, unplaced)) return false;
  const auto index = rules_.index_for(kernels, next_index_, unplaced);
  if (!index) return false;
  const Ticks time = capped_sum(fusion_.time, time_of_next(kernels));
  if (time >= kNever) {
    next_.take_out_all();
    return false;
  }
  next_.close();
  done_ |= kernels;
  fusion_.time = time;
  kernels.for_each([&](std::size_t p) { fusion_.partition[tables_.id(p).index()] = *index; });
  next_index_ = *index + 1;
  return true;
}

Ticks PartitionSequence::time_of_next(const KernelSet& kernels) {
  bool fits = true;
  kernels.for_each([&](std::size_t p) {
    const bool escapes = next_.kernels().empty() && tables_.kernel(p).escapes;
    const bool ready = next_.undecided(p) && next_.first_ready(p) == p;
    fits = fits && ready && (next_.fits(p) || escapes);
    if (fits) next_.put_in(p);
  });
  if (!fits) return kNever;
  const bool alone = next_.kernels().size() == 1;
  fits = next_.totals().sram <= tables_.sram() || alone;
  return fits && next_.fits_in_memory() ? next_.time(kNever - 1) : kNever;
}

std::optional<Fusion> fusion_of(const FusionTables& tables, const std::vector<KernelSet>& sets) {
  PartitionSequence sequence(tables);
  for (const KernelSet& kernels : sets) {
    tables.deadline().check();
    const bool is_empty = kernels.first_from(0) >= kernels.end();
    if (!is_empty && !sequence.close(kernels)) return std::nullopt;
  }
  return sequence.fusion();
}

}  // namespace dfsearch
