#include "model/layer/machine_network.hpp"

#include <algorithm>

namespace dfsearch {

MachineNetwork::MachineNetwork(const Machine& system,
                               const std::vector<Mapping::Dimension>& network,
                               const Equations& equations, int tensor_axes)
    : grid_(chip_grid(network, equations, tensor_axes)),
      sides_(equations.grid),
      all_(system, network, std::nullopt, equations),
      time_(equations.all_to_all),
      pair_count_(equations.all_to_all_pairs),
      pays_hops_(equations.latency == LatencyRule::Hops) {
  for (std::size_t d = 0; d < network.size(); ++d) links_.push_back(system.network[d].bandwidth);
}

Collectives MachineNetwork::group(const std::vector<std::int64_t>& counts) const {
  std::vector<double> degrees;
  std::size_t at = 0;
  std::int64_t count = counts.empty() ? 1 : counts.front();
  for (const Collectives::Dimension& dimension : all_.dimensions()) {
    auto places = static_cast<std::int64_t>(dimension.degree);
    std::int64_t members = 1;
    while (places > 1 && at < counts.size()) {
      // A count takes as many of the places as it can, even if it does not divide them.
      const std::int64_t part = std::min(count, places);
      if (at % 2 == 0) members *= part;
      places /= part;
      count = (count + part - 1) / part;
      if (count == 1 && ++at < counts.size()) count = counts[at];
    }
    degrees.push_back(static_cast<double>(members));
  }
  return all_.of_degrees(degrees);
}

// AllToAllTime::PerDimension: chips exchange along the innermost dimension first, then along the
// next.  Each step moves all bytes that a chip sends, and the steps of many messages overlap.
// docs/model.md (18), (19)
Seconds MachineNetwork::all_to_all(Bytes pair) const {
  const Seconds time = time_ == AllToAllTime::PerDimension
                           ? all_.all_to_all(pair * static_cast<double>(grid_.chips()))
                           : all_.all_to_all_over_bisection(pair, pair_count_);
  return time + all_.exchange_latency();
}

// docs/model.md (21)
Seconds MachineNetwork::grid_broadcast(Bytes bytes) const {
  const Bytes panel = bytes / static_cast<double>(grid_.x);
  if (sides_ == GridSides::All) {
    return grid_.x == 1 || links_.size() < 2 ? Seconds{} : panel / links_[1];
  }
  if (all_.dimensions().empty()) return Seconds{};
  const Collectives::Dimension& side = all_.dimensions().back();
  const double hops = pays_hops_ ? row_of(side.topology).gather_hops(side.degree) : 0.0;
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
  for (std::size_t d = 0; d + 1 < all_.dimensions().size(); ++d) {
    slowest = std::max(slowest, message / all_.dimensions()[d].bandwidth);
    longest = std::max(longest, all_.dimensions()[d].latency);
  }
  return pays_hops_ ? slowest + longest : slowest;
}

}  // namespace dfsearch
