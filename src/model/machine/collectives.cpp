#include "model/machine/collectives.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace dfsearch {
namespace {

/// The pairs of `chips` chips whose messages cross a bisection.
double pairs(PairCount count, double chips, bool grid) {
  if (count == PairCount::Auto) count = grid ? PairCount::HalfSquare : PairCount::QuarterSquare;
  if (count == PairCount::HalfSquare) return chips * chips / 2.0;
  if (count == PairCount::QuarterSquare) return chips * chips / 4.0;
  return chips * (chips - 1.0) / 2.0;
}

}  // namespace

Collectives::Collectives(const Machine& system, const std::vector<Mapping::Dimension>& network,
                         std::optional<Strategy> strategy, const Equations& equations)
    : all_reduce_passes_(equations.all_reduce_passes),
      latency_(equations.latency),
      gather_(equations.gather),
      directions_(equations.directions) {
  for (std::size_t d = 0; d < network.size(); ++d) {
    if (network[d].strategy != strategy.value_or(network[d].strategy)) continue;
    if (network[d].degree == 1) continue;
    members_ *= network[d].degree;
    dimensions_.push_back({.topology = system.network[d].topology,
                           .degree = static_cast<double>(network[d].degree),
                           .bandwidth = system.network[d].bandwidth,
                           .latency = system.network[d].latency,
                           .both_ways = system.network[d].both_ways});
  }
  set_axes();
}

void Collectives::set_axes() {
  axes_.clear();
  const bool has_both = std::any_of(dimensions_.begin(), dimensions_.end(),
                                    [this](const Dimension& d) { return uses_both_ways(d); });
  if (gather_ != GatherOrder::AtOnce && !has_both) return;
  for (const Dimension& d : dimensions_) {
    // One direction of a ring is as fast as a line.
    const bool is_half = d.topology == Topology::Ring && !uses_both_ways(d);
    axes_.push_back({.topology = is_half ? Topology::Line : d.topology,
                     .n = d.degree,
                     .link = d.bandwidth,
                     .alpha = d.latency});
  }
}

Collectives::Collectives(std::vector<Dimension> dimensions) : dimensions_(std::move(dimensions)) {
  for (const Dimension& d : dimensions_) members_ *= static_cast<std::int64_t>(d.degree);
  set_axes();
}

Collectives Collectives::of_degrees(const std::vector<double>& degrees) const {
  Collectives parts = *this;
  parts.dimensions_.clear();
  parts.members_ = 1;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    if (degrees[d] <= 1.0) continue;
    parts.dimensions_.push_back(dimensions_[d]);
    parts.dimensions_.back().degree = degrees[d];
    parts.members_ *= static_cast<std::int64_t>(degrees[d]);
  }
  parts.set_axes();
  return parts;
}

// docs/collectives.md (2)
// docs/model.md (13)
Seconds Collectives::all_gather(Bytes whole) const {
  if (gather_ == GatherOrder::AtOnce) return collective::gather_at_once(axes_, whole);
  Seconds time{};
  for (std::size_t first = 0, end = 0; first < axes_.size(); first = end) {
    ++end;
    const auto is_torus = [&](std::size_t i) {
      const Dimension& d = dimensions_[i];
      return d.both_ways && !d.on_mesh && gather_ == GatherOrder::Tori;
    };
    while (end < axes_.size() && is_torus(first) && is_torus(end)) ++end;
    const std::span<const collective::Axis> torus(&axes_[first], end - first);
    time += collective::gather_at_once(torus, whole);
    for (const collective::Axis& axis : torus) whole = whole / axis.n;
  }
  if (!axes_.empty()) return time;
  double inner_members = 1.0;
  for (const Dimension& d : dimensions_) {
    const Bytes left = whole / inner_members;
    time += left * row_of(d.topology).gathered(d.degree) / d.bandwidth;
    inner_members *= d.degree;
  }
  return time;
}

// A reduce-scatter and an all-gather, each as long as the all-gather.
// docs/model.md (14)
Seconds Collectives::all_reduce(Bytes whole) const {
  return all_reduce_passes_ * all_gather(whole);
}

// docs/collectives.md (4)
// docs/model.md (15)
Seconds Collectives::all_to_all(Bytes member) const {
  Seconds slowest{};
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& d = dimensions_[i];
    if (uses_both_ways(d)) {
      slowest = std::max(slowest, collective::all_to_all({&axes_[i], 1}, member));
      continue;
    }
    const double share = row_of(d.topology).exchanged(d.degree);
    slowest = std::max(slowest, member * share / d.bandwidth);
  }
  return slowest;
}

// docs/model.md (16)
Seconds Collectives::all_to_all_per_pair(Bytes shard) const {
  Seconds slowest{};
  for (const Dimension& d : dimensions_) {
    slowest = std::max(slowest, shard * row_of(d.topology).paired(d.degree) / d.bandwidth);
  }
  return slowest;
}

// Each dimension is cut in halves, and the messages of all pairs on different sides share the links
// that are cut.  In a grid every cut divides the whole machine.  Any other network is a hierarchy:
// dimension d joins the chips of a group, as many as the product of the degrees up to d, and the
// cut divides one such group.
// docs/model.md (20)
Seconds Collectives::all_to_all_over_bisection(Bytes pair, PairCount count) const {
  const bool grid = std::all_of(dimensions_.begin(), dimensions_.end(),
                                [](const Dimension& d) { return row_of(d.topology).spans_grid; });
  double group = 1.0;
  Seconds slowest{};
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& d = dimensions_[i];
    group *= d.degree;
    const double links = grid ? cut_of_grid(i) : row_of(d.topology).bisection(d.degree);
    const double crossing = pairs(count, grid ? static_cast<double>(members_) : group, grid);
    slowest = std::max(slowest, pair * crossing / (d.bandwidth * links));
  }
  return slowest;
}

/// The links of a cut, in the published order: for tori of one, two and three dimensions x, y, z
/// these are 2, then 2x and 2y, then 2xy, 2xz and 2yz.
double Collectives::cut_of_grid(std::size_t cut) const {
  const std::size_t across = dimensions_.size() - 1 - cut;
  double links = row_of(dimensions_[across].topology).bisection(dimensions_[across].degree);
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    if (d != across) links *= dimensions_[d].degree;
  }
  return links;
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
  if (latency_ == LatencyRule::Hops) return 2.0 * gather_latency();
  Seconds sum{};
  for (const Dimension& d : dimensions_) {
    sum += 2.0 * d.latency * row_of(d.topology).published_hops(d.degree);
  }
  return sum;
}

// docs/model.md (18)
Seconds Collectives::gather_latency() const {
  Seconds sum{};
  if (latency_ == LatencyRule::AllReduces) return sum;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& d = dimensions_[i];
    sum += uses_both_ways(d) ? collective::latency({&axes_[i], 1}, collective::Kind::AllGather)
                             : d.latency * row_of(d.topology).gather_hops(d.degree);
  }
  return sum;
}

// docs/model.md (18)
Seconds Collectives::exchange_latency() const {
  Seconds sum{};
  if (latency_ == LatencyRule::AllReduces) return sum;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& d = dimensions_[i];
    sum += uses_both_ways(d) ? collective::latency({&axes_[i], 1}, collective::Kind::AllToAll)
                             : d.latency * row_of(d.topology).exchange_hops(d.degree);
  }
  return sum;
}

Seconds Collectives::message_latency() const {
  Seconds slowest{};
  for (const Dimension& d : dimensions_) slowest = std::max(slowest, d.latency);
  return slowest;
}

}  // namespace dfsearch
