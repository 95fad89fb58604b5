#pragma once
// All plans one by one: the number of them, the number that fit, and the remedies if none does.

#include <cstdint>
#include <optional>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "engine/training/find_plan.hpp"
#include "engine/training/plan_rules.hpp"
#include "engine/training/plan_space.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// The plan whose fullest stage needs the least share of the capacity, and plans that would fit
/// with one of the given choices left open; nothing if there is no plan at all.  Throws Stopped.
std::optional<NearestMisfit> nearest_misfit(const PlanSpace& space, LayoutShelf& shelf,
                                            const Deadline& deadline);

/// Nothing if no plan fits.  Throws Stopped.
std::optional<FittingPlan> fitting_plan(const Task& task, const Deadline& deadline);

/// The least capacity of one memory with which some plan fits into both, to the byte.
struct LeastMemory {
  Bytes capacity{};
  FittingPlan with;
};

/// Nothing if no plan fits into the other memory.  Throws Stopped.
std::optional<LeastMemory> least_of_memory(const Task& task, bool second, const Deadline& deadline);

/// Plans that differ only by the layers of their stages count as one plan, which fits if some
/// spread of its layers fits.  The greatest integer stands for all larger counts.  Both throw
/// Stopped.
std::int64_t count_candidates(const PlanSpace& space, LayoutShelf& shelf, const Deadline& deadline);
std::int64_t count_feasible(const PlanSpace& space, const PlanRules& rules, LayoutShelf& shelf,
                            const Deadline& deadline);

/// The task with each efficiency curve replaced by its greatest share.
Task at_best_rates(Task task);

/// The time that all matrix engines need for the products of the model at their best rate.
Seconds least_step(const Task& task);

}  // namespace dfsearch::training
