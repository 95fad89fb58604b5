#include "model/collectives.hpp"

#include <algorithm>

namespace dfsearch {

Collectives::Collectives(const System& system, const std::vector<Mapping::Dimension>& network,
                         Strategy strategy, const Equations& equations)
    : all_reduce_passes_(equations.all_reduce_passes) {
  for (std::size_t d = 0; d < network.size(); ++d) {
    if (network[d].strategy != strategy || network[d].degree == 1) continue;
    members_ *= network[d].degree;
    dimensions_.push_back({.topology = system.network[d].topology,
                           .degree = static_cast<double>(network[d].degree),
                           .bandwidth = system.network[d].bandwidth});
  }
}

Seconds Collectives::all_gather(Bytes whole) const {
  Seconds time{};
  double inner_members = 1.0;
  for (const Dimension& d : dimensions_) {
    const Bytes left = whole / inner_members;
    // A ring or switch sends all but the own part through one link; fully
    // connected members send all parts at once, each over its own link.
    const double share =
        d.topology == Topology::FullyConnected ? 1.0 / d.degree : (d.degree - 1.0) / d.degree;
    time += left * share / d.bandwidth;
    inner_members *= d.degree;
  }
  return time;
}

// A reduce-scatter and an all-gather, each as long as the all-gather.
Seconds Collectives::all_reduce(Bytes whole) const {
  return all_reduce_passes_ * all_gather(whole);
}

Seconds Collectives::all_to_all(Bytes member) const {
  Seconds slowest{};
  for (const Dimension& d : dimensions_) {
    double share = 1.0 / d.degree;
    if (d.topology == Topology::Ring) share = d.degree / 8.0;  // its bisection binds
    if (d.topology == Topology::Switch) share = (d.degree - 1.0) / d.degree;
    slowest = std::max(slowest, member * share / d.bandwidth);
  }
  return slowest;
}

Seconds Collectives::all_to_all_per_pair(Bytes shard) const {
  Seconds slowest{};
  for (const Dimension& d : dimensions_) {
    double pairs = 1.0;
    if (d.topology == Topology::Ring) pairs = d.degree * d.degree / 8.0;
    if (d.topology == Topology::Switch) pairs = d.degree / 4.0;
    slowest = std::max(slowest, shard * pairs / d.bandwidth);
  }
  return slowest;
}

Seconds Collectives::point_to_point(Bytes message) const {
  Seconds slowest{};
  for (const Dimension& d : dimensions_) slowest = std::max(slowest, message / d.bandwidth);
  return slowest;
}

}  // namespace dfsearch
