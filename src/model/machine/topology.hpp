#pragma once
// How the members of a network dimension are joined.  A topology is one row of a table, which has
// all that times, latencies and prices depend on (docs/model.md, sections 5 and 8).

#include <array>
#include <cmath>
#include <cstdint>

#include "base/words.hpp"

namespace dfsearch {

enum class Topology : std::uint8_t { Ring, FullyConnected, Switch, Line };

/// The parts of one dimension that are paid for.
struct NetworkParts {
  double links = 0.0;
  double switch_ports = 0.0;
};

/// A dimension of degree n in a network of `chips` chips.
struct PricedDimension {
  double chips;
  double n;
  double groups;  ///< the product of the degrees of this dimension and of all outer dimensions
  bool innermost;
};

/// A topology with n members.  A member of a ring has one link each way, fully connected members
/// have a link to each other member, and members of a switch have one link to the switch.  A line,
/// such as a part of a torus, is a ring without the link between its ends.
struct TopologyRow {
  Topology value;
  const char* name;
  const char* before_degree;  ///< in reports: "ring of ", to be followed by the degree

  /// Dimensions of this topology span a grid: a cut divides the whole grid, and equal neighbours
  /// may change places.
  bool spans_grid;

  /// The bytes over one link in an all-gather, as a share of the whole.
  double (*gathered)(double n);
  /// The bytes over one link in an all-to-all, as a share of all that a member sends.
  double (*exchanged)(double n);
  /// The bytes over one link in an all-to-all, as a multiple of the bytes of one pair; published
  /// runs charge them in this way.
  double (*paired)(double n);

  /// Links that the first byte of an all-gather, or of an all-to-all, crosses one after the other.
  double (*gather_hops)(double n);
  double (*exchange_hops)(double n);
  /// Hops of one pass of an all-reduce, as published latencies count them.
  double (*published_hops)(double n);

  /// The parts that are paid for.  `parts` are the parts that times assume: every chip has links of
  /// its own.  `published_parts` are the parts of published prices: a group of chips that an outer
  /// dimension joins has the links of one chip.
  NetworkParts (*parts)(const PricedDimension& dimension);
  NetworkParts (*published_parts)(const PricedDimension& dimension);
  /// Ports of one chip for this dimension.
  double (*chip_ports)(double n);

  /// Links that a cut through the middle of a group cuts.
  double (*bisection)(double n);
};

// (n - 1) / n and 1 - 1 / n are not the same double: the expressions are copied from the published
// runs, to the bit.
namespace topology {

inline double one(double) { return 1.0; }
inline double two(double) { return 2.0; }
inline double degree(double n) { return n; }
inline double others(double n) { return n - 1.0; }
inline double nth(double n) { return 1.0 / n; }
inline double all_but_own(double n) { return (n - 1.0) / n; }

inline NetworkParts parts_of_ring(const PricedDimension& d) {
  return {.links = d.chips, .switch_ports = 2.0 * d.chips / d.n};
}

// A member of a ring or switch sends all parts but its own over one link; fully connected members
// send all parts at once, each over another link.  In a ring the bisection binds an all-to-all, and
// the farthest member is half of the ring away.
inline constexpr TopologyRow kRing = {.value = Topology::Ring,
                                      .name = "ring",
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

inline constexpr TopologyRow kFullyConnected = {
    .value = Topology::FullyConnected,
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

inline constexpr TopologyRow kSwitch = {.value = Topology::Switch,
                                        .name = "switch",
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
inline constexpr TopologyRow kLine = [] {
  TopologyRow row = kRing;
  row.value = Topology::Line;
  row.name = "line";
  row.before_degree = "line of ";
  row.exchanged = [](double n) { return std::floor(n / 2.0) * std::ceil(n / 2.0) / n; };
  row.paired = [](double n) { return std::floor(n / 2.0) * std::ceil(n / 2.0); };
  row.exchange_hops = others;
  row.bisection = one;
  return row;
}();

}  // namespace topology

inline constexpr std::array kTopologyRows = {topology::kRing, topology::kFullyConnected,
                                             topology::kSwitch, topology::kLine};

constexpr auto words(Topology) { return words_of(kTopologyRows); }

constexpr const TopologyRow& row_of(Topology topology) { return row_with(kTopologyRows, topology); }

}  // namespace dfsearch
