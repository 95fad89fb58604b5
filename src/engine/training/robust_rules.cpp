// Every scenario expands the node by its own rules, and a child is kept if all scenarios keep it.
// The bound of the child is the greatest ratio, over all scenarios, of its bound in the scenario to
// the best step of the scenario.  The layers of the stages are spread for the least regret over all
// scenarios.

#include "engine/training/robust_rules.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "model/training/stages.hpp"
#include "model/training/step.hpp"

namespace dfsearch::training {
namespace {

/// Takes the children of a scenario.
class ScenarioExpansion : public Expansion<PlanNode, PlanSolution> {
 public:
  ScenarioExpansion(const Expansion<PlanNode, PlanSolution>& into, Score best)
      : into_(into), best_(best) {}
  /// The cutoff of the scenario, with a margin for roundings.
  [[nodiscard]] Score cutoff() const override {
    return into_.cutoff() * best_.in_base_units() * (1.0 / kLessRoundings);
  }
  /// Pretends that there is an incumbent, so that no first plan is searched for.
  [[nodiscard]] std::shared_ptr<const PlanSolution> incumbent() const override {
    return std::make_shared<const PlanSolution>();
  }
  void child(PlanNode&& node) override { children.push_back(std::move(node)); }
  void solution(PlanSolution&&, char) override {}

  std::vector<PlanNode> children;

 private:
  const Expansion<PlanNode, PlanSolution>& into_;
  const Score best_;
};

void raise(Score& bound, Score other) { bound = std::max(bound, other); }

}  // namespace

std::vector<NamedScenario> scenarios(const stack::Ranges& ranges, bool has_scans) {
  using stack::Scenario;
  constexpr std::pair<const char*, double Scenario::*> kClasses[] = {
      {"compute", &Scenario::compute},
      {"attention", &Scenario::attention},
      {"elementwise", &Scenario::elementwise},
      {"host", &Scenario::host},
      {"links", &Scenario::links},
      {"scans", &Scenario::scans}};
  const std::pair<const char*, Scenario> ends[] = {{"low", ranges.at(memory::Level::Low)},
                                                   {"high", ranges.at(memory::Level::High)}};
  std::vector<NamedScenario> list{{"typical", {}}};
  for (const auto& [end, times] : ends) list.push_back({std::string("all ") + end, times});
  for (const auto& [name, part] : kClasses) {
    if (part == &Scenario::scans && !has_scans) continue;
    for (const auto& [end, times] : ends) {
      Scenario one;
      one.*part = times.*part;
      list.push_back({std::string(name) + " " + end, one});
    }
  }
  return list;
}

ScenarioPlans::ScenarioPlans(const Task& plain, const stack::Scenario& scenario)
    : task([&] {
        Task with = plain;
        with.stack->scenario = scenario;
        return with;
      }()),
      space(task),
      shelf(task, space.blocks()),
      rules(space, shelf) {}

std::optional<Score> RobustRules::cost(const Decisions& decisions) const {
  Score most{};
  for (const auto& one : scenarios_) {
    const std::optional<Score> step = one->rules.cost(decisions);
    if (!step) return std::nullopt;
    raise(most, Score(*step / one->best));
  }
  return most;
}

void RobustRules::branch(const PlanNode& node, const PlanBranching& branching) const {
  if (node.level == PlanRules::kShape) return branch_shape(node, branching);
  // At the other levels children have no floors of their own, so one scenario is enough.
  const bool has_times = node.level == PlanRules::kInner || node.level == PlanRules::kLayout;
  std::vector<PlanNode> kept;
  for (const auto& one : scenarios_) {
    ScenarioExpansion expansion(branching.into, one->best);
    PlanNode mine = node;
    if (has_times) mine.bound = Score{};
    one->rules.branch(
        mine, {.into = expansion, .deadline = branching.deadline, .excluded = branching.excluded});
    if (!has_times) {
      kept = std::move(expansion.children);
      break;
    }
    for (PlanNode& child : expansion.children) {
      child.bound = std::max(node.bound, Score(child.bound / one->best));
      for (Score& below : child.below) below = std::max(node.bound, Score(below / one->best));
    }
    if (one == scenarios_.front()) {
      kept = std::move(expansion.children);
      continue;
    }
    // All scenarios emit children in the same order; each leaves out the children that it drops.
    auto next = expansion.children.begin();
    std::erase_if(kept, [&](PlanNode& child) {
      const auto same = std::find_if(next, expansion.children.end(), [&](const PlanNode& other) {
        return other.taken == child.taken;
      });
      if (same == expansion.children.end()) return true;
      raise(child.bound, same->bound);
      for (std::size_t i = 0; i < child.below.size(); ++i) raise(child.below[i], same->below[i]);
      next = std::next(same);
      return false;
    });
    if (kept.empty()) return;
  }
  for (PlanNode& child : kept) branching.into.child(std::move(child));
}

void RobustRules::branch_shape(const PlanNode& node, const PlanBranching& branching) const {
  const PlanSpace& space = typical().space;
  const Blocks& blocks = space.blocks();
  Plan plan = plan_of(node.taken, space.task());
  std::deque<Profiles> profiles;
  std::deque<StepModel> models;
  for (const auto& one : scenarios_) {
    profiles.push_back(one->shelf.profiles(plan.degrees, plan.layout, plan.micro_batch));
    models.emplace_back(one->task, plan, profiles.back(), blocks.order, branching.deadline);
  }
  for (std::vector<Division>& network :
       space.networks(plan.degrees, plan.layout, branching.deadline)) {
    branching.deadline.check();
    evaluated_.fetch_add(1, std::memory_order_relaxed);
    const Groups groups(space.task().machine, network);
    std::vector<SpreadScenario> scenarios;
    for (std::size_t s = 0; s < models.size(); ++s) {
      scenarios.push_back({.limits = models[s].limits(groups),
                           .best = Seconds(scenarios_[s]->best.in_base_units())});
    }
    auto spread = spread_robustly(models.front().stages(), blocks.order, scenarios,
                                  branching.into.cutoff().in_base_units(),
                                  space.task().choices.layers, plan.chunks);
    if (!spread) continue;
    plan.layers = std::move(spread->layers);
    plan.network = std::move(network);
    branching.into.solution({.decisions = decisions_of(plan), .cost = Score(spread->ratio)}, 'T');
  }
}

}  // namespace dfsearch::training
