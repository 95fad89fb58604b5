#include "model/scope.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "model/layer/sharding.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

constexpr FixedBeforehand kLeastBytesSharding{
    .name = "sharding: least_bytes",
    .proved_for = "the sharding that communicates least",
    .untried = "other shardings",
    .searched_by = "search.sharding: joint",
};

/// Stages that divide the graph know no other way to choose it.
constexpr FixedBeforehand kLoopsOfStages{
    .name = kLeastBytesSharding.name,
    .proved_for = kLeastBytesSharding.proved_for,
    .untried = kLeastBytesSharding.untried,
    .searched_by = "",
};

bool has_choice_of_loops(const Problem& problem) {
  const std::vector<Kernel>& kernels = problem.workload.graph.kernels();
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const bool pinned = !problem.sharding_pins.empty() && problem.sharding_pins[k];
    if (!pinned && shardable_pairs(problem, kernels[k]).size() > 1) return true;
  }
  return false;
}

bool splits_kernels(const NetworkChoice& network) {
  return degree_of(network, Strategy::Tensor) > 1;
}

}  // namespace

bool sharding_matters(const Problem& problem, const std::vector<NetworkChoice>& networks) {
  return std::any_of(networks.begin(), networks.end(), splits_kernels) &&
         has_choice_of_loops(problem);
}

Scope scope_of(const Problem& problem, const std::vector<NetworkChoice>& networks) {
  Scope scope;
  if (problem.sharding == ShardingChoice::LeastBytes && sharding_matters(problem, networks)) {
    scope.push_back(problem.divides_graph() ? kLoopsOfStages : kLeastBytesSharding);
  }
  return scope;
}

std::string names_of(const Scope& scope) {
  std::string text;
  for (const FixedBeforehand& fixed : scope) {
    if (!text.empty()) text += ", ";
    text += fixed.name;
  }
  return text;
}

std::string proved_for(const Scope& scope) {
  std::string text;
  for (const FixedBeforehand& fixed : scope) {
    text += text.empty() ? " for " : " and ";
    text += fixed.proved_for;
  }
  return text;
}

std::string untried(const Scope& scope) {
  std::string text;
  for (const FixedBeforehand& fixed : scope) {
    if (!text.empty()) text += ", ";
    text += fixed.untried;
    if (!fixed.searched_by.empty()) text += " (" + std::string(fixed.searched_by) + ")";
  }
  return text + " were not tried";
}

}  // namespace dfsearch
