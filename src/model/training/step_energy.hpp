#pragma once
// The energy of a step of training as the value of a search (docs/energy.md).

#include "base/units.hpp"
#include "model/machine/energy.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// The value that the task minimises for a step of this time and work.  Except for rounding, it
/// never falls if the time or the work rises.
Score objective_value(const Task& task, Seconds step, const EnergyWork& work);

/// A lower bound on the value of steps of at least this time and this work, summed in any order.
Score objective_floor(const Task& task, Seconds least_step, const EnergyWork& least_work);

/// The longest time of a step of this work whose value may be at most `most`.
Seconds longest_step(const Task& task, const EnergyWork& work, Score most);

}  // namespace dfsearch::training
