#include "model/machine/network_choices.hpp"

#include <algorithm>

#include "base/counts.hpp"
#include "base/error.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kChoicesBetweenLooks = 10'000;  // about a millisecond
constexpr Strategy kStrategies[] = {Strategy::Tensor, Strategy::Pipeline, Strategy::Data};

bool divides_batch(const Problem& problem, const NetworkChoice& network) {
  const std::int64_t data = degree_of(network, Strategy::Data);
  const Workload& workload = problem.workload;
  return workload.global_batch % data == 0 &&
         workload.global_batch / data % workload.micro_batch.value_or(1) == 0;
}

/// Whether a kernel is spread over all chips or talks to all of them.
bool uses_whole_machine(const DataflowGraph& graph) {
  const auto of_machine = [](const std::optional<Communication>& own) {
    return own && (is_of_machine(own->type) || !own->group.empty());
  };
  return std::any_of(graph.kernels().begin(), graph.kernels().end(), [&](const Kernel& kernel) {
    return kernel.spread != Spread::Tensor || of_machine(kernel.communication) ||
           of_machine(kernel.second_communication);
  });
}

bool alike(const Machine& system, std::size_t d, std::size_t e) {
  const NetworkDimension& x = system.network[d];
  const NetworkDimension& y = system.network[e];
  const auto same_unit = [&](const auto& units) {
    return units.size() <= std::max(d, e) || units[d] == units[e];
  };
  return x.topology == y.topology && row_of(x.topology).spans_grid && x.bandwidth == y.bandwidth &&
         x.latency == y.latency && !x.degree && !y.degree && !x.strategy && !y.strategy &&
         same_unit(system.price.link) && same_unit(system.power.link);
}

class NetworkEnumeration {
 public:
  NetworkEnumeration(const Problem& problem, const Deadline& deadline)
      : problem_(problem),
        deadline_(deadline, kChoicesBetweenLooks),
        divisors_(divisors(problem.chips_per_copy())),
        ordered_rings_(uses_whole_machine(problem.workload.graph)) {}

  std::vector<NetworkChoice> run() {
    if (problem_.chips_per_copy() > 0) extend(problem_.chips_per_copy());
    return std::move(found_);
  }

 private:
  void extend(std::int64_t chips_left) {
    deadline_.check();
    const std::size_t d = network_.size();
    if (d == problem_.system.network.size()) {
      if (chips_left == 1 && allows(problem_, network_) && divides_batch(problem_, network_)) {
        found_.push_back(network_);
      }
      return;
    }
    const NetworkDimension& dimension = problem_.system.network[d];
    const bool ordered = d > 0 && !ordered_rings_ && alike(problem_.system, d - 1, d);
    for (const std::int64_t degree : divisors_) {
      if (chips_left % degree != 0 || dimension.degree.value_or(degree) != degree) continue;
      for (const Strategy strategy : kStrategies) {
        if (given_strategy(problem_, d).value_or(strategy) != strategy) continue;
        const Mapping::Dimension choice{.degree = degree, .strategy = strategy};
        // Orders of equal rings have equal price and time: only the ascending order is listed.
        if (ordered && choice < network_.back()) continue;
        network_.push_back(choice);
        extend(chips_left / degree);
        network_.pop_back();
      }
    }
  }

  const Problem& problem_;
  PacedDeadline deadline_;
  const std::vector<std::int64_t> divisors_;
  const bool ordered_rings_;  // whether orders of equal rings differ in time
  NetworkChoice network_;
  std::vector<NetworkChoice> found_;
};

}  // namespace

Parallelism parallelism_of(const NetworkChoice& network) {
  return {.tensor = degree_of(network, Strategy::Tensor),
          .pipeline = degree_of(network, Strategy::Pipeline),
          .data = degree_of(network, Strategy::Data)};
}

std::vector<NetworkChoice> network_choices(const Problem& problem, const Deadline& deadline) {
  return NetworkEnumeration(problem, deadline).run();
}

void require_network(const std::vector<NetworkChoice>& networks) {
  if (!networks.empty()) return;
  throw InputError(
      "network: no degrees and strategies have the number of chips as product, a data degree that "
      "divides the global batch and the parallelism allowed");
}

std::optional<Strategy> given_strategy(const Problem& problem, std::size_t dimension) {
  switch (problem.workload.network_use) {
    case NetworkUse::Tensor:
      return Strategy::Tensor;
    case NetworkUse::Data:
      return Strategy::Data;
    case NetworkUse::Free:
      break;
  }
  return problem.system.network[dimension].strategy;
}

bool allows(const Problem& problem, const NetworkChoice& network) {
  const Machine& system = problem.system;
  if (network.size() != system.network.size()) return false;
  std::int64_t chips = 1;
  for (std::size_t d = 0; d < network.size(); ++d) {
    const NetworkDimension& dimension = system.network[d];
    if (dimension.degree.value_or(network[d].degree) != network[d].degree) return false;
    if (given_strategy(problem, d).value_or(network[d].strategy) != network[d].strategy) {
      return false;
    }
    if (network[d].degree < 1 || __builtin_mul_overflow(chips, network[d].degree, &chips)) {
      return false;
    }
  }
  if (chips != problem.chips_per_copy()) return false;
  return std::all_of(std::begin(kStrategies), std::end(kStrategies), [&](Strategy strategy) {
    return problem.parallelism[static_cast<std::size_t>(strategy)].allows(
        degree_of(network, strategy));
  });
}

}  // namespace dfsearch
