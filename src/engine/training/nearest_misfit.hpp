#pragma once
// Why no plan of a task fits, and what would help.

#include <optional>

#include "base/deadline.hpp"
#include "engine/training/find_plan.hpp"
#include "engine/training/plan_space.hpp"
#include "model/training/layout_shelf.hpp"

namespace dfsearch::training {

/// Of all plans the one that needs least on its fullest stage, as a share of what a chip has;
/// nothing if there is no plan at all.  Then what would fit with one of the given choices
/// left open.  Throws Stopped.
std::optional<NearestMisfit> nearest_misfit(const PlanSpace& space, LayoutShelf& shelf,
                                            const Deadline& deadline);

/// Nothing if no plan fits.  Throws Stopped.
std::optional<FittingPlan> fitting_plan(const Task& task, const Deadline& deadline);

/// The capacity of one memory with which some plan fits into both, and no byte less of it would do.
struct LeastMemory {
  Bytes capacity{};
  FittingPlan with;
};

/// Nothing if no plan fits into the other memory.  Throws Stopped.
std::optional<LeastMemory> least_of_memory(const Task& task, bool second, const Deadline& deadline);

}  // namespace dfsearch::training
