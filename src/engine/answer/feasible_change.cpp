// The least changes that make a problem feasible.
//
// The search itself decides whether a changed problem has a mapping; it stops at the first.  More
// memory or SRAM, and more partitions while the phases are separate, never take a mapping away, so
// the least sufficient value is bracketed by an insufficient and a sufficient one.  Steps alternate
// between the middle of the bracket and a value just below the need of the last mapping.  The
// latter usually closes the bracket after a few steps, since mappings have few different needs;
// otherwise bisection does.  Degrees, and numbers of partitions in halves, are not monotone and are
// tried one by one.

#include "engine/answer/explanations.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <variant>

#include "engine/mapping/mapping_problem.hpp"
#include "engine/stages/find_stages.hpp"
#include "engine/tree/branch_and_bound.hpp"
#include "model/evaluate.hpp"
#include "model/machine/network_choices.hpp"
#include "model/mapping_rules.hpp"

namespace dfsearch {
namespace {

// Nodes for each quantity, some seconds at most: kNodes, more for problems with many outer points,
// but never more than kMostNodes.
constexpr std::int64_t kNodes = 4'000;
constexpr std::int64_t kMostNodes = 40'000;
constexpr std::int64_t kTrialsOfAllPoints = 4;
constexpr std::int64_t kStepsPerNode = 1'000;

// More than any chip has; sums with it are exact.
constexpr double kPlenty = 0x1p50;
// Number of values that are tried one by one.
constexpr std::int64_t kTried = 64;

enum class Fit : std::uint8_t { No, Yes, Unknown };

struct Trial {
  Fit fit = Fit::Unknown;
  Mapping mapping;  // for Yes
  Cost cost;
};

/// Decides whether problems have a mapping, until the effort is spent.
class Trials {
 public:
  explicit Trials(const Allowance& allowance)
      : allowance_(allowance),
        // The search stops at the first mapping.
        limits_{.deadline = allowance.deadline, .nodes = kNodes, .gap = 1.0} {}

  /// Throws Stopped.
  Trial run(const Problem& problem) {
    Trial trial;
    if (limits_.nodes <= 0) return trial;
    limits_.deadline.check();
    if (problem.divides_graph()) return run_stages(problem);
    const MappingProblem search(problem, {.steps = kStepsPerNode}, {}, allowance_);
    if (search.networks().empty()) {
      trial.fit = Fit::No;
      return trial;
    }
    if (!std::exchange(begun_, true)) {
      const std::size_t points = search.networks().size() * outer_points(problem).size();
      limits_.nodes =
          std::clamp(kTrialsOfAllPoints * static_cast<std::int64_t>(points), kNodes, kMostNodes);
    }
    BranchAndBound<MappingProblem> tree(search, {.limits = limits_, .memory = allowance_.memory});
    const auto found = tree.run();
    // A problem without a single node counts as one node.
    limits_.nodes -= std::max<std::int64_t>(1, found.stats.nodes);
    if (found.solution) {
      trial.mapping = search.mapping(*found.solution);
      const auto verdict = evaluate(problem, trial.mapping);
      trial.cost = std::get<Cost>(verdict);
      trial.fit = Fit::Yes;
    } else if (found.stopped_by == StopReason::None) {
      trial.fit = Fit::No;
    } else {
      limits_.deadline.check();
    }
    return trial;
  }

  Trial run_stages(const Problem& problem) {
    Trial trial;
    if (network_choices(problem).empty()) {
      trial.fit = Fit::No;
      return trial;
    }
    SearchResult found = find_stages(problem, {.limits = limits_});
    limits_.nodes -= std::max<std::int64_t>(1, found.stats.nodes);
    if (found.mapping) {
      trial = {
          .fit = Fit::Yes, .mapping = *std::move(found.mapping), .cost = *std::move(found.cost)};
    } else if (found.status == SearchStatus::Infeasible) {
      trial.fit = Fit::No;
    } else {
      limits_.deadline.check();
    }
    return trial;
  }

  /// Returns Unknown in place of Stopped, so that the results so far count.
  Trial run_or_unknown(const Problem& problem) {
    try {
      return run(problem);
    } catch (const Stopped&) {
      return {};
    }
  }

 private:
  const Allowance allowance_;
  Limits limits_;
  bool begun_ = false;
};

/// A quantity whose least sufficient value is sought.
struct Quantity {
  double from = 0.0;
  double plenty = 0.0;
  std::function<Problem(double)> with;
  /// Upper bound on the mapping's need of the quantity.
  std::function<double(const Trial&)> need;
};

/// The least sufficient whole value of a quantity whose increase never takes a mapping away.
std::optional<FeasibleChange> least_enough(Raised what, const Quantity& quantity,
                                           const Allowance& allowance) {
  Trials trials(allowance);
  const Trial most = trials.run(quantity.with(quantity.plenty));
  if (most.fit != Fit::Yes) return std::nullopt;
  double too_little = std::floor(quantity.from);
  double enough = std::min(quantity.plenty, quantity.need(most));
  for (bool halve = false; enough - too_little > 1.0; halve = !halve) {
    const double value =
        halve ? too_little + std::floor((enough - too_little) / 2.0) : enough - 1.0;
    const Trial trial = trials.run_or_unknown(quantity.with(value));
    if (trial.fit == Fit::Unknown) break;
    if (trial.fit == Fit::Yes) {
      enough = std::min(value, quantity.need(trial));
    } else {
      too_little = value;
    }
  }
  return FeasibleChange{
      .what = what, .from = quantity.from, .at_least = too_little + 1.0, .enough = enough};
}

/// The first sufficient value of the ascending `values`.
std::optional<FeasibleChange> first_enough(FeasibleChange change,
                                           const std::vector<std::int64_t>& values,
                                           const std::function<Problem(std::int64_t)>& with,
                                           const Allowance& allowance) {
  Trials trials(allowance);
  double next = std::floor(change.from) + 1.0;  // the least value not yet proved insufficient
  for (const std::int64_t value : values) {
    const Fit fit = trials.run(with(value)).fit;
    const auto number = static_cast<double>(value);
    if (fit == Fit::Yes) {
      change.at_least = next;
      change.enough = number;
      return change;
    }
    if (fit == Fit::No && number == next) next = number + 1.0;
  }
  return std::nullopt;
}

std::vector<std::int64_t> one_by_one(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t v = first; v <= last; ++v) values.push_back(v);
  return values;
}

std::optional<FeasibleChange> more_memory(const Problem& problem, const Allowance& allowance) {
  const Bytes capacity = problem.system.memory[0].capacity;
  if (capacity == Bytes::infinity()) return std::nullopt;
  return least_enough(Raised::Memory,
                      {.from = capacity.in_base_units(),
                       .plenty = std::max(kPlenty, 2.0 * capacity.in_base_units()),
                       .with =
                           [&](double value) {
                             Problem changed = problem;
                             changed.system.memory[0].capacity = Bytes(value);
                             return changed;
                           },
                       .need =
                           [&](const Trial& trial) {
                             const Cost& cost = trial.cost;
                             Bytes need = cost.weights + cost.activations + cost.stored;
                             if (const MemoryTier* second = problem.system.second_memory())
                               need -= second->capacity;
                             return std::max(1.0, std::ceil(need.in_base_units()));
                           }},
                      allowance);
}

std::optional<FeasibleChange> more_sram(const Problem& problem, const Allowance& allowance) {
  return least_enough(Raised::Sram,
                      {.from = problem.system.accelerator.sram.in_base_units(),
                       .plenty = kPlenty,
                       .with =
                           [&](double value) {
                             Problem changed = problem;
                             changed.system.accelerator.sram = Bytes(value);
                             return changed;
                           },
                       .need =
                           [](const Trial& trial) {
                             double most = 0.0;
                             for (const PartitionCost& partition : trial.cost.partitions) {
                               most = std::max(most, std::ceil(partition.sram.in_base_units()));
                             }
                             return most;  // more than necessary if a weight is cut into pieces
                           }},
                      allowance);
}

std::optional<FeasibleChange> more_partitions(const Problem& problem, const Allowance& allowance) {
  if (problem.execution.style != Style::Dataflow) return std::nullopt;
  const std::int64_t limit = problem.partition_limit();
  const auto kernels = static_cast<std::int64_t>(problem.workload.graph.kernel_count());
  std::int64_t plenty = 2 * kernels;
  for (const auto& pin : problem.execution.pins) plenty = std::max(plenty, 2 * pin.value_or(0) + 2);
  if (plenty <= limit) return std::nullopt;
  const auto with = [&](std::int64_t partitions) {
    Problem changed = problem;
    changed.execution.partitions = partitions;
    return changed;
  };
  const auto from = static_cast<double>(limit);
  if (has_halves(problem)) {
    std::vector<std::int64_t> values = one_by_one(limit + 1, std::min(plenty, limit + kTried));
    if (values.back() < plenty) values.push_back(plenty);
    return first_enough({.what = Raised::Partitions, .from = from}, values, with, allowance);
  }
  return least_enough(Raised::Partitions,
                      {.from = from,
                       .plenty = static_cast<double>(plenty),
                       .with = [&](double value) { return with(static_cast<std::int64_t>(value)); },
                       .need =
                           [](const Trial& trial) {
                             const auto& partition = trial.mapping.partition;
                             return 1.0 + static_cast<double>(*std::max_element(partition.begin(),
                                                                                partition.end()));
                           }},
                      allowance);
}

std::optional<FeasibleChange> more_members(const Problem& problem, std::size_t dimension,
                                           const Allowance& allowance) {
  const NetworkDimension& old = problem.system.network[dimension];
  if (!old.degree) return std::nullopt;
  // The number of replicas changes only a chip's share of the data that all chips hold together.
  const bool replicas = given_strategy(problem, dimension) == Strategy::Data;
  if (replicas && problem.workload.stored == Bytes{}) return std::nullopt;
  const std::int64_t degree = *old.degree;
  std::vector<std::int64_t> values = one_by_one(degree + 1, degree + kTried);
  for (std::int64_t value = 2 * degree; value <= 1024 * degree; value *= 2) {
    if (value > values.back()) values.push_back(value);
  }
  return first_enough(
      {.what = Raised::Degree, .dimension = dimension, .from = static_cast<double>(degree)}, values,
      [&](std::int64_t value) {
        Problem changed = problem;
        changed.system.network[dimension].degree = value;
        changed.system.chips = problem.system.chips / degree * value;
        return changed;
      },
      allowance);
}

}  // namespace

FeasibleChanges feasible_changes(const Problem& problem, const Allowance& allowance) {
  FeasibleChanges changes;
  const auto add = [&](const std::optional<FeasibleChange>& change) {
    if (change) changes.list.push_back(*change);
  };
  try {
    add(more_memory(problem, allowance));
    add(more_sram(problem, allowance));
    add(more_partitions(problem, allowance));
    for (std::size_t d = 0; d < problem.system.network.size(); ++d) {
      add(more_members(problem, d, allowance));
    }
  } catch (const Stopped&) {
    changes.complete = false;
  }
  std::stable_sort(changes.list.begin(), changes.list.end(),
                   [](const FeasibleChange& a, const FeasibleChange& b) {
                     return a.enough * b.from < b.enough * a.from;
                   });
  return changes;
}

}  // namespace dfsearch
