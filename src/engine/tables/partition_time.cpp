#include "engine/tables/partition_time.hpp"

#include <algorithm>

#include "model/layer/core_allocation.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

Ticks with_compute(const FusionTables& tables, const SummedTimes& sums, Ticks compute) {
  return overlapped(tables.problem().execution.overlap, compute,
                    tables.costs().with_latency(sums.memory), sums.network);
}

Ticks summed_compute(const FusionTables& tables, const SummedTimes& sums) {
  if (!tables.has_levels()) return sums.compute;
  LevelTicks levels{};
  std::copy(sums.on_chip.begin() + 1, sums.on_chip.end(), levels.begin());
  levels = tables.costs().with_latency(levels);
  return std::max(sums.on_chip[0], *std::max_element(levels.begin(), levels.end()));
}

}  // namespace

Ticks least_partition_time(const FusionTables& tables, const SummedTimes& sums) {
  return with_compute(tables, sums, summed_compute(tables, sums));
}

Ticks partition_time(const FusionTables& tables, const SummedTimes& sums,
                     std::span<const std::vector<CoreOption>* const> options) {
  if (options.empty()) return std::min(kNever, least_partition_time(tables, sums));
  const auto pace = least_cycles(options, tables.cores());
  if (!pace) return kNever;
  const Ticks cycles = tables.costs().cycle_time(*pace);
  const Ticks compute =
      tables.has_levels() ? std::max(summed_compute(tables, sums), cycles) : cycles;
  return std::min(kNever, with_compute(tables, sums, compute));
}

Ticks time_alone(const FusionTables& tables, std::size_t kernel) {
  const KernelCosts& costs = tables.kernel(kernel);
  SummedTimes sums;
  sums.add(costs);
  for (const Arc& arc : tables.inputs(kernel)) sums.memory += arc.transfer;
  for (const Arc& arc : tables.outputs(kernel)) sums.memory += arc.transfer;
  std::vector<const std::vector<CoreOption>*> options;
  if (costs.options != nullptr) options.push_back(costs.options);
  return partition_time(tables, sums, options);
}

}  // namespace dfsearch
