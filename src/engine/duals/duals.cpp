#include "engine/duals/duals.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace dfsearch {

void keep_best(std::vector<PartitionColumn>& partitions, std::size_t most) {
  // Sets are large: each is moved once, and those that are dropped are not.
  using Place = std::tuple<FineTicks, std::int64_t, std::size_t>;
  std::vector<Place> order;
  order.reserve(partitions.size());
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    order.emplace_back(-partitions[i].excess, -partitions[i].size, i);
  }
  const auto kept = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, order.size()));
  std::nth_element(order.begin(), kept, order.end());
  std::sort(order.begin(), kept);
  std::vector<PartitionColumn> best;
  best.reserve(static_cast<std::size_t>(kept - order.begin()));
  for (auto place = order.begin(); place != kept; ++place) {
    best.push_back(std::move(partitions[std::get<2>(*place)]));
  }
  partitions = std::move(best);
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
    memory += fused ? -arc.opposite : arc.transfer;
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
