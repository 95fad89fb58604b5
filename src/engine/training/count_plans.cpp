// Memory does not depend on the network, so each plan is looked at up to its network, and these are
// counted (docs/training.md, section 1).

#include "engine/training/count_plans.hpp"

#include "base/saturating.hpp"

namespace dfsearch::training {
namespace {

/// Adds up what `count` says of all but the shape, for each network.
template <class Count>
std::int64_t sum_of(const PlanSpace& space, LayoutShelf& shelf, const Deadline& deadline,
                    const Count& count) {
  std::int64_t sum = 0;
  for (const Degrees& inner : space.inner_degrees()) {
    for (const Degrees& degrees : space.degrees(inner)) {
      deadline.check();
      for (const TensorLayout layout : space.layouts(degrees, shelf, deadline)) {
        std::int64_t shapes = 0;
        for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
          Plan plan;
          plan.degrees = degrees;
          plan.micro_batch = micro_batch;
          plan.layout = layout;
          shapes = saturating_sum(shapes, count(plan));
        }
        if (shapes == 0) continue;
        const auto networks =
            static_cast<std::int64_t>(space.networks(degrees, layout, deadline).size());
        sum = saturating_sum(sum, saturating_product(shapes, networks));
      }
    }
  }
  return sum;
}

}  // namespace

std::int64_t count_candidates(const PlanSpace& space, LayoutShelf& shelf,
                              const Deadline& deadline) {
  return sum_of(space, shelf, deadline, [&](const Plan& plan) {
    return static_cast<std::int64_t>(
        space.shapes(plan.degrees, plan.micro_batch, plan.layout).size());
  });
}

std::int64_t count_feasible(const PlanSpace& space, const PlanRules& rules, LayoutShelf& shelf,
                            const Deadline& deadline) {
  return sum_of(space, shelf, deadline,
                [&](const Plan& plan) { return rules.count_fitting(plan, deadline); });
}

}  // namespace dfsearch::training
