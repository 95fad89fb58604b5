// The search against plain enumeration: every plan of a small world is costed by `evaluate`.

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "engine/plan/plan_tree.hpp"
#include "engine/training/find_plan.hpp"
#include "engine/training/plan_rules.hpp"
#include "engine/training/plan_space.hpp"
#include "model/training/evaluate.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/memory.hpp"
#include "model/training/step.hpp"
#include "model/training/step_energy.hpp"
#include "support/best_plan.hpp"
#include "support/training_worlds.hpp"
#include "support/worlds.hpp"

namespace dfsearch::training {
namespace {

double evaluated(const Task& task, const Blocks& blocks, const Plan& plan) {
  const auto verdict = evaluate(task, blocks, plan);
  const Cost* cost = std::get_if<Cost>(&verdict);
  REQUIRE(cost != nullptr);
  return cost->objective.in_base_units();
}

/// The task with energies of a chip, with and without a cap, that minimises energy or its product
/// with time.
Task by_energy(Task task, std::uint64_t seed) {
  EnergyRates& rates = task.machine.energy;
  rates = {.idle = Watts(seed % 3 == 0 ? 1.0 : 300.0),
           .host = Watts(seed % 2 == 0 ? 0.0 : 50.0),
           .memory = JoulesPerByte(seed % 5 == 0 ? 1e-8 : 50e-12),
           .link = JoulesPerByte(seed % 7 == 0 ? 1e-8 : 11e-12)};
  rates.flop.of[static_cast<std::size_t>(Math::Bf16)] = JoulesPerFlop(0.6e-12);
  if (seed % 4 > 1) rates.cap = rates.idle + Watts(seed % 4 == 2 ? 1e-3 : 30.0);
  task.objective = seed % 2 == 0 ? Objective::Energy : Objective::Edp;
  return task;
}

/// Layers of stages are found separately for each plan here; plan_properties_test.cpp compares them
/// with all spreads.  Among equal plans the first in the order of ties is kept.
test::BestPlan enumerate(const Task& task) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  test::BestPlan best;
  for (const Degrees& inner : space.inner_degrees()) {
    for (const Degrees& degrees : space.degrees(inner)) {
      for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
        for (const TensorLayout layout : space.layouts(degrees, shelf)) {
          const Profiles profiles = shelf.profiles(degrees, layout, micro_batch);
          for (const Plan& plan : space.shapes(degrees, micro_batch, layout)) {
            const StepModel model(task, plan, profiles, space.blocks().order);
            best.try_networks(space, model, plan, [&](const Plan& tried, Seconds step) {
              const double value = objective_value(task, step, model.work()).in_base_units();
              // Layouts are found anew for each evaluation, which takes milliseconds.
              if (best.plans % 256 == 1) REQUIRE(evaluated(task, space.blocks(), tried) == value);
              return value;
            });
          }
        }
      }
    }
  }
  return best;
}

TEST_CASE("the search finds the best of all plans, on any number of threads" *
          doctest::test_suite("slow")) {
  int feasible = 0, infeasible = 0, several = 0, on_front = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const Task task = test::random_training_task(seed);
    const test::BestPlan best = enumerate(task);
    if (best.plan) CHECK(evaluated(task, blocks_of(task), *best.plan) == best.cost);
    several += best.plans > 50;
    on_front += best.plan && place_in_front(best.plan->layout) > 0;
    for (const int threads : {1, 2, 8}) {
      CAPTURE(threads);
      const PlanResult found = find_plan(task, {.threads = threads});
      REQUIRE(found.plan.has_value() == best.plan.has_value());
      if (!best.plan) {
        CHECK(found.status == SearchStatus::Infeasible);
        CHECK(found.misfit.has_value() == (best.plans > 0));
        continue;
      }
      CHECK(found.status == SearchStatus::Optimal);
      CHECK(found.cost->step_time.in_base_units() == best.cost);
      CHECK(found.lower_bound.in_base_units() == best.cost);
      CHECK(*found.plan == *best.plan);
    }
    best.plan ? ++feasible : ++infeasible;
  }
  CHECK(feasible > 200);
  CHECK(infeasible > 30);
  CHECK(several > 100);
  CHECK(on_front > 20);
}

/// Collects what a node is expanded into.
class Collector : public Expansion<PlanNode, PlanSolution> {
 public:
  [[nodiscard]] Score cutoff() const override { return Score::infinity(); }
  [[nodiscard]] std::shared_ptr<const PlanSolution> incumbent() const override { return nullptr; }
  void child(PlanNode&& node) override { children.push_back(std::move(node)); }
  void solution(PlanSolution&& solution, char) override {
    solutions.push_back(std::move(solution));
  }
  std::vector<PlanNode> children;
  std::vector<PlanSolution> solutions;
};

/// All solutions below a node; checks the contract of SearchProblem on the way.
std::vector<PlanSolution> solutions_below(const PlanTree& tree, const PlanNode& node) {
  Collector collector;
  tree.branch(node, collector);
  std::vector<PlanSolution> all = collector.solutions;
  for (const PlanNode& child : collector.children) {
    REQUIRE(tree.bound(child) >= tree.bound(node));
    const auto below = solutions_below(tree, child);
    all.insert(all.end(), below.begin(), below.end());
  }
  const PlanSolution* first = nullptr;
  for (const PlanSolution& solution : all) {
    REQUIRE(tree.bound(node) <= tree.cost(solution));
    REQUIRE(tree.contains(node, solution));
    // If a solution comes after the first one, it also comes after others that do.
    if (first == nullptr || tree.precedes(solution, *first)) first = &solution;
  }
  for (const PlanSolution& other : all) {
    if (tree.precedes(*first, other)) REQUIRE(tree.before(node, other));
  }
  return all;
}

TEST_CASE("degrees that divide a sample have bounds once the tensor degrees are opened") {
  int stopped = 0;
  for (std::uint64_t seed = 0; stopped < 40; ++seed) {
    CAPTURE(seed);
    const Task task = test::random_training_task(seed);
    const PlanSpace space(task);
    std::set<std::int64_t> tensor;
    for (const Degrees& inner : space.inner_degrees()) tensor.insert(inner[Role::Tensor]);
    const auto opened = static_cast<std::int64_t>(tensor.size()) + 1;
    if (static_cast<std::int64_t>(space.inner_degrees().size()) <= opened) continue;
    LayoutShelf shelf(task, space.blocks());
    const Score root = PlanRules(space, shelf).root().bound;
    const PlanResult found = find_plan(task, {.limits = {.nodes = opened}});
    if (found.stopped_by == StopReason::None) continue;
    ++stopped;
    // Kernels without products take time that the root does not count.
    CHECK(found.lower_bound > root);
  }
}

TEST_CASE("no shape fits whose recomputation memory is known not to allow") {
  int refused = 0, fitting = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Task task =
        seed % 3 == 0 ? test::random_task_with_stack(seed) : test::random_training_task(seed);
    const PlanSpace space(task);
    LayoutShelf shelf(task, space.blocks());
    const LayerOrder& order = space.blocks().order;
    for (const Degrees& inner : space.inner_degrees()) {
      for (const Degrees& degrees : space.degrees(inner)) {
        const Groups anywhere = Groups::anywhere(task.machine, degrees);
        for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
          for (const TensorLayout layout : space.layouts(degrees, shelf)) {
            const Profiles profiles = shelf.profiles(degrees, layout, micro_batch);
            for (const Plan& shape : space.shapes(degrees, micro_batch, layout)) {
              const bool may = may_fit(task, shape, profiles, order);
              const bool fits = StepModel(task, shape, profiles, order).step(anywhere).has_value();
              CHECK((may || !fits));
              refused += !may;
              fitting += fits;
            }
          }
        }
      }
    }
  }
  CHECK(refused > 1000);
  CHECK(fitting > 1000);
}

TEST_CASE("the search finds the plan of least energy, and of least energy times delay") {
  int feasible = 0, capped = 0, other = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const bool has_stack = seed % 3 == 0;
    const Task by_time =
        has_stack ? test::random_task_with_stack(seed) : test::random_training_task(seed);
    const Task task = by_energy(by_time, seed);
    const test::BestPlan best = enumerate(task);
    const PlanResult found = find_plan(task, {.threads = 2});
    REQUIRE(found.plan.has_value() == best.plan.has_value());
    if (!best.plan) continue;
    ++feasible;
    CHECK(found.status == SearchStatus::Optimal);
    CHECK(found.cost->objective.in_base_units() == best.cost);
    CHECK(found.lower_bound.in_base_units() == best.cost);
    CHECK(*found.plan == *best.plan);
    capped += found.cost->energy->clock < 1.0;
    // A plan of least time may take more.
    if (found.decided != task.decide) continue;
    const PlanResult fastest = find_plan(by_time, {.threads = 2});
    const double value = evaluated(task, blocks_of(task), *fastest.plan);
    CHECK(value >= best.cost);
    other += value > best.cost;
    const Blocks blocks = blocks_of(task);
    const Profiles profiles = profiles_of(task, blocks, *found.plan, {});
    const StepModel model(task, *found.plan, profiles, blocks.order);
    CHECK(model.work(true).sum() <= model.work().sum() * (1.0 + 1e-12));
  }
  CHECK(feasible > 60);
  CHECK(capped > 10);
  CHECK(other > 3);
}

TEST_CASE("bounds of energies only tighten and are below all that they stand for") {
  std::size_t solutions = 0;
  for (std::uint64_t seed = 1000; seed < 1040; ++seed) {
    CAPTURE(seed);
    const Task task = by_energy(
        seed % 3 == 0 ? test::random_task_with_stack(seed) : test::random_training_task(seed),
        seed);
    const PlanSpace space(task);
    LayoutShelf shelf(task, space.blocks());
    const PlanRules rules(space, shelf);
    const PlanTree tree(rules, {}, true, {});
    solutions += solutions_below(tree, tree.root()).size();
  }
  CHECK(solutions > 600);
}

TEST_CASE("the bound of a search that is stopped later is no less and below the best step" *
          doctest::test_suite("worlds")) {
  int rises = 0;
  for (std::uint64_t seed = 2000; seed < 2000 + test::share_of(60U); ++seed) {
    CAPTURE(seed);
    const Task task = test::random_training_task(seed);
    const PlanResult whole = find_plan(task, {});
    if (!whole.plan) continue;
    Score last{};
    for (std::int64_t nodes = 1; nodes < whole.stats.nodes; nodes += 1 + nodes / 4) {
      CAPTURE(nodes);
      const PlanResult stopped = find_plan(task, {.limits = {.nodes = nodes}});
      CHECK(stopped.lower_bound >= last);
      CHECK(stopped.lower_bound <= whole.lower_bound);
      rises += stopped.lower_bound > last;
      last = stopped.lower_bound;
    }
  }
  CHECK(rises > test::share_of(150));
}

TEST_CASE("bounds of plans only tighten and are below all that they stand for") {
  std::size_t solutions = 0;
  for (std::uint64_t seed = 1000; seed < 1060; ++seed) {
    CAPTURE(seed);
    const Task task = test::random_training_task(seed);
    const PlanSpace space(task);
    LayoutShelf shelf(task, space.blocks());
    const PlanRules rules(space, shelf);
    const PlanTree tree(rules, {}, true, {});
    solutions += solutions_below(tree, tree.root()).size();
  }
  CHECK(solutions > 1000);
}

TEST_CASE("the alternatives are the best plans of other degrees, best first") {
  int compared = 0;
  for (std::uint64_t seed = 2000; seed < 2060; ++seed) {
    CAPTURE(seed);
    const Task task = test::random_training_task(seed);
    const PlanResult found = find_plan(task, {.threads = 2, .top = 3});
    if (!found.plan) continue;
    std::vector<Degrees> met{found.plan->degrees};
    double last = found.cost->step_time.in_base_units();
    for (const FoundPlan& other : found.alternatives) {
      CHECK(std::find(met.begin(), met.end(), other.plan->degrees) == met.end());
      CHECK(other.cost->step_time.in_base_units() >= last);
      last = other.cost->step_time.in_base_units();
      met.push_back(other.plan->degrees);
      ++compared;
    }
    CHECK((found.alternatives.size() == 2 || found.alternatives_complete));
  }
  CHECK(compared > 20);
}

TEST_CASE("with a stack the search finds the best of all plans, and evaluate agrees") {
  int feasible = 0, infeasible = 0, whole = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const Task task = test::random_task_with_stack(seed);
    const test::BestPlan best = enumerate(task);
    if (best.plan) CHECK(evaluated(task, blocks_of(task), *best.plan) == best.cost);
    const PlanResult found = find_plan(task, {.threads = 2});
    if (found.assumed.any()) {
      // Only options that hold less make a plan fit, at the low ends if not at those of the task.
      Task low = task, lean = with(found.assumed, task);
      low.decide = task.decide == memory::Level::Typical ? memory::Level::Low : task.decide;
      lean.decide = found.decided;
      CHECK_FALSE(enumerate(low).plan.has_value());
      CHECK(found.status != SearchStatus::Optimal);
      CHECK(found.cost->step_time.in_base_units() == enumerate(lean).cost);
      continue;
    }
    REQUIRE(found.plan.has_value() == best.plan.has_value());
    best.plan ? ++feasible : ++infeasible;
    if (!best.plan) continue;
    CHECK(found.status == SearchStatus::Optimal);
    CHECK(found.cost->step_time.in_base_units() == best.cost);
    CHECK(*found.plan == *best.plan);
    whole += best.plan->layout == TensorLayout::WholeExperts;
  }
  CHECK(feasible > 40);
  CHECK(infeasible > 5);
  CHECK(whole > 0);
}

TEST_CASE("with a stack bounds of plans only tighten and are below all that they stand for") {
  std::size_t solutions = 0;
  for (std::uint64_t seed = 1000; seed < 1060; ++seed) {
    CAPTURE(seed);
    const Task task = test::random_task_with_stack(seed);
    const PlanSpace space(task);
    LayoutShelf shelf(task, space.blocks());
    const PlanRules rules(space, shelf);
    const PlanTree tree(rules, {}, true, {});
    solutions += solutions_below(tree, tree.root()).size();
  }
  CHECK(solutions > 1000);
}

}  // namespace
}  // namespace dfsearch::training
