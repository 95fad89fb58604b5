#include "engine/duals/partition_pricing.hpp"

#include "engine/duals/frontier_enumeration.hpp"
#include "engine/tables/partition_time.hpp"

namespace dfsearch {

PartitionPricing::PartitionPricing(const FusionTables& tables, Sets sets, SharedWork* work)
    : tables_(tables),
      work_(work),
      rules_(tables),
      descendants_(sets == Sets::Ordered ? tables.order().descendants()
                                         : tables.order().tensor_descendants()),
      ancestors_(tables.size(), KernelSet(tables.size())),
      partners_(tables.size(), KernelSet(tables.size())),
      plans_(frontier_plans(tables)),
      memory_(
          tables.allowance().charge(2 * tables.size() * (sizeof(KernelSet) + tables.size() / 8))) {
  for (std::size_t p = 0; p < tables.size(); ++p) {
    tables.deadline().check();
    descendants_[p].for_each([&](std::size_t d) { ancestors_[d].insert(p); });
    for (std::size_t q = 0; q < p; ++q) {
      if (!tables.may_share(q, p, descendants_)) continue;
      partners_[p].insert(q);
      partners_[q].insert(p);
    }
  }
}

Ticks PartitionPricing::time_alone(std::size_t p) const {
  const KernelCosts& kernel = tables_.kernel(p);
  SummedTimes sums{.compute = kernel.compute,
                   .network = kernel.network,
                   .memory = kernel.explicit_memory,
                   .on_chip = kernel.on_chip};
  for (const Arc& arc : tables_.inputs(p)) sums.memory += arc.transfer;
  for (const Arc& arc : tables_.outputs(p)) sums.memory += arc.transfer;
  std::vector<const std::vector<CoreOption>*> options;
  if (kernel.options != nullptr) options.push_back(kernel.options);
  return partition_time(tables_, sums, options);
}

Ticks PartitionPricing::time(const KernelSet& kernels, Ticks compute, Ticks network,
                             Ticks memory) const {
  SummedTimes sums{.compute = compute, .network = network, .memory = memory};
  std::vector<const std::vector<CoreOption>*> options;
  kernels.for_each([&](std::size_t p) {
    const KernelCosts& kernel = tables_.kernel(p);
    if (kernel.options != nullptr) options.push_back(kernel.options);
    for (std::size_t x = 0; x < sums.on_chip.size(); ++x) sums.on_chip[x] += kernel.on_chip[x];
  });
  return partition_time(tables_, sums, options);
}

PartitionColumn PartitionPricing::alone(std::size_t kernel, const Duals& duals) const {
  PartitionColumn column{.kernels = KernelSet(tables_.size()), .size = 1};
  column.kernels.insert(kernel);
  column.group = group(column.kernels);
  column.time = time_alone(kernel);
  column.excess = duals.kernels[kernel] - column.time * kFinePerTick - duals.charge[column.group];
  return column;
}

PartitionPricing::Found PartitionPricing::find(const Duals& duals, const Query& query,
                                               std::int64_t& steps) const {
  SharedWork alone;
  SharedWork& work = work_ != nullptr ? *work_ : alone;
  CountedCall call(tables_.allowance().efforts, SearchBound::Frontier);
  Found found = FrontierEnumeration(tables_, *this, *plans_, duals, query, work, steps).run();
  call.found(std::ssize(found.partitions));
  return found;
}

}  // namespace dfsearch
