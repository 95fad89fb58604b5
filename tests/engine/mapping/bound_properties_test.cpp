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

  /// What duals have proved by the end holds for all nodes; of how many it says more.
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

  /// before(node, t) wherever a solution below the node ties with t and comes
  /// first.
  void check_before(const std::vector<MappingSolution>& all) const {
    for (const auto& [node, below] : nodes_) {
      for (const MappingSolution& s : below) {
        for (const MappingSolution& t : all) {
          if (s.cost == t.cost && problem_.precedes(s, t)) REQUIRE(problem_.before(node, t));
        }
      }
    }
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

bool same(const MappingSolution& a, const MappingSolution& b) {
  return a.point.tile == b.point.tile && a.sharding == b.sharding &&
         a.fusion.partition == b.fusion.partition;
}

}  // namespace

TEST_CASE("no bound exceeds a completion, bounds only tighten, ties are never cut off") {
  int trees = 0;
  int raised = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed, {.kernels = 4, .assignments = 400});
    // A budget of 3 steps also splits enumerations into opened nodes.
    const NodeEffort effort{.steps = seed % 2 == 0 ? 3 : 10'000, .weight = 1'000'000};
    const test::BruteForceResult best = test::brute_force(problem);
    const MappingProblem any(problem, effort);
    const MappingProblem first_of_best = any.for_ties(effort);
    for (const MappingProblem* search : {&any, &first_of_best}) {
      WholeTree tree(*search);
      const std::vector<MappingSolution> all = tree.walk(search->root());
      if (all.size() <= 60) tree.check_before(all);
      trees += all.size() > 10;
      raised += tree.check_bounds_now();

      // Every solution once, at the cost that the plain model gives it.
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto judged = evaluate(problem, search->mapping(all[i]));
        REQUIRE(std::holds_alternative<Cost>(judged));
        REQUIRE(std::get<Cost>(judged).layer_ticks == all[i].fusion.time);
        REQUIRE(std::get<Cost>(judged).objective == all[i].cost);
        for (std::size_t j = 0; j < i && i < 60; ++j) REQUIRE_FALSE(same(all[i], all[j]));
      }
      // The trees hold a best of all mappings, the second one the first of them.
      REQUIRE(best.mapping.has_value() == !all.empty());
      if (all.empty()) continue;
      const auto first = *std::min_element(
          all.begin(), all.end(), [&](const MappingSolution& a, const MappingSolution& b) {
            return a.cost == b.cost ? search->precedes(a, b) : a.cost < b.cost;
          });
      CHECK(first.cost == best.objective);
      if (search == &any) continue;
      CHECK(search->mapping(first).tile == best.mapping->tile);
      CHECK(search->mapping(first).partition == best.mapping->partition);
    }
  }
  CHECK(trees > 50);
  CHECK(raised > 50);
}

TEST_CASE("the trees of a joint search hold a best mapping, the second one the first of them") {
  int trees = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const Problem problem =
        test::random_problem(seed, {.kernels = 4, .assignments = 400, .joint = true});
    const test::BruteForceResult best = test::brute_force(problem);
    const MappingProblem any(problem, {.steps = 3, .weight = 1'000'000});
    const MappingProblem first = any.for_ties({.steps = 3, .weight = 1'000'000});
    for (const MappingProblem* search : {&any, &first}) {
      WholeTree tree(*search);
      const std::vector<MappingSolution> all = tree.walk(search->root());
      if (all.size() <= 60) tree.check_before(all);
      trees += all.size() > 10;
      REQUIRE(best.mapping.has_value() == !all.empty());
      if (all.empty()) continue;
      const auto winner = *std::min_element(
          all.begin(), all.end(), [&](const MappingSolution& a, const MappingSolution& b) {
            return a.cost == b.cost ? search->precedes(a, b) : a.cost < b.cost;
          });
      CHECK(winner.cost == best.objective);
      if (search != &first) continue;
      CHECK(search->mapping(winner).sharding == best.mapping->sharding);
      CHECK(search->mapping(winner).partition == best.mapping->partition);
    }
  }
  CHECK(trees > 50);
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
