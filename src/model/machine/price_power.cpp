#include "model/machine/price_power.hpp"

#include <cstddef>

namespace dfsearch {
namespace {

/// The degrees of a network, and how its links are counted.
struct Paid {
  std::vector<double> degrees;
  double copies = 1.0;
  LinkCount links = LinkCount::PerChip;
};

Paid paid_of(const Problem& problem, const std::vector<Mapping::Dimension>& network) {
  Paid paid{.degrees = {},
            .copies = static_cast<double>(problem.workload.copies),
            .links = problem.equations.links};
  for (const auto& d : network) paid.degrees.push_back(static_cast<double>(d.degree));
  return paid;
}

Paid paid_of(const Machine& machine) {
  Paid paid;
  for (const auto& d : machine.network) paid.degrees.push_back(static_cast<double>(*d.degree));
  return paid;
}

/// Links and switch ports of dimension d, over the `chips` of one network.
/// docs/model.md (46)
NetworkParts parts_of(Topology topology, const Paid& paid, std::size_t d, double chips) {
  const bool published = paid.links == LinkCount::PerGroup;
  const double n = paid.degrees[d];
  if (!published && n == 1.0) return {};
  double groups = 1.0;
  for (std::size_t outer = d; outer < paid.degrees.size(); ++outer) groups *= paid.degrees[outer];
  const PricedDimension dimension{.chips = chips, .n = n, .groups = groups, .innermost = d == 0};
  const TopologyRow& row = row_of(topology);
  return published ? row.published_parts(dimension) : row.parts(dimension);
}

NetworkParts parts_of(const NetworkDimension& dimension, const Paid& paid, std::size_t d,
                      double chips) {
  if (!dimension.mesh) return parts_of(dimension.topology, paid, d, chips);
  // A ring along each side, whose links at the rim count even if the mesh is not closed.
  NetworkParts parts;
  for (const std::int64_t side : {dimension.mesh->width, dimension.mesh->height}) {
    if (side == 1) continue;
    const NetworkParts ring = row_of(Topology::Ring)
                                  .parts({.chips = chips,
                                          .n = static_cast<double>(side),
                                          .groups = chips,
                                          .innermost = d == 0});
    parts.links += ring.links;
    parts.switch_ports += ring.switch_ports;
  }
  return parts;
}

/// Price and power share one rule: a sum of unit times amount.
/// docs/model.md (46)
template <class Sum, class Units>
Sum total(const Machine& system, const Paid& paid, const Units& units) {
  const double chips = static_cast<double>(system.chips);
  const double copy_chips = chips / paid.copies;
  Sum sum = units.accelerator * chips + units.memory * system.memory[0].bandwidth * chips;
  for (std::size_t d = 0; d < paid.degrees.size(); ++d) {
    const NetworkParts parts = parts_of(system.network[d], paid, d, copy_chips);
    // The bandwidth of all copies together.
    const BytesPerSecond bandwidth = system.network[d].bandwidth * paid.copies;
    // A single chip needs no links, and up to four chips need no switch.
    if (copy_chips > 1.0 && d < units.link.size()) sum += units.link[d] * bandwidth * parts.links;
    if (copy_chips > 4.0) sum += units.switch_port * bandwidth * parts.switch_ports;
  }
  return sum;
}

}  // namespace

Dollars system_price(const Problem& problem, const std::vector<Mapping::Dimension>& network) {
  return total<Dollars>(problem.system, paid_of(problem, network), problem.system.price);
}

Watts system_power(const Problem& problem, const std::vector<Mapping::Dimension>& network) {
  return total<Watts>(problem.system, paid_of(problem, network), problem.system.power);
}

Dollars system_price(const Machine& machine) {
  return total<Dollars>(machine, paid_of(machine), machine.price);
}

Watts system_power(const Machine& machine) {
  return total<Watts>(machine, paid_of(machine), machine.power);
}

}  // namespace dfsearch
