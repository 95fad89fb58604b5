// The sharding of least communicated bytes, exactly.
//
// Bytes are a sum of one term per kernel (its own all-reduce) and one per tensor
// (the conversion between two layouts): a weighted constraint graph whose
// variables are the kernels with a choice.  Such a sum is minimised by
// eliminating variables one after the other (bucket elimination, Dechter 1999):
// all terms that mention the variable are added, its best value is taken for
// every combination of its neighbours, and the result is a new term over these.
// Layers are nearly series-parallel, so the tables stay tiny.  Where they would
// not, one variable is tried value by value instead, which is slower and as exact.
//
// Ties: among all optima the one that is first in the order of `Loop`, kernel by
// kernel.  It is found by fixing kernels in list order to their first value that
// still reaches the optimum of their connected component.
//
// Against brute force: tests/model/least_bytes_sharding_test.cpp.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "model/sharding.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kLargestTable = std::size_t{1} << 18;

/// A term over a few variables: one value for each combination of theirs, the
/// first variable running slowest.
struct Term {
  std::vector<std::size_t> variables;  // ascending
  std::vector<double> values;
};

class Elimination {
 public:
  Elimination(std::vector<std::size_t> domain_sizes, std::vector<Term> terms)
      : sizes_(std::move(domain_sizes)), terms_(std::move(terms)) {}

  /// The least sum over all assignments of `variables`, which all terms are
  /// about.
  double minimum(std::vector<std::size_t> variables) && {
    while (!variables.empty()) {
      const std::size_t best = cheapest(variables);
      const std::vector<std::size_t> scope = neighbours(variables[best]);
      if (table_size(scope) > kLargestTable) {
        return split(std::move(variables));
      }
      eliminate(variables[best], scope);
      variables.erase(variables.begin() + static_cast<std::ptrdiff_t>(best));
    }
    double sum = 0.0;
    for (const Term& term : terms_) sum += term.values.front();
    return sum;
  }

  /// Keeps only the given value of a variable; it disappears from the terms.
  void fix(std::size_t variable, std::size_t value) {
    for (Term& term : terms_) {
      const auto found = std::find(term.variables.begin(), term.variables.end(), variable);
      if (found == term.variables.end()) continue;
      std::size_t stride = 1;
      for (auto later = found + 1; later != term.variables.end(); ++later) stride *= sizes_[*later];
      std::vector<double> kept;
      for (std::size_t i = 0; i < term.values.size(); ++i) {
        if ((i / stride) % sizes_[variable] == value) kept.push_back(term.values[i]);
      }
      term.values = std::move(kept);
      term.variables.erase(found);
    }
  }

 private:
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t variable) const {
    std::vector<std::size_t> scope;
    for (const Term& term : terms_) {
      if (!mentions(term, variable)) continue;
      scope.insert(scope.end(), term.variables.begin(), term.variables.end());
    }
    std::sort(scope.begin(), scope.end());
    scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
    scope.erase(std::remove(scope.begin(), scope.end(), variable), scope.end());
    return scope;
  }

  static bool mentions(const Term& term, std::size_t variable) {
    return std::find(term.variables.begin(), term.variables.end(), variable) !=
           term.variables.end();
  }

  [[nodiscard]] std::size_t table_size(const std::vector<std::size_t>& scope) const {
    std::size_t size = 1;
    for (const std::size_t v : scope) {
      size *= sizes_[v];
      if (size > kLargestTable) break;
    }
    return size;
  }

  [[nodiscard]] std::size_t cheapest(const std::vector<std::size_t>& variables) const {
    std::size_t best = 0;
    std::size_t best_size = table_size(neighbours(variables[0]));
    for (std::size_t i = 1; i < variables.size() && best_size > 1; ++i) {
      const std::size_t size = table_size(neighbours(variables[i]));
      if (size < best_size) {
        best = i;
        best_size = size;
      }
    }
    return best;
  }

  void eliminate(std::size_t variable, const std::vector<std::size_t>& scope) {
    const auto rest = std::stable_partition(
        terms_.begin(), terms_.end(), [&](const Term& term) { return !mentions(term, variable); });
    Term result{.variables = scope, .values = std::vector<double>(table_size(scope))};
    std::vector<std::size_t> assignment(sizes_.size(), 0);
    for (std::size_t row = 0; row < result.values.size(); ++row) {
      std::size_t left = row;
      for (std::size_t i = scope.size(); i-- > 0;) {
        assignment[scope[i]] = left % sizes_[scope[i]];
        left /= sizes_[scope[i]];
      }
      double best = std::numeric_limits<double>::infinity();
      for (assignment[variable] = 0; assignment[variable] < sizes_[variable];
           ++assignment[variable]) {
        double sum = 0.0;
        for (auto term = rest; term != terms_.end(); ++term) sum += value_at(*term, assignment);
        best = std::min(best, sum);
      }
      result.values[row] = best;
    }
    terms_.erase(rest, terms_.end());
    terms_.push_back(std::move(result));
  }

  [[nodiscard]] double value_at(const Term& term,
                                const std::vector<std::size_t>& assignment) const {
    std::size_t index = 0;
    for (const std::size_t v : term.variables) index = index * sizes_[v] + assignment[v];
    return term.values[index];
  }

  /// Tries every value of the variable with the most neighbours.
  double split(std::vector<std::size_t> variables) const {
    const auto widest = std::max_element(
        variables.begin(), variables.end(), [&](std::size_t a, std::size_t b) {
          return neighbours(a).size() < neighbours(b).size();
        });
    const std::size_t variable = *widest;
    variables.erase(widest);
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t value = 0; value < sizes_[variable]; ++value) {
      Elimination branch = *this;
      branch.fix(variable, value);
      best = std::min(best, std::move(branch).minimum(variables));
    }
    return best;
  }

  std::vector<std::size_t> sizes_;
  std::vector<Term> terms_;
};

/// The choices of a problem as variables and terms.
struct Choices {
  std::vector<std::vector<Loop>> loops;  // per kernel
  std::vector<std::size_t> sizes;        // their number
  std::vector<Term> terms;
};

Choices choices_of(const Problem& problem) {
  const DataflowGraph& graph = problem.workload.graph;
  const Bytes word = problem.workload.word;
  Choices choices;
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const Kernel& kernel = graph.kernels()[i];
    const bool pinned = !problem.sharding_pins.empty() && problem.sharding_pins[i];
    choices.loops.push_back(pinned ? std::vector{*problem.sharding_pins[i]}
                                   : shardable_loops(kernel));
    choices.sizes.push_back(choices.loops[i].size());
    Term own{.variables = {i}, .values = {}};
    for (const Loop loop : choices.loops[i]) {
      own.values.push_back(own_bytes(kernel, loop, word).in_base_units());
    }
    choices.terms.push_back(std::move(own));
  }
  for (const Tensor& tensor : graph.tensors()) {
    const std::size_t from = tensor.from.index();
    const std::size_t to = tensor.to.index();
    Term term{.variables = {std::min(from, to), std::max(from, to)}, .values = {}};
    const auto bytes = [&](Loop producer, Loop consumer) {
      return conversion_bytes(graph.kernel(tensor.from), producer, graph.kernel(tensor.to),
                              consumer, tensor.operand, word)
          .in_base_units();
    };
    for (const Loop first : choices.loops[term.variables[0]]) {
      for (const Loop second : choices.loops[term.variables[1]]) {
        term.values.push_back(from < to ? bytes(first, second) : bytes(second, first));
      }
    }
    choices.terms.push_back(std::move(term));
  }
  return choices;
}

/// Splits kernels with a choice into groups that no term joins.
std::vector<std::vector<std::size_t>> components(const Choices& choices,
                                                 const std::vector<bool>& open) {
  std::vector<std::size_t> leader(choices.sizes.size());
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  const auto find = [&leader](std::size_t v) {
    while (leader[v] != v) v = leader[v] = leader[leader[v]];
    return v;
  };
  for (const Term& term : choices.terms) {
    if (term.variables.size() < 2 || !open[term.variables[0]] || !open[term.variables[1]]) continue;
    leader[find(term.variables[0])] = find(term.variables[1]);
  }
  std::vector<std::vector<std::size_t>> groups(choices.sizes.size());
  for (std::size_t v = 0; v < leader.size(); ++v) {
    if (open[v]) groups[find(v)].push_back(v);
  }
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return groups;
}

}  // namespace

std::vector<Loop> least_bytes_sharding(const Problem& problem) {
  const Choices choices = choices_of(problem);
  const std::size_t kernels = choices.sizes.size();
  std::vector<std::size_t> value(kernels, 0);
  std::vector<bool> open(kernels);
  for (std::size_t v = 0; v < kernels; ++v) open[v] = choices.sizes[v] > 1;

  // The terms of a group of open kernels, with everything decided filled in.
  const auto elimination_of = [&](const std::vector<std::size_t>& group) {
    std::vector<Term> terms;
    std::vector<bool> inside(kernels, false);
    for (const std::size_t v : group) inside[v] = true;
    for (const Term& term : choices.terms) {
      const bool touches = std::any_of(term.variables.begin(), term.variables.end(),
                                       [&](std::size_t v) { return inside[v]; });
      if (touches) terms.push_back(term);
    }
    Elimination elimination(choices.sizes, terms);
    for (const Term& term : terms) {
      for (const std::size_t v : term.variables) {
        if (!inside[v]) elimination.fix(v, value[v]);
      }
    }
    return elimination;
  };

  // Each group falls apart further with every kernel that is fixed.
  const std::function<void(const std::vector<std::size_t>&)> decide =
      [&](const std::vector<std::size_t>& group) {
        const std::size_t first = group.front();
        const std::vector<std::size_t> rest(group.begin() + 1, group.end());
        double best = std::numeric_limits<double>::infinity();
        for (std::size_t candidate = 0; candidate < choices.sizes[first]; ++candidate) {
          Elimination elimination = elimination_of(group);
          elimination.fix(first, candidate);
          const double bytes = std::move(elimination).minimum(rest);
          if (bytes < best) {
            best = bytes;
            value[first] = candidate;
          }
        }
        open[first] = false;
      };
  for (;;) {
    const auto groups = components(choices, open);
    if (groups.empty()) break;
    for (const auto& group : groups) decide(group);
  }

  std::vector<Loop> sharding;
  for (std::size_t v = 0; v < kernels; ++v) sharding.push_back(choices.loops[v][value[v]]);
  return sharding;
}

}  // namespace dfsearch
