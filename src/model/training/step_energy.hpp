#pragma once
// The energy of a step of training as the value of a search (docs/energy.md).

#include "base/units.hpp"
#include "model/machine/energy.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// The value that the task minimises, of a step of this time and work.  It never falls if one of
/// both rises, but for rounding.
Score objective_value(const Task& task, Seconds step, const EnergyWork& work);

/// A lower bound on the value: at least this time and this work, each summed in any order.
Score objective_floor(const Task& task, Seconds least_step, const EnergyWork& least_work);

/// No step of this work that is longer has a value of at most `most`.
Seconds longest_step(const Task& task, const EnergyWork& work, Score most);

}  // namespace dfsearch::training
