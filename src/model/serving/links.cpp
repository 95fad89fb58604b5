// (10) and (11) of docs/serving.md.  The row of a topology gives the amounts on a link.

#include "model/serving/links.hpp"

#include <algorithm>

namespace dfsearch::serving {

std::vector<Links::Part> Links::parts(std::int64_t members) const {
  std::vector<Part> parts;
  for (const NetworkDimension& dimension : pool_.machine.network) {
    const std::int64_t here = std::min(members, dimension.degree.value_or(members));
    if (here > 1) parts.push_back({&dimension, static_cast<double>(here)});
    members /= here;
  }
  return parts;
}

double Links::rate(const NetworkDimension& dimension) const {
  return dimension.bandwidth.in_base_units() * pool_.engine.shares.network;
}

/// Number of link directions that a gather uses: two on a whole ring of a torus, otherwise one.
double Links::ways(const NetworkDimension& dimension, double members) {
  const bool is_whole = members == static_cast<double>(dimension.degree.value_or(0));
  const bool is_ring = dimension.topology == Topology::Ring && is_whole && members > 2.0;
  return dimension.both_ways && is_ring ? 2.0 : 1.0;
}

bool Links::holds(std::int64_t members) const {
  for (const NetworkDimension& dimension : pool_.machine.network) {
    const std::int64_t degree = dimension.degree.value_or(members);
    if (members <= degree) return true;
    if (members % degree != 0) return false;
    members /= degree;
  }
  return members == 1;
}

LinkTime Links::all_reduce(std::int64_t members) const {
  LinkTime time;
  double inner = 1.0;
  for (const auto& [dimension, n] : parts(members)) {
    const TopologyRow& row = row_of(dimension->topology);
    time.fixed += 2.0 * row.gather_hops(n) * dimension->latency.in_base_units();
    time.per_byte += 2.0 * row.gathered(n) / inner / (ways(*dimension, n) * rate(*dimension));
    inner *= n;
  }
  return time;
}

LinkTime Links::all_to_all(std::int64_t members, double leaving) const {
  LinkTime time;
  double inner = 1.0;
  for (const auto& [dimension, n] : parts(members)) {
    const TopologyRow& row = row_of(dimension->topology);
    // The greater of two limits: the bytes that a chip sends in one direction, and the bisection.
    const double share = std::max(row.gathered(n), row.exchanged(n));
    time.fixed += row.gather_hops(n) * dimension->latency.in_base_units();
    const double sent = inner > 1.0 ? leaving : 1.0;
    time.per_byte += sent * share * inner * n / static_cast<double>(members) / rate(*dimension);
    inner *= n;
  }
  return time;
}

std::int64_t Links::groups(std::int64_t members) const {
  const std::vector<NetworkDimension>& network = pool_.machine.network;
  if (network.empty()) return 1;
  return members / std::min(members, network[0].degree.value_or(members));
}

LinkTime Links::hop(std::int64_t stage_chips) const {
  const std::vector<NetworkDimension>& network = pool_.machine.network;
  if (network.empty()) return {};
  const bool beyond = network.size() > 1 && network[0].degree && stage_chips >= *network[0].degree;
  const NetworkDimension& dimension = network[beyond ? 1 : 0];
  return {.fixed = dimension.latency.in_base_units(), .per_byte = 1.0 / rate(dimension)};
}

}  // namespace dfsearch::serving
