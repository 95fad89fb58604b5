#pragma once
// The decisions of a step as a tree for branch and bound, for any equations.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "engine/plan/step_rules.hpp"
#include "engine/tree/search_problem.hpp"

namespace dfsearch {

/// A SearchProblem.  A node stands for all steps that begin with its decisions.
class PlanTree {
 public:
  using Node = PlanNode;
  using Solution = PlanSolution;

  /// Steps whose degrees are `excluded` are no solutions.  Refers to the rules.
  PlanTree(const StepRules& rules, std::vector<Decisions> excluded, bool has_floors,
           const Deadline& deadline)
      : rules_(rules),
        excluded_(std::move(excluded)),
        has_floors_(has_floors),
        deadline_(deadline) {}

  [[nodiscard]] Node root() const { return rules_.root(); }
  [[nodiscard]] Score bound(const Node& node) const { return has_floors_ ? node.bound : Score{}; }
  [[nodiscard]] Score cost(const Solution& solution) const { return solution.cost; }
  [[nodiscard]] bool precedes(const Solution& a, const Solution& b) const {
    const Score mine = rules_.tie(a.decisions), other = rules_.tie(b.decisions);
    return mine != other ? mine < other : a.decisions < b.decisions;
  }
  /// Whether the node precedes the solution in the order of decisions, or contains it.  Always true
  /// if the rules break ties by a value, since nodes have no bound on that value.
  [[nodiscard]] bool before(const Node& node, const Solution& solution) const {
    const auto [mine, other] = std::mismatch(node.taken.begin(), node.taken.end(),
                                             solution.decisions.begin(), solution.decisions.end());
    return mine == node.taken.end() || (other != solution.decisions.end() && *mine < *other) ||
           rules_.tie(solution.decisions) > Score{};
  }
  [[nodiscard]] bool contains(const Node& node, const Solution& solution) const {
    return node.taken.size() <= solution.decisions.size() &&
           std::equal(node.taken.begin(), node.taken.end(), solution.decisions.begin());
  }
  [[nodiscard]] bool excludes(const Decisions& decisions) const {
    return dfsearch::excludes(excluded_, decisions);
  }
  [[nodiscard]] bool admit(const Node&) const { return true; }
  void branch(const Node& node, Expansion<Node, Solution>& expansion) const {
    rules_.branch(node, {.into = expansion, .deadline = deadline_, .excluded = excluded_});
  }
  [[nodiscard]] std::size_t heap_bytes(const Node& node) const {
    return node.taken.capacity() * sizeof(std::int64_t) + node.below.capacity() * sizeof(Score);
  }

 private:
  const StepRules& rules_;
  const std::vector<Decisions> excluded_;
  const bool has_floors_;
  const Deadline deadline_;
};

}  // namespace dfsearch
