// What all enumerations share (engine/duals/partition_enumeration.cpp).

#include "engine/duals/partition_pricing.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "engine/duals/frontier_enumeration.hpp"
#include "engine/duals/kernel_classes.hpp"
#include "engine/duals/partition_enumeration.hpp"
#include "engine/tables/partition_time.hpp"

namespace dfsearch {
namespace {

// Along a frontier enumerations of smaller graphs are no shorter.
constexpr std::size_t kLarge = 32;

std::vector<std::uint32_t> given_order(const FusionTables& tables) {
  std::vector<std::uint32_t> order(tables.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

/// Next comes what leaves fewest kernels with tensors to later ones; of these the one whose
/// producers came last.
std::vector<std::uint32_t> narrow_order(const FusionTables& tables,
                                        const std::vector<KernelSet>& descendants) {
  std::vector<std::size_t> before(tables.size());  // kernels that come before and are not placed
  std::vector<std::size_t> consumers(tables.size());
  std::vector<std::size_t> places(tables.size());
  for (std::size_t p = 0; p < tables.size(); ++p) {
    consumers[p] = tables.outputs(p).size();
    descendants[p].for_each([&](std::size_t d) { before[d] += d != p; });
  }
  std::vector<std::uint32_t> ready;
  for (const std::uint32_t p : given_order(tables)) {
    if (before[p] == 0) ready.push_back(p);
  }
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const auto key = [&](std::uint32_t p) {
      std::int64_t more = tables.outputs(p).empty() ? 0 : 1;
      std::size_t last = 0;
      for (const Arc& arc : tables.inputs(p)) {
        more -= consumers[arc.other] == 1;
        last = std::max(last, places[arc.other] + 1);
      }
      return std::tuple(more, tables.size() - last, p);
    };
    const auto next = std::min_element(ready.begin(), ready.end(),
                                       [&](auto a, auto b) { return key(a) < key(b); });
    const std::uint32_t p = *next;
    *next = ready.back();
    ready.pop_back();
    places[p] = order.size();
    order.push_back(p);
    for (const Arc& arc : tables.inputs(p)) --consumers[arc.other];
    descendants[p].for_each([&](std::size_t d) {
      if (d != p && --before[d] == 0) ready.push_back(static_cast<std::uint32_t>(d));
    });
  }
  return order;
}

}  // namespace

PartitionPricing::Way PartitionPricing::way_for(const FusionTables& tables) {
  return tables.bounds().use(SearchBound::Frontier) && tables.size() >= kLarge &&
                 !are_mostly_alike(tables)
             ? Way::Frontier
             : Way::Topological;
}

PartitionPricing::PartitionPricing(const FusionTables& tables, Sets sets, Way way, SharedWork* work)
    : tables_(tables),
      work_(work),
      rules_(tables),
      descendants_(sets == Sets::Ordered ? tables.order().descendants()
                                         : tables.order().tensor_descendants()),
      exchanges_(sets == Sets::Ordered ? std::vector<KernelOrder::Exchange>{}
                                       : tables.order().exchanges()),
      exchanges_of_(tables.size()),
      order_(exchanges_.empty() ? narrow_order(tables, descendants_) : given_order(tables)),
      ancestors_(tables.size(), KernelSet(tables.size())),
      partners_(tables.size(), KernelSet(tables.size())),
      plans_(way == Way::Frontier ? frontier_plans(tables) : std::nullopt),
      memory_(
          tables.allowance().charge(2 * tables.size() * (sizeof(KernelSet) + tables.size() / 8))) {
  for (std::size_t e = 0; e < exchanges_.size(); ++e) {
    for (const auto& [earlier, later] : exchanges_[e]) {
      exchanges_of_[earlier].push_back(static_cast<std::uint32_t>(e));
      exchanges_of_[later].push_back(static_cast<std::uint32_t>(e));
    }
  }
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
  CountedCall call(tables_.allowance().efforts,
                   plans_ ? SearchBound::Frontier : SearchBound::Topological);
  Found found = plans_
                    ? FrontierEnumeration(tables_, *this, *plans_, duals, query, work, steps).run()
                    : PartitionEnumeration(tables_, *this, duals, query, work, steps).run();
  call.found(std::ssize(found.partitions));
  return found;
}

}  // namespace dfsearch
