// The contract of SearchProblem, for the mapping problem: the whole tree of many
// small worlds, without any pruning.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "model/evaluate.hpp"
#include "support/brute_force.hpp"
#include "support/children.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using Node = MappingProblem::Node;

class WholeTree {
 public:
  explicit WholeTree(const MappingProblem& problem) : problem_(problem) {}

  /// All solutions below the node, after checking the contract for it.
  std::vector<MappingSolution> walk(const Node& node) {
    test::Children found;
    problem_.branch(node, found);
    learn(node, found);
    std::vector<MappingSolution> below = std::move(found.solutions);
    for (const Node& child : found.nodes) {
      CHECK(problem_.bound(child) >= problem_.bound(node));
      std::vector<MappingSolution> more = walk(child);
      below.insert(below.end(), more.begin(), more.end());
    }
    for (const MappingSolution& s : below) REQUIRE(problem_.bound(node) <= s.cost);
    nodes_.push_back({node, below});
    return below;
  }

  /// Checks that the final duals hold for all nodes; returns the number of nodes with a raised
  /// bound.
  [[nodiscard]] int check_bounds_now() const {
    int raised = 0;
    for (const auto& [node, below] : nodes_) {
      const Score bound = problem_.bound_now(node);
      raised += problem_.bound(node) < bound;
      REQUIRE(problem_.bound(node) <= bound);
      for (const MappingSolution& s : below) REQUIRE(bound <= s.cost);
    }
    return raised;
  }

 private:
  /// Runs the slices for duals; moves would find solutions of other nodes.
  void learn(const Node& node, test::Children& found) const {
    std::vector<MappingProblem::Slice> slices;
    problem_.claim_slices(node, slices);
    for (const MappingProblem::Slice& slice : slices) {
      if (slice.technique == Technique::Duals) problem_.run(slice, found);
      problem_.publish(slice);
    }
  }

  const MappingProblem& problem_;
  std::vector<std::pair<Node, std::vector<MappingSolution>>> nodes_;
};

/// Infinite if there is none.
Score least_cost(const std::vector<MappingSolution>& all) {
  Score least = Score::infinity();
  for (const MappingSolution& solution : all) least = std::min(least, solution.cost);
  return least;
}

bool same(const MappingSolution& a, const MappingSolution& b) {
  return a.point.tile == b.point.tile && a.sharding == b.sharding &&
         a.fusion.partition == b.fusion.partition;
}

}  // namespace

TEST_CASE("no bound exceeds a completion, and bounds only tighten") {
  int trees = 0;
  int raised = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed, {.kernels = 4, .assignments = 400});
    // A budget of 3 steps also splits enumerations into opened nodes.
    const NodeEffort effort{.steps = seed % 2 == 0 ? 3 : 10'000, .weight = 1'000'000};
    const test::BruteForceResult best = test::brute_force(problem);
    const MappingProblem search(problem, effort);
    WholeTree tree(search);
    const std::vector<MappingSolution> all = tree.walk(search.root());
    trees += all.size() > 10;
    raised += tree.check_bounds_now();

    // Every solution once, at the cost that the plain model gives it.
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto judged = evaluate(problem, search.mapping(all[i]));
      REQUIRE(std::holds_alternative<Cost>(judged));
      REQUIRE(std::get<Cost>(judged).layer_ticks == all[i].fusion.time);
      REQUIRE(std::get<Cost>(judged).objective == all[i].cost);
      for (std::size_t j = 0; j < i && i < 60; ++j) REQUIRE_FALSE(same(all[i], all[j]));
    }
    REQUIRE(least_cost(all) == best.objective);
  }
  CHECK(trees > 50);
  CHECK(raised > 50);
}

TEST_CASE("the tree of a joint search holds a best mapping") {
  int trees = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const Problem problem =
        test::random_problem(seed, {.kernels = 4, .assignments = 400, .joint = true});
    const MappingProblem search(problem, {.steps = 3, .weight = 1'000'000});
    WholeTree tree(search);
    const std::vector<MappingSolution> all = tree.walk(search.root());
    trees += all.size() > 10;
    REQUIRE(least_cost(all) == test::brute_force(problem).objective);
  }
  CHECK(trees > 20);
}

TEST_CASE("the segments are a fusion of the tree") {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed);
    if (problem.execution.style == Style::KernelByKernel) continue;
    const MappingProblem search(problem);
    for (const OuterPoint point : outer_points(problem)) {
      test::Children children;
      search.branch(
          {.bound = {}, .point = point, .sharding = nullptr, .context = nullptr, .fusion = {}},
          children);
      for (const MappingSolution& s : children.early_solutions) {
        const auto judged = evaluate(problem, search.mapping(s));
        REQUIRE(std::holds_alternative<Cost>(judged));
        CHECK(std::get<Cost>(judged).objective == s.cost);
        ++found;
      }
    }
  }
  CHECK(found > 100);
}

}  // namespace dfsearch
