#include "model/machine/price_power.hpp"

#include <cstdint>

namespace dfsearch {
namespace {

/// Links and switch ports of dimension d, over the `chips` of one network.
/// docs/model.md (46)
NetworkParts parts_of(const Problem& problem, const std::vector<Mapping::Dimension>& network,
                      std::size_t d, double chips) {
  const bool published = problem.equations.links == LinkCount::PerGroup;
  if (!published && network[d].degree == 1) return {};
  PricedDimension dimension{.chips = chips,
                            .n = static_cast<double>(network[d].degree),
                            .groups = 1.0,
                            .innermost = d == 0};
  for (std::size_t outer = d; outer < network.size(); ++outer) {
    dimension.groups *= static_cast<double>(network[outer].degree);
  }
  const TopologyRow& row = row_of(problem.system.network[d].topology);
  return published ? row.published_parts(dimension) : row.parts(dimension);
}

/// Price and power share one rule: a sum of unit times amount.
/// docs/model.md (46)
template <class Sum, class Units>
Sum total(const Problem& problem, const std::vector<Mapping::Dimension>& network,
          const Units& units) {
  const System& system = problem.system;
  const std::int64_t copies = problem.workload.copies;
  const double chips = static_cast<double>(system.chips);
  const double copy_chips = chips / static_cast<double>(copies);
  Sum sum = units.accelerator * chips + units.memory * system.memory.bandwidth * chips;
  for (std::size_t d = 0; d < network.size(); ++d) {
    const NetworkParts parts = parts_of(problem, network, d, copy_chips);
    const BytesPerSecond bandwidth =
        system.network[d].bandwidth * static_cast<double>(copies);  // of all copies together
    // A single chip needs no links, up to four no switch.
    if (copy_chips > 1.0 && d < units.link.size()) sum += units.link[d] * bandwidth * parts.links;
    if (copy_chips > 4.0) sum += units.switch_port * bandwidth * parts.switch_ports;
  }
  return sum;
}

}  // namespace

Dollars system_price(const Problem& problem, const std::vector<Mapping::Dimension>& network) {
  return total<Dollars>(problem, network, problem.system.price);
}

Watts system_power(const Problem& problem, const std::vector<Mapping::Dimension>& network) {
  return total<Watts>(problem, network, problem.system.power);
}

}  // namespace dfsearch
