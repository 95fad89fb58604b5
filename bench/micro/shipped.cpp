#include "shipped.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "engine/tables/kernel_order.hpp"
#include "engine/tables/symmetry.hpp"

namespace dfsearch::bench {

Config load_shipped(const std::string& name) {
  return load_config(DFSEARCH_ROOT "/" + name + ".yaml", {});
}

const Solved& solved(const std::string& name) {
  static std::map<std::string, std::unique_ptr<const Solved>> known;
  std::unique_ptr<const Solved>& entry = known[name];
  if (!entry) {
    auto fresh = std::make_unique<Solved>();
    fresh->config = load_shipped(name);
    const SearchResult result = solve(fresh->problem(), {});
    if (result.status != SearchStatus::Optimal) throw std::runtime_error(name + ": no proof");
    fresh->best = *result.mapping;
    fresh->layer = result.cost->layer_ticks;
    fresh->point = {.tile = result.mapping->tile, .micro_batch = result.mapping->micro_batch};
    fresh->decisions = {.network = result.mapping->network,
                        .sharding = loop_sets(result.mapping->sharding),
                        .micro_batch = result.mapping->micro_batch,
                        .tile = result.mapping->tile};
    entry = std::move(fresh);
  }
  return *entry;
}

FusionTables tables_of(const Solved& solved) {
  const auto order = std::make_shared<const KernelOrder>(
      solved.graph(), find_exchanges(solved.problem(), loop_sets(solved.best.sharding)));
  return FusionTables(solved.problem(), solved.decisions, order);
}

std::vector<std::size_t> fullest_partition(const Solved& solved, const FusionTables& tables) {
  std::map<std::int64_t, std::vector<std::size_t>> partitions;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    partitions[solved.best.partition[tables.id(p).index()]].push_back(p);
  }
  const auto fullest = std::max_element(
      partitions.begin(), partitions.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  return fullest->second;
}

}  // namespace dfsearch::bench
