#include "support/plain_machine.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/plain_kernel.hpp"

namespace dfsearch::test {
namespace {

using plain::number;

struct Cut {
  double links;  // of dimension `dimension`
  double group;  // number of chips
  std::size_t dimension;
};

/// The dimensions with several members, as the names of the table: "R,SW".
struct Shape {
  std::string name;
  std::vector<double> n;
  std::vector<double> bandwidth;
};

Shape shape_of(const Problem& problem, const Mapping& mapping) {
  Shape shape;
  for (std::size_t d = 0; d < mapping.network.size(); ++d) {
    if (mapping.network[d].degree == 1) continue;
    const NetworkDimension& link = problem.system.network[d];
    const char* names[] = {"R", "FC", "SW"};
    shape.name += (shape.name.empty() ? "" : ",") +
                  std::string(names[static_cast<std::size_t>(link.topology)]);
    shape.n.push_back(number(mapping.network[d].degree));
    shape.bandwidth.push_back(link.bandwidth.in_base_units());
  }
  return shape;
}

/// The cuts of docs/model.md, (20): published machines one by one; all others are hierarchies, in
/// which each level is cut by itself.
std::vector<Cut> cuts_of(const Shape& shape) {
  const std::vector<double>& n = shape.n;
  double all = 1.0;
  for (const double degree : n) all *= degree;
  if (shape.name == "R") return {{2.0, all, 0}};
  if (shape.name == "R,R") return {{2.0 * n[0], all, 0}, {2.0 * n[1], all, 1}};
  if (shape.name == "R,R,R") {
    return {{2.0 * n[0] * n[1], all, 0}, {2.0 * n[0] * n[2], all, 1}, {2.0 * n[1] * n[2], all, 2}};
  }
  if (shape.name == "SW,SW,SW") {
    return {{n[0], n[0], 0}, {n[1], n[0] * n[1], 1}, {n[2], all, 2}};
  }
  if (shape.name == "R,SW") return {{2.0, n[0], 0}, {n[1], all, 1}};
  if (shape.name == "R,FC") return {{2.0, n[0], 0}, {n[1] * n[1] / 4.0, all, 1}};
  if (shape.name == "FC,FC") return {{n[0] * n[0] / 4.0, n[0], 0}, {n[1] * n[1] / 4.0, all, 1}};
  std::vector<Cut> cuts;
  std::string rest = shape.name + ",";
  double group = 1.0;
  for (std::size_t d = 0; d < n.size(); ++d) {
    const std::string name = rest.substr(0, rest.find(','));
    rest.erase(0, name.size() + 1);
    group *= n[d];
    cuts.push_back({name == "R" ? 2.0 : (name == "SW" ? n[d] : n[d] * n[d] / 4.0), group, d});
  }
  return cuts;
}

double pairs(const Problem& problem, const Shape& shape, double n) {
  const bool torus = shape.name.find_first_not_of("R,") == std::string::npos;
  switch (problem.equations.all_to_all_pairs) {
    case PairCount::HalfSquare:
      return n * n / 2.0;
    case PairCount::QuarterSquare:
      return n * n / 4.0;
    case PairCount::AllPairs:
      return n * (n - 1.0) / 2.0;
    case PairCount::Auto:
      break;
  }
  return torus ? n * n / 2.0 : n * n / 4.0;
}

double all_to_all(const Problem& problem, const Mapping& mapping, double pair) {
  const Shape shape = shape_of(problem, mapping);
  double slowest = 0.0;
  if (problem.equations.all_to_all == AllToAllTime::Bisection) {
    for (const Cut& cut : cuts_of(shape)) {
      const double bandwidth = shape.bandwidth[cut.dimension] * cut.links;
      slowest = std::max(slowest, pair * pairs(problem, shape, cut.group) / bandwidth);
    }
    return slowest;
  }
  const PlainGrid grid = plain_grid(problem, mapping);
  for (std::size_t d = 0; d < mapping.network.size(); ++d) {
    const double n = number(mapping.network[d].degree);
    if (n == 1.0) continue;
    const NetworkDimension& link = problem.system.network[d];
    double share = (n - 1.0) / n;
    if (link.topology == Topology::Ring) share = n / 8.0;
    const bool tori = problem.equations.gather != GatherOrder::InTurn;
    const bool both = problem.equations.directions == 2 || (tori && link.both_ways);
    if (link.topology == Topology::Ring && both) {
      share = n == 2.0 ? 0.5 : std::floor(n * n / 4.0) / (2.0 * n);
    }
    if (link.topology == Topology::FullyConnected) share = 1.0 / n;
    slowest = std::max(slowest, grid.x * grid.y * pair * share / link.bandwidth.in_base_units());
  }
  return slowest;
}

}  // namespace

namespace {

/// The dimensions that span the grid, innermost first.
std::vector<std::size_t> sides_of(const Problem& problem, const Mapping& mapping) {
  std::vector<std::size_t> sides;
  for (std::size_t d = 0; d < mapping.network.size(); ++d) {
    const bool counts = problem.equations.grid == GridSides::All || mapping.network[d].degree > 1;
    if (counts) sides.push_back(d);
  }
  return sides;
}

/// The panel along the last side, messages along the others; published at fixed dimensions.
double grid_time(const Problem& problem, const Mapping& mapping, double bytes, bool is_panel) {
  const PlainGrid grid = plain_grid(problem, mapping);
  const auto seconds = [&](std::size_t d) {
    const double part = bytes / (is_panel ? grid.x : grid.y);
    return part / problem.system.network[d].bandwidth.in_base_units();
  };
  if (problem.equations.grid == GridSides::All) {
    if (is_panel) return grid.x == 1.0 ? 0.0 : seconds(1);
    return grid.y == 1.0 ? 0.0 : seconds(0);
  }
  const bool pays_hops = problem.equations.latency == LatencyRule::Hops;
  const std::vector<std::size_t> sides = sides_of(problem, mapping);
  double slowest = 0.0;
  double latency = 0.0;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (is_panel != (i + 1 == sides.size())) continue;
    const NetworkDimension& link = problem.system.network[sides[i]];
    const bool hands_on = is_panel && link.topology == Topology::Ring;
    const double hops = hands_on ? number(mapping.network[sides[i]].degree) - 1.0 : 1.0;
    slowest = std::max(slowest, seconds(sides[i]));
    latency = std::max(latency, hops * link.latency.in_base_units());
  }
  return slowest + (pays_hops ? latency : 0.0);
}

}  // namespace

PlainGrid plain_grid(const Problem& problem, const Mapping& mapping) {
  PlainGrid grid;
  const std::vector<std::size_t> sides = sides_of(problem, mapping);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    (i + 1 < sides.size() ? grid.x : grid.y) *= number(mapping.network[sides[i]].degree);
  }
  return grid;
}

double plain_exchange_latency(const Problem& problem, const Mapping& mapping,
                              const std::vector<Strategy>& strategies) {
  double sum = 0.0;
  for (std::size_t d = 0; d < mapping.network.size(); ++d) {
    const auto [degree, strategy] = mapping.network[d];
    const bool counts = std::count(strategies.begin(), strategies.end(), strategy) > 0;
    if (!counts || degree == 1) continue;
    const NetworkDimension& link = problem.system.network[d];
    const auto half = static_cast<double>(degree / 2);
    sum += (link.topology == Topology::Ring ? half : 1.0) * link.latency.in_base_units();
  }
  return sum;
}

double plain_machine_time(const Problem& problem, const Mapping& mapping,
                          const Communication& communication) {
  const PlainGrid grid = plain_grid(problem, mapping);
  const double chips = grid.x * grid.y;
  const double bytes = communication.bytes.in_base_units();
  const bool pays_hops = problem.equations.latency == LatencyRule::Hops;
  const std::vector<Strategy> all{Strategy::Tensor, Strategy::Pipeline, Strategy::Data};
  const double latency = pays_hops ? plain_exchange_latency(problem, mapping, all) : 0.0;
  switch (communication.type) {
    case CommunicationType::AllToAll:
      return all_to_all(problem, mapping, bytes / chips) + latency;
    case CommunicationType::Transpose:
      return all_to_all(problem, mapping, bytes / chips / chips) + latency;
    case CommunicationType::GridBroadcast:
      return grid_time(problem, mapping, bytes, true);
    case CommunicationType::GridPointToPoint:
      return grid_time(problem, mapping, bytes, false);
    default:
      return 0.0;
  }
}

}  // namespace dfsearch::test
