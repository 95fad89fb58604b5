// All-to-all over the whole machine.
//
// Per dimension: chips first exchange along the innermost dimension, then along the
// next; each step moves all that a chip sends, Nc * a, and the steps of many
// messages overlap, so the slowest dimension counts.
//
// Bisection: cut the machine in halves along one dimension; the messages of all
// pairs on different sides share the links that are cut.  In a torus every cut
// divides the whole machine; in a hierarchy (anything else) dimension d joins groups
// of n_0 ... n_d chips and the cut divides one such group.

#include "model/layer/machine_network.hpp"

#include <algorithm>

namespace dfsearch {

MachineNetwork::MachineNetwork(const System& system, const std::vector<Mapping::Dimension>& network,
                               const Equations& equations)
    : grid_(chip_grid(network, equations)),
      sides_(equations.grid),
      time_(equations.all_to_all),
      pair_count_(equations.all_to_all_pairs),
      latency_(equations.latency) {
  for (std::size_t d = 0; d < network.size(); ++d) {
    links_.push_back(system.network[d].bandwidth);
    if (network[d].degree == 1) continue;
    dimensions_.push_back({.topology = system.network[d].topology,
                           .degree = static_cast<double>(network[d].degree),
                           .bandwidth = system.network[d].bandwidth,
                           .latency = system.network[d].latency});
  }
}

Seconds MachineNetwork::all_to_all(Bytes pair) const {
  if (dimensions_.empty()) return Seconds{};
  const Seconds time =
      time_ == AllToAllTime::PerDimension ? per_dimension(pair) : over_bisection(pair);
  return time + exchange_latency();
}

// docs/model.md (18)
Seconds MachineNetwork::exchange_latency() const {
  Seconds sum{};
  if (latency_ == LatencyRule::AllReduces) return sum;
  for (const Dimension& d : dimensions_) {
    sum += d.latency * row_of(d.topology).exchange_hops(d.degree);
  }
  return sum;
}

// docs/model.md (19)
Seconds MachineNetwork::per_dimension(Bytes pair) const {
  const Bytes sent = pair * static_cast<double>(grid_.chips());
  Seconds slowest{};
  for (const Dimension& d : dimensions_) {
    slowest = std::max(slowest, sent * row_of(d.topology).exchanged(d.degree) / d.bandwidth);
  }
  return slowest;
}

bool MachineNetwork::is_torus() const {
  return std::all_of(dimensions_.begin(), dimensions_.end(),
                     [](const Dimension& d) { return d.topology == Topology::Ring; });
}

double MachineNetwork::pairs(double chips) const {
  switch (pair_count_) {
    case PairCount::HalfSquare:
      return chips * chips / 2.0;
    case PairCount::QuarterSquare:
      return chips * chips / 4.0;
    case PairCount::AllPairs:
      return chips * (chips - 1.0) / 2.0;
    case PairCount::Auto:
      break;
  }
  return is_torus() ? chips * chips / 2.0 : chips * chips / 4.0;
}

/// Links that a cut of a torus cuts: 2 | 2x ; 2y | 2xy ; 2xz ; 2yz.
double MachineNetwork::torus_links(std::size_t cut) const {
  const std::size_t count = dimensions_.size();
  if (count == 1) return 2.0;
  if (count == 2) return 2.0 * dimensions_[cut].degree;
  double links = 2.0;
  for (std::size_t d = 0; d < count; ++d) {
    if (d != count - 1 - cut) links *= dimensions_[d].degree;
  }
  return links;
}

// docs/model.md (20)
Seconds MachineNetwork::over_bisection(Bytes pair) const {
  const bool torus = is_torus();
  double group = 1.0;
  Seconds slowest{};
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& d = dimensions_[i];
    group *= d.degree;
    const double links = torus ? torus_links(i) : row_of(d.topology).bisection(d.degree);
    const double crossing = pairs(torus ? static_cast<double>(grid_.chips()) : group);
    slowest = std::max(slowest, pair * crossing / (d.bandwidth * links));
  }
  return slowest;
}

// docs/model.md (21)
Seconds MachineNetwork::grid_broadcast(Bytes bytes) const {
  const Bytes panel = bytes / static_cast<double>(grid_.x);
  if (sides_ == GridSides::All) {
    return grid_.x == 1 || links_.size() < 2 ? Seconds{} : panel / links_[1];
  }
  if (dimensions_.empty()) return Seconds{};
  const Dimension& side = dimensions_.back();
  const bool pays = latency_ == LatencyRule::Hops;
  const double hops = pays ? row_of(side.topology).gather_hops(side.degree) : 0.0;
  return panel / side.bandwidth + side.latency * hops;
}

// docs/model.md (22)
Seconds MachineNetwork::grid_point_to_point(Bytes bytes) const {
  const Bytes message = bytes / static_cast<double>(grid_.y);
  if (sides_ == GridSides::All) {
    return grid_.y == 1 || links_.empty() ? Seconds{} : message / links_[0];
  }
  Seconds slowest{};
  Seconds longest{};
  for (std::size_t d = 0; d + 1 < dimensions_.size(); ++d) {
    slowest = std::max(slowest, message / dimensions_[d].bandwidth);
    longest = std::max(longest, dimensions_[d].latency);
  }
  return latency_ == LatencyRule::Hops ? slowest + longest : slowest;
}

}  // namespace dfsearch
