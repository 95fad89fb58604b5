#pragma once
// The plans of a task in several scenarios at once, for the search of the least regret.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/step_rules.hpp"
#include "engine/training/plan_rules.hpp"
#include "engine/training/plan_space.hpp"
#include "model/stack/stack.hpp"
#include "model/training/layout_shelf.hpp"

namespace dfsearch::training {

struct NamedScenario {
  std::string name;
  stack::Scenario times;
};
/// The scenarios in order: typical times; all classes of constants low; all high; each class alone
/// low and high.  Scans are a class only if the model has scans.
std::vector<NamedScenario> scenarios(const stack::Ranges& ranges, bool has_scans = false);

/// A task in a scenario with the space and rules of its search.  Not movable.
struct ScenarioPlans {
  /// The task has a stack.
  ScenarioPlans(const Task& plain, const stack::Scenario& scenario);

  const Task task;
  const PlanSpace space;
  LayoutShelf shelf;
  const PlanRules rules;
  Score best = Score::infinity();  ///< best known step, in seconds
};

/// The cost of a plan is the greatest ratio of its step to the best step, over all scenarios.  This
/// is 1 + its regret.  Among equal costs the shortest typical step wins (docs/search.md, section
/// 15).  The search starts from a plan.
class RobustRules final : public StepRules {
 public:
  /// Refers to the scenarios; the first has the typical times.
  explicit RobustRules(const std::vector<std::unique_ptr<ScenarioPlans>>& scenarios)
      : scenarios_(scenarios) {}

  [[nodiscard]] std::size_t degrees() const override { return typical().rules.degrees(); }
  void branch(const PlanNode& node, const PlanBranching& branching) const override;
  [[nodiscard]] bool has(const PlanNode& node) const override { return typical().rules.has(node); }
  [[nodiscard]] std::optional<Score> cost(const Decisions& decisions) const override;
  [[nodiscard]] Score tie(const Decisions& decisions) const override {
    return *typical().rules.cost(decisions);
  }

 private:
  [[nodiscard]] const ScenarioPlans& typical() const { return *scenarios_.front(); }
  void branch_shape(const PlanNode& node, const PlanBranching& branching) const;

  const std::vector<std::unique_ptr<ScenarioPlans>>& scenarios_;
};

}  // namespace dfsearch::training
