#pragma once
// What a search for plans fixes beforehand, so that its proof is not about it.

#include "engine/training/plan_space.hpp"
#include "model/scope.hpp"

namespace dfsearch::training {

/// The layouts that docs/training.md, section 2, calls not proved, where some plan has ranks that
/// they lie on: those beyond the front among tensor ranks, unless the task gives the layout, and
/// those that do not send least among context and expert ranks.
Scope scope_of(const PlanSpace& space);

}  // namespace dfsearch::training
