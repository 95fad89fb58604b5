// The search against the whole enumeration of small random worlds, and against published optima.

#include "engine/calculon/find_execution.hpp"

#include <doctest/doctest.h>

#include <random>

#include "engine/calculon/execution_rules.hpp"
#include "engine/calculon/plain_space.hpp"
#include "engine/plan/plan_tree.hpp"
#include "support/calculon_worlds.hpp"

namespace dfsearch::calculon {
namespace {

Task whole_search_of_1t() {
  return {.transformer = test::megatron("1T"),
          .machine = test::calculon_machine('A', 1024),
          .choices = {.maximum_batch = 1024}};
}

/// A random world with some decisions taken, and few enough candidates to try them all.
Task random_task(std::uint32_t seed) {
  const auto world = test::random_calculon_world(seed);
  Task task{.transformer = world.transformer, .machine = world.machine, .choices = {}};
  std::mt19937 generator(seed);
  const auto below = [&](unsigned count) { return generator() % count; };
  ExecutionChoices& choices = task.choices;
  if (below(3) == 0) {
    choices.global_batch = std::int64_t{1} << below(6);
  } else {
    choices.maximum_batch = 8 + below(70);
  }
  const auto sometimes = [&](auto& choice, auto value) {
    if (below(16) == 0) choice = value;
  };
  sometimes(choices.recompute, static_cast<Recompute>(below(3)));
  sometimes(choices.communication, static_cast<Communication>(below(3)));
  sometimes(choices.overlap, static_cast<Overlap>(below(3)));
  sometimes(choices.redo, below(2) > 0);
  sometimes(choices.sharding, below(2) > 0);
  sometimes(choices.data_overlap, below(2) > 0);
  choices.fused = below(2) > 0;
  if (below(8) == 0) choices.pipeline = 1 + below(8);
  if (below(8) == 0) choices.micro_batch = 1 + below(3);
  if (below(8) == 0) choices.chunks = 1 + below(3);
  constexpr std::int64_t kMostTried = 30'000;
  if (count_candidates(task, Deadline()) > kMostTried) {
    choices.offload = Offload{.weights = below(4) == 0, .activations = below(4) == 0};
    if (!task.machine.second_memory()) choices.offload = Offload{};
  }
  if (count_candidates(task, Deadline()) > kMostTried) {
    const auto count = static_cast<unsigned>(task.machine.network.size());
    choices.networks = {below(count), below(count), below(count)};
  }
  while (count_candidates(task, Deadline()) > kMostTried) {
    choices.maximum_batch = 1 + below(static_cast<unsigned>(task.machine.chips));
    choices.global_batch.reset();
    choices.recompute = static_cast<Recompute>(below(3));
    choices.communication = static_cast<Communication>(below(3));
  }
  return task;
}

/// Whether something fits.
bool check_against_enumeration(std::uint32_t seed) {
  CAPTURE(seed);
  const Task task = random_task(seed);
  const test::PlainSpace plain = test::PlainEnumeration(task).run();
  REQUIRE(count_candidates(task, Deadline()) == plain.candidates);
  REQUIRE(count_feasible(task, Deadline()) == plain.feasible);
  for (const int threads : {1, 2, 8, 0}) {
    CAPTURE(threads);
    const ExecutionResult result = find_execution(
        task, {.threads = threads == 0 ? 2 : threads, .deterministic = threads == 0, .top = 3});
    if (plain.best.empty()) {
      REQUIRE(result.status == SearchStatus::Infeasible);
      REQUIRE(result.misfit.has_value() == (plain.candidates > 0));
      continue;
    }
    REQUIRE(result.status == SearchStatus::Optimal);
    REQUIRE(result.cost->step_time == plain.best[0].cost);
    REQUIRE(result.lower_bound.in_base_units() == result.cost->step_time.in_base_units());
    REQUIRE(*result.execution == plain.best[0].execution);
    REQUIRE(result.alternatives.size() == std::min<std::size_t>(3, plain.best.size()) - 1);
    for (std::size_t i = 0; i < result.alternatives.size(); ++i) {
      REQUIRE(*result.alternatives[i].execution == plain.best[i + 1].execution);
    }
  }
  return !plain.best.empty();
}

void check_many(std::uint32_t first, std::uint32_t last) {
  std::uint32_t solved = 0;
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    if (check_against_enumeration(seed)) ++solved;
  }
  // Worlds in which nothing fits would judge nothing else.
  CHECK(5 * solved > 2 * (last - first + 1));
}

TEST_CASE("the search finds what the enumeration of small worlds finds") { check_many(1, 40); }

TEST_CASE("the search finds what the enumeration of many small worlds finds" *
          doctest::test_suite("slow")) {
  check_many(1001, 2200);
}

/// Walks down to every solution and holds the bounds of the nodes on the way against it.
class BoundCheck final : public Expansion<PlanNode, PlanSolution> {
 public:
  explicit BoundCheck(const PlanTree& tree) : tree_(tree) {}

  /// The least cost below the node.
  Score walk(const PlanNode& node) {
    BoundCheck below(tree_);
    tree_.branch(node, below);
    Score least = below.least_;
    for (const PlanNode& child : below.children_) {
      REQUIRE(child.bound >= node.bound);
      least = std::min(least, walk(child));
    }
    REQUIRE(node.bound <= least);
    return least;
  }

  [[nodiscard]] Score cutoff() const override { return Score::infinity(); }
  [[nodiscard]] std::shared_ptr<const PlanSolution> incumbent() const override { return nullptr; }
  void child(PlanNode&& node) override { children_.push_back(std::move(node)); }
  void solution(PlanSolution&& solution, char /*found_by*/) override {
    least_ = std::min(least_, solution.cost);
  }

 private:
  const PlanTree& tree_;
  std::vector<PlanNode> children_;
  Score least_ = Score::infinity();
};

TEST_CASE("no bound is above a cost, and none falls on the way down") {
  int solved = 0;
  for (std::uint32_t seed = 3001; seed <= 3100; ++seed) {
    CAPTURE(seed);
    const Task task = random_task(seed);
    const ExecutionRules rules(task);
    const PlanTree tree(rules, {}, true, Deadline());
    if (BoundCheck(tree).walk(tree.root()) < Score::infinity()) ++solved;
  }
  CHECK(solved > 40);
}

TEST_CASE("why nothing fits: a network, few blocks, or no candidate at all") {
  Task task = whole_search_of_1t();
  task.machine.network[1].degree = 2;
  task.choices.offload = Offload{};
  const ExecutionResult networks = find_execution(task, {});
  REQUIRE(networks.status == SearchStatus::Infeasible);
  CHECK(networks.misfit->misfit.limit == Limit::NetworkSize);

  task = whole_search_of_1t();
  task.choices.pipeline = 64;
  task.choices.offload = Offload{.weights = true};
  const ExecutionResult blocks = find_execution(task, {});
  REQUIRE(blocks.status == SearchStatus::Infeasible);
  CHECK(blocks.misfit->misfit.limit == Limit::Blocks);

  task = whole_search_of_1t();
  task.choices.tensor = 3;
  const ExecutionResult none = find_execution(task, {});
  CHECK(none.status == SearchStatus::Infeasible);
  CHECK(none.candidates == 0);
  CHECK_FALSE(none.misfit.has_value());
}

}  // namespace
}  // namespace dfsearch::calculon
