#pragma once
// How the members of a network dimension are joined: all that times, latencies and amounts to pay
// take from the topology is one row of a table (docs/model.md, sections 5 and 8).

#include <array>
#include <cstdint>

namespace dfsearch {

enum class Topology : std::uint8_t { Ring, FullyConnected, Switch, Line };
inline constexpr std::array kTopologies = {Topology::Ring, Topology::FullyConnected,
                                           Topology::Switch, Topology::Line};

/// The parts of one dimension that are paid for.
struct NetworkParts {
  double links = 0.0;
  double switch_ports = 0.0;
};

/// A dimension of degree n in a network of `chips` chips.
struct PricedDimension {
  double chips;
  double n;
  double groups;  ///< of chips that it and the dimensions outside it join: n_d * n_{d+1} * ...
  bool innermost;
};

/// A topology with n members.  A member of a ring sends over one link each way, fully connected
/// members have a link to each other, members of a switch one to the switch; a line is a ring
/// without the link between its ends, such as a part of a torus.
struct TopologyRow {
  const char* name;
  const char* before_degree;  ///< in reports: "ring of ", to be followed by the degree

  /// Several of them span a grid: a cut divides all of it, and like neighbours may change places.
  bool spans_grid;

  /// The bytes over one link in an all-gather, as a share of the whole.
  double (*gathered)(double n);
  /// The bytes over one link in an all-to-all, as a share of all that a member sends.
  double (*exchanged)(double n);
  /// In an all-to-all, of the bytes of one pair: the published charge.
  double (*paired)(double n);

  /// Links that the first byte of an all-gather crosses one after the other, and of an all-to-all.
  double (*gather_hops)(double n);
  double (*exchange_hops)(double n);
  /// Hops of one pass of an all-reduce, as published latencies count them.
  double (*published_hops)(double n);

  /// Parts that are paid for: the parts that times assume, with links of its own for every chip,
  /// and the parts of published prices, where a group of chips that an outer dimension joins has
  /// the links of one chip.
  NetworkParts (*parts)(const PricedDimension& dimension);
  NetworkParts (*published_parts)(const PricedDimension& dimension);
  /// Ports that a chip needs itself.
  double (*chip_ports)(double n);

  /// Links that a cut through the middle of a group cuts.
  double (*bisection)(double n);
};

const TopologyRow& row_of(Topology topology);

}  // namespace dfsearch
