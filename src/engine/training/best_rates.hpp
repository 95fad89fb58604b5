#pragma once
// A machine whose kernels all run at the best rate of their engine and memory.

#include "base/units.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// The task with every curve at its best share.
Task at_best_rates(Task task);

/// The time that all matrix engines need for the products of the model at their best rate.
Seconds least_step(const Task& task);

}  // namespace dfsearch::training
