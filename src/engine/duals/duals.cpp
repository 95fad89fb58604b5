#include "engine/duals/duals.hpp"

#include <algorithm>

namespace dfsearch {

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

FineTicks PartitionDuals::of_rest(const KernelSet& done) const {
  FineTicks sum = 0;
  for (std::size_t p = 0; p < kernels.size(); ++p) sum += done.contains(p) ? 0 : kernels[p];
  return sum;
}

FineTicks PartitionDuals::charges(const PartitionRules& rules, std::int32_t next_index) const {
  FineTicks sum = 0;
  for (std::size_t g = 0; g < rules.groups(); ++g) sum += charge[g] * rules.left(g, next_index);
  return sum;
}

void set_gains(const FusionTables& tables, PartitionDuals& duals) {
  const Overlap overlap = tables.problem().execution.overlap;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const KernelCosts& kernel = tables.kernel(p);
    const KernelParts own = parts(overlap, kernel.compute, kernel.network, kernel.explicit_memory);
    std::array<FineTicks, 3> gains{};
    for (std::size_t r = 0; r < gains.size(); ++r) {
      gains[r] = std::max<FineTicks>(0, duals.kernels[p] - own[r] * kFinePerTick);
    }
    duals.gains.push_back(gains);
  }
}

}  // namespace dfsearch
