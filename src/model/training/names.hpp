#pragma once
// The names that configs and results use for the decisions of a plan.

#include "model/training/plan.hpp"

namespace dfsearch::training {

const char* name_of(Role role);
const char* name_of(Schedule schedule);
const char* name_of(Recompute recompute);
const char* name_of(TensorLayout layout);

}  // namespace dfsearch::training
