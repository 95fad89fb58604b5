// A new topology is a row.  (n - 1) / n and 1 - 1 / n are not the same double: the expressions are
// copied from the published runs, to the bit.

#include "model/machine/topology.hpp"

#include <cmath>
#include <cstddef>

namespace dfsearch {
namespace {

double one(double) { return 1.0; }
double two(double) { return 2.0; }
double degree(double n) { return n; }
double others(double n) { return n - 1.0; }
double nth(double n) { return 1.0 / n; }
double all_but_own(double n) { return (n - 1.0) / n; }

NetworkParts parts_of_ring(const PricedDimension& d) {
  return {.links = d.chips, .switch_ports = 2.0 * d.chips / d.n};
}

// A ring or switch sends all but the own part through one link; fully connected members send all
// parts at once, each over its own link.  In a ring the bisection binds an all-to-all, and the
// farthest member is half of the ring away.
constexpr TopologyRow kRing = {.name = "ring",
                               .before_degree = "ring of ",
                               .spans_grid = true,
                               .gathered = all_but_own,
                               .exchanged = [](double n) { return n / 8.0; },
                               .paired = [](double n) { return n * n / 8.0; },
                               .gather_hops = others,
                               .exchange_hops = [](double n) { return std::floor(n / 2.0); },
                               .published_hops = others,
                               .parts = parts_of_ring,
                               .published_parts = parts_of_ring,
                               .chip_ports = two,
                               .bisection = two};

constexpr TopologyRow kFullyConnected = {
    .name = "fully_connected",
    .before_degree = "fully connected ",
    .spans_grid = false,
    .gathered = nth,
    .exchanged = nth,
    .paired = one,
    .gather_hops = one,
    .exchange_hops = one,
    .published_hops = one,
    .parts =
        [](const PricedDimension& d) {
          return NetworkParts{.links = d.chips * (d.n - 1.0), .switch_ports = 0.0};
        },
    .published_parts =
        [](const PricedDimension& d) {
          return NetworkParts{.links = d.groups * (d.n - 1.0),
                              .switch_ports = d.innermost ? 0.0 : d.groups * d.n};
        },
    .chip_ports = others,
    .bisection = [](double n) { return n * n / 4.0; }};

constexpr TopologyRow kSwitch = {.name = "switch",
                                 .before_degree = "switch of ",
                                 .spans_grid = false,
                                 .gathered = all_but_own,
                                 .exchanged = all_but_own,
                                 .paired = [](double n) { return n / 4.0; },
                                 .gather_hops = one,
                                 .exchange_hops = one,
                                 .published_hops = others,
                                 .parts =
                                     [](const PricedDimension& d) {
                                       return NetworkParts{d.chips, d.chips};
                                     },
                                 .published_parts =
                                     [](const PricedDimension& d) {
                                       return NetworkParts{d.groups, d.groups};
                                     },
                                 .chip_ports = one,
                                 .bisection = degree};

// A line has the parts of the ring that it comes from.
constexpr TopologyRow kLine = {
    .name = "line",
    .before_degree = "line of ",
    .spans_grid = true,
    .gathered = all_but_own,
    .exchanged = [](double n) { return std::floor(n / 2.0) * std::ceil(n / 2.0) / n; },
    .paired = [](double n) { return std::floor(n / 2.0) * std::ceil(n / 2.0); },
    .gather_hops = others,
    .exchange_hops = others,
    .published_hops = others,
    .parts = parts_of_ring,
    .published_parts = parts_of_ring,
    .chip_ports = two,
    .bisection = one};

constexpr std::array kRows = {kRing, kFullyConnected, kSwitch, kLine};  // by Topology
static_assert(kRows.size() == kTopologies.size());

}  // namespace

const TopologyRow& row_of(Topology topology) { return kRows[static_cast<std::size_t>(topology)]; }

}  // namespace dfsearch
