#include "model/machine/price_power.hpp"

#include <cstdint>

namespace dfsearch {
namespace {

struct NetworkParts {
  double links = 0.0;
  double switch_ports = 0.0;
};

/// The published count of dimension d, over the `chips` of one network: an outer dimension has a
/// link and a port for each group of chips that it joins, whatever the times take.
/// docs/model.md (46)
NetworkParts published_parts(const System& system, const std::vector<Mapping::Dimension>& network,
                             std::size_t d, double chips) {
  double groups = 1.0;  // members that dimension d connects: n_d * n_{d+1} * ...
  for (std::size_t outer = d; outer < network.size(); ++outer) {
    groups *= static_cast<double>(network[outer].degree);
  }
  const double degree = static_cast<double>(network[d].degree);
  switch (system.network[d].topology) {
    case Topology::Ring:
      return {.links = chips, .switch_ports = 2.0 * chips / degree};
    case Topology::Switch:
      return {.links = groups, .switch_ports = groups};
    case Topology::FullyConnected:
      return {.links = groups * (degree - 1.0), .switch_ports = d == 0 ? 0.0 : groups * degree};
  }
  return {};
}

/// Links and switch ports of dimension d, over the `chips` of one network.
/// docs/model.md (46)
NetworkParts parts_of(const Problem& problem, const std::vector<Mapping::Dimension>& network,
                      std::size_t d, double chips) {
  if (problem.equations.links == LinkCount::PerGroup) {
    return published_parts(problem.system, network, d, chips);
  }
  const double degree = static_cast<double>(network[d].degree);
  if (network[d].degree == 1) return {};
  const TopologyRow& row = row_of(problem.system.network[d].topology);
  return {.links = row.links(chips, degree), .switch_ports = row.switch_ports(chips, degree)};
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
