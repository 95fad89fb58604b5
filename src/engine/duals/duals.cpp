#include "engine/duals/duals.hpp"

#include <algorithm>
#include <tuple>

namespace dfsearch {

FineTicks whole_fine_ticks(long double value) {
  return value < static_cast<long double>(kGreatestDual) ? static_cast<FineTicks>(value)
                                                         : kGreatestDual;
}

void keep_best(std::vector<PartitionColumn>& partitions, std::size_t most) {
  std::stable_sort(partitions.begin(), partitions.end(),
                   [](const PartitionColumn& a, const PartitionColumn& b) {
                     return std::tie(a.excess, a.size) > std::tie(b.excess, b.size);
                   });
  if (partitions.size() > most) partitions.resize(most);
}

KernelParts parts(Overlap overlap, Ticks compute, Ticks network, Ticks memory) {
  switch (overlap) {
    case Overlap::Perfect:
      return {compute, network, memory};
    case Overlap::ComputeMemory:
      return {compute + network, memory + network, 0};
    case Overlap::None:
      return {compute + network + memory, 0, 0};
  }
  return {};
}

void PartitionSums::add(const FusionTables& tables, const Duals& duals, std::size_t kernel,
                        const KernelSet& inside) {
  const KernelCosts& costs = tables.kernel(kernel);
  const auto join = [&](const Arc& arc) {
    const bool fused = inside.contains(arc.other);
    memory += fused ? -arc.transfer : arc.transfer;
    sram += fused ? arc.fused - arc.streamed : arc.streamed;
  };
  for (const Arc& arc : tables.inputs(kernel)) join(arc);
  for (const Arc& arc : tables.outputs(kernel)) join(arc);
  compute += costs.compute;
  network += costs.network;
  memory += costs.explicit_memory;
  dual += duals.kernels[kernel];
  sram += costs.weight;
  ++kernels;
}

}  // namespace dfsearch
