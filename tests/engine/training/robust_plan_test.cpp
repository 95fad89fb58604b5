// The plan of least regret against enumeration: every plan of a small world, every spread of its
// layers, in all scenarios.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "engine/plan/plan_tree.hpp"
#include "engine/training/find_plan.hpp"
#include "engine/training/robust_rules.hpp"
#include "model/training/stages.hpp"
#include "model/training/step.hpp"
#include "support/training_worlds.hpp"

namespace dfsearch::training {
namespace {

using Worlds = std::vector<std::unique_ptr<ScenarioPlans>>;

Worlds worlds_of(const Task& task) {
  Worlds worlds;
  for (const NamedScenario& scenario : scenarios({})) {
    worlds.push_back(std::make_unique<ScenarioPlans>(task, scenario.times));
  }
  return worlds;
}

void each_spread(std::int64_t stages, std::int64_t left, std::vector<std::int64_t>& layers,
                 const std::function<void()>& visit) {
  if (stages == 1) {
    layers.push_back(left);
    visit();
    layers.pop_back();
    return;
  }
  for (std::int64_t count = 0; count <= left; ++count) {
    layers.push_back(count);
    each_spread(stages - 1, left - count, layers, visit);
    layers.pop_back();
  }
}

/// The steps of all plans that fit, by scenario.
std::vector<std::vector<double>> all_steps(const Worlds& worlds) {
  std::vector<std::vector<double>> plans;
  const PlanSpace& space = worlds.front()->space;
  const Blocks& blocks = space.blocks();
  for (const Degrees& inner : space.inner_degrees()) {
    for (const Degrees& degrees : space.degrees(inner)) {
      for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
        for (const TensorLayout layout : space.layouts(degrees, worlds.front()->shelf)) {
          std::vector<Profiles> profiles;
          for (const auto& world : worlds) {
            profiles.push_back(world->shelf.profiles(degrees, layout, micro_batch));
          }
          for (const Plan& shape : space.shapes(degrees, micro_batch, layout)) {
            for (const std::vector<Division>& network : space.networks(degrees)) {
              const Groups groups(space.task().machine, network);
              std::vector<std::int64_t> layers;
              each_spread(degrees[Role::Pipeline], blocks.layers(), layers, [&] {
                if (shape.chunks > 1 && !chunk_slots(layers, shape.chunks)) return;
                std::vector<double> steps;
                for (std::size_t s = 0; s < worlds.size(); ++s) {
                  const StepModel model(worlds[s]->task, shape, profiles[s], blocks.order);
                  const StepModel::Detail detail = model.detail(groups, layers);
                  if (!detail.fits) return;
                  steps.push_back(detail.step.in_base_units());
                }
                plans.push_back(std::move(steps));
              });
            }
          }
        }
      }
    }
  }
  return plans;
}

TEST_CASE("the plan of least regret is that of enumeration, on any number of threads" *
          doctest::test_suite("slow")) {
  int compared = 0, differs = 0, pipelines = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Task task = test::random_task_with_stack(seed);
    if (task.model.layers > 4) task.model.layers = 4;
    if (task.model.experts) task.model.experts->dense_layers = 1;
    if (!task.choices.layers.empty()) continue;
    const auto plans = all_steps(worlds_of(task));
    if (plans.empty()) {
      CHECK_FALSE(find_plan(task, {.robust = true}).robust);
      continue;
    }
    std::vector<double> best(scenarios({}).size(), std::numeric_limits<double>::infinity());
    for (const auto& steps : plans) {
      for (std::size_t s = 0; s < best.size(); ++s) best[s] = std::min(best[s], steps[s]);
    }
    double least = std::numeric_limits<double>::infinity(), typical = least;
    for (const auto& steps : plans) {
      double ratio = 0.0;
      for (std::size_t s = 0; s < best.size(); ++s) ratio = std::max(ratio, steps[s] / best[s]);
      if (ratio < least) typical = std::numeric_limits<double>::infinity();
      if (ratio <= least) typical = std::min(typical, steps[0]);
      least = std::min(least, ratio);
    }
    std::optional<Plan> first;
    for (const int threads : {1, 2, 8}) {
      CAPTURE(threads);
      const PlanResult found = find_plan(task, {.threads = threads, .robust = true});
      REQUIRE(found.robust);
      const RobustPlan& robust = *found.robust;
      CHECK(robust.status == SearchStatus::Optimal);
      CHECK(robust.regret == least - 1.0);
      CHECK(robust.lower_bound.in_base_units() == least);
      CHECK(robust.cost->step_time.in_base_units() >= typical);
      for (std::size_t s = 0; s < best.size(); ++s) {
        CHECK(robust.outcomes[s].best.in_base_units() == best[s]);
        CHECK(robust.outcomes[s].least.in_base_units() == best[s]);
      }
      if (!first) first = robust.plan;
      CHECK(*robust.plan == *first);
      differs += threads == 1 && *robust.plan != *found.plan;
      pipelines += threads == 1 && robust.plan->degrees[Role::Pipeline] > 1;
    }
    ++compared;
  }
  CHECK(compared > 200);
  CHECK(differs > 5);
  CHECK(pipelines > 5);
}

class RobustCollector : public Expansion<PlanNode, PlanSolution> {
 public:
  explicit RobustCollector(Score cutoff = Score::infinity()) : cutoff_(cutoff) {}

  [[nodiscard]] Score cutoff() const override { return cutoff_; }
  [[nodiscard]] std::shared_ptr<const PlanSolution> incumbent() const override { return nullptr; }
  void child(PlanNode&& node) override { children.push_back(std::move(node)); }
  void solution(PlanSolution&& solution, char) override {
    solutions.push_back(std::move(solution));
  }
  std::vector<PlanNode> children;
  std::vector<PlanSolution> solutions;

 private:
  const Score cutoff_;
};

/// Children are dropped by the cutoff alone, also where scenarios drop different ones.
void check_kept(const PlanTree& tree, const PlanNode& node, const RobustCollector& all,
                std::size_t& dropped) {
  for (const PlanNode& last : all.children) {
    RobustCollector some(last.bound);
    tree.branch(node, some);
    dropped += all.children.size() - some.children.size();
    for (const PlanNode& child : all.children) {
      if (child.bound >= last.bound) continue;
      REQUIRE(std::any_of(some.children.begin(), some.children.end(),
                          [&](const PlanNode& kept) { return kept.taken == child.taken; }));
    }
  }
}

/// The least cost below a node, which its bound does not exceed.
double least_below(const PlanTree& tree, const RobustRules& rules, const PlanNode& node,
                   std::size_t& solutions, std::size_t& dropped) {
  RobustCollector collector;
  tree.branch(node, collector);
  check_kept(tree, node, collector, dropped);
  double least = std::numeric_limits<double>::infinity();
  for (const PlanSolution& solution : collector.solutions) {
    ++solutions;
    REQUIRE(rules.cost(solution.decisions) == solution.cost);
    least = std::min(least, solution.cost.in_base_units());
  }
  for (const PlanNode& child : collector.children) {
    REQUIRE(tree.bound(child) >= tree.bound(node));
    REQUIRE(rules.has(child));
    least = std::min(least, least_below(tree, rules, child, solutions, dropped));
  }
  REQUIRE(tree.bound(node).in_base_units() <= least);
  return least;
}

TEST_CASE("bounds of regret only tighten and are below all plans that they stand for" *
          doctest::test_suite("slow")) {
  std::size_t solutions = 0, dropped = 0;
  for (std::uint64_t seed = 3000; seed < 3030; ++seed) {
    CAPTURE(seed);
    const Task task = test::random_task_with_stack(seed);
    const Worlds worlds = worlds_of(task);
    for (const auto& world : worlds) {
      const PlanResult best = find_plan(world->task, {});
      if (best.cost) world->best = Score(best.cost->step_time.in_base_units());
    }
    if (worlds.front()->best == Score::infinity()) continue;
    const RobustRules rules(worlds);
    const PlanTree tree(rules, {}, true, {});
    least_below(tree, rules, tree.root(), solutions, dropped);
  }
  CHECK(solutions > 300);
  CHECK(dropped > 300);
}

TEST_CASE("a limit leaves a regret that is bounded from both sides") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Task task = test::random_task_with_stack(seed);
    const PlanResult all = find_plan(task, {.robust = true});
    if (!all.robust) continue;
    for (const std::int64_t nodes : {1, 5, 20, 60, 150}) {
      CAPTURE(nodes);
      const PlanResult some = find_plan(task, {.limits = {.nodes = nodes}, .robust = true});
      if (!some.robust) continue;
      CHECK(some.robust->regret >= all.robust->regret);
      CHECK(some.robust->lower_bound <= all.robust->lower_bound);
      CHECK((some.robust->status == SearchStatus::Optimal) == (some.robust->gap == 0.0));
    }
  }
}

}  // namespace
}  // namespace dfsearch::training
