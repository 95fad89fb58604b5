#pragma once
// Requirements of branch and bound on a problem.

#include <concepts>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/units.hpp"

namespace dfsearch {

/// Receives the children and solutions of a node.  SearchProblem::branch gets one; one thread at a
/// time uses it.
template <class Node, class Solution>
class Expansion {
 public:
  virtual ~Expansion() = default;
  /// The cost to beat: completions above it are useless.  It may fall during the expansion.
  [[nodiscard]] virtual Score cutoff() const = 0;
  /// The solution of that cost, or null.
  [[nodiscard]] virtual std::shared_ptr<const Solution> incumbent() const = 0;
  virtual void child(Node&& node) = 0;
  /// `found_by` is the letter of the technique in the log.
  virtual void solution(Solution&& solution, char found_by) = 0;
};

/// A minimisation over a tree.  A Node is a value: the engine stores it, moves it between threads
/// and drops it, and never looks inside.  All functions are const and called by many threads at
/// once; they guard their own memory (dominance).
///
/// Contract, checked by tests/engine/mapping/bound_properties_test.cpp:
///   bound(child) >= bound(parent)                    bounds only tighten
///   bound(node) <= cost(any solution below the node)
/// `branch` may end by Stopped when the deadline of the search has passed: the node then counts as
/// not expanded, whatever it has emitted.  Every solution is below the root.  If `admit` drops a
/// node, every solution below it costs at least as much as some solution below nodes admitted
/// earlier.
template <class P>
concept SearchProblem = std::movable<typename P::Node> && std::copyable<typename P::Solution> &&
    requires(const P& problem, const typename P::Node& node, const typename P::Solution& solution,
             Expansion<typename P::Node, typename P::Solution>& expansion) {
  { problem.root() } -> std::same_as<typename P::Node>;
  { problem.bound(node) } -> std::same_as<Score>;
  { problem.cost(solution) } -> std::same_as<Score>;
  { problem.admit(node) } -> std::same_as<bool>;
  problem.branch(node, expansion);
};

/// A problem with a strict total order of solutions of equal cost: its answer is the first optimal
/// solution.  The function before(node, t) is true if some solution below the node costs no more
/// than t and precedes t.
template <class P>
concept OrderedProblem = SearchProblem<P> &&
    requires(const P& problem, const typename P::Node& node, const typename P::Solution& solution) {
  { problem.precedes(solution, solution) } -> std::same_as<bool>;
  { problem.before(node, solution) } -> std::same_as<bool>;
};

/// A problem that checks whether a solution agrees with all decisions of a node: its searches can
/// be checked against a solution known to be right.
template <class P>
concept CheckableProblem = SearchProblem<P> &&
    requires(const P& problem, const typename P::Node& node, const typename P::Solution& solution) {
  { problem.contains(node, solution) } -> std::same_as<bool>;
};

/// A problem whose nodes take memory beyond their own size: `heap_bytes` returns the memory of
/// each.
template <class P>
concept SizedProblem = SearchProblem<P> &&
    requires(const P& problem, const typename P::Node& node) {
  { problem.heap_bytes(node) } -> std::same_as<std::size_t>;
};

/// A problem with techniques beside the tree, in slices of work that it claims at a node.  `run`
/// does the work of a slice, in the thread that has the claim; `publish` makes its results visible
/// to all nodes.  `bound_now` is a bound that uses all published results: it is no less than
/// `bound`, and takes no longer to compute.
template <class P>
concept LearningProblem = SearchProblem<P> &&
    requires(const P& problem, const typename P::Node& node, const typename P::Slice& slice,
             std::vector<typename P::Slice>& slices,
             Expansion<typename P::Node, typename P::Solution>& expansion) {
  { problem.bound_now(node) } -> std::same_as<Score>;
  problem.claim_slices(node, slices);
  problem.run(slice, expansion);
  problem.publish(slice);
};

}  // namespace dfsearch
