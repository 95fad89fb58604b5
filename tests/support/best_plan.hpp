#pragma once
// The best of plans that are tried one by one.

#include <cstdint>
#include <optional>

#include "engine/training/plan_space.hpp"
#include "model/training/groups.hpp"
#include "model/training/step.hpp"

namespace dfsearch::test {

/// Among equal plans the first in the order of ties is kept.
struct BestPlan {
  std::optional<training::Plan> plan;
  double cost = 0.0;
  std::int64_t plans = 0;
  bool too_large = false;  ///< they were too many to be tried

  /// Tries the networks of a plan; `value` returns what a step of a plan with its network and
  /// layers costs.
  template <class Value>
  void try_networks(const training::PlanSpace& space, const training::StepModel& model,
                    training::Plan tried, const Value& value) {
    for (const auto& network : space.networks(tried.degrees)) {
      ++plans;
      const auto step = model.step(training::Groups(space.task().machine, network));
      if (!step) continue;
      tried.network = network;
      tried.layers = step->layers;
      const double of_tried = value(tried, step->step);
      if (plan && (of_tried > cost || (of_tried == cost && !(tried < *plan)))) continue;
      plan = tried;
      cost = of_tried;
    }
  }
};

}  // namespace dfsearch::test
