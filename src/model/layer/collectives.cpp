#include "model/layer/collectives.hpp"

#include <algorithm>
#include <utility>

namespace dfsearch {

double exchanged_share(Topology topology, double degree) {
  switch (topology) {
    case Topology::Ring:
      return degree / 8.0;  // its bisection binds
    case Topology::FullyConnected:
      return 1.0 / degree;
    case Topology::Switch:
      break;
  }
  return (degree - 1.0) / degree;
}

Collectives::Collectives(const System& system, const std::vector<Mapping::Dimension>& network,
                         Strategy strategy, const Equations& equations)
    : all_reduce_passes_(equations.all_reduce_passes) {
  for (std::size_t d = 0; d < network.size(); ++d) {
    if (network[d].strategy != strategy || network[d].degree == 1) continue;
    members_ *= network[d].degree;
    dimensions_.push_back({.topology = system.network[d].topology,
                           .degree = static_cast<double>(network[d].degree),
                           .bandwidth = system.network[d].bandwidth,
                           .latency = system.network[d].latency});
  }
}

Collectives::Collectives(std::vector<Dimension> dimensions) : dimensions_(std::move(dimensions)) {
  for (const Dimension& d : dimensions_) members_ *= static_cast<std::int64_t>(d.degree);
}

// docs/model.md (13)
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
// docs/model.md (14)
Seconds Collectives::all_reduce(Bytes whole) const {
  return all_reduce_passes_ * all_gather(whole);
}

// docs/model.md (15)
Seconds Collectives::all_to_all(Bytes member) const {
  Seconds slowest{};
  for (const Dimension& d : dimensions_) {
    slowest = std::max(slowest, member * exchanged_share(d.topology, d.degree) / d.bandwidth);
  }
  return slowest;
}

// docs/model.md (16)
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

// docs/model.md (17)
Seconds Collectives::point_to_point(Bytes message) const {
  Seconds slowest{};
  for (const Dimension& d : dimensions_) slowest = std::max(slowest, message / d.bandwidth);
  return slowest;
}

// docs/model.md (23)
Seconds Collectives::flat_all_reduce(Bytes whole, std::optional<BytesPerSecond> given) const {
  if (dimensions_.empty()) return Seconds{};
  BytesPerSecond slowest = dimensions_.front().bandwidth;
  for (const Dimension& d : dimensions_) slowest = std::min(slowest, d.bandwidth);
  return all_reduce_passes_ * whole / given.value_or(slowest);
}

// docs/model.md (18)
Seconds Collectives::all_reduce_latency() const {
  Seconds sum{};
  for (const Dimension& d : dimensions_) sum += 2.0 * (d.degree - 1.0) * d.latency;
  return sum;
}

Seconds Collectives::message_latency() const {
  Seconds slowest{};
  for (const Dimension& d : dimensions_) slowest = std::max(slowest, d.latency);
  return slowest;
}

Seconds Collectives::gather_latency() const {
  Seconds sum{};
  for (const Dimension& d : dimensions_) {
    sum += d.latency * (d.topology == Topology::Ring ? d.degree - 1.0 : 1.0);
  }
  return sum;
}

}  // namespace dfsearch
