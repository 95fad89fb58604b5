#pragma once
// How many plans there are, and how many of them memory holds.

#include <cstdint>

#include "base/deadline.hpp"
#include "engine/training/plan_rules.hpp"
#include "engine/training/plan_space.hpp"

namespace dfsearch::training {

/// Plans that differ by the layers of their stages alone are one, which fits if some spread of its
/// layers does.  The greatest integer stands for more.  Both throw Stopped.
std::int64_t count_candidates(const PlanSpace& space, LayoutShelf& shelf, const Deadline& deadline);
std::int64_t count_feasible(const PlanSpace& space, const PlanRules& rules, LayoutShelf& shelf,
                            const Deadline& deadline);

}  // namespace dfsearch::training
