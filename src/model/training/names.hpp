#pragma once
// The names that configs and results use for the decisions of a plan.

#include <string>

#include "model/training/plan.hpp"

namespace dfsearch::training {

const char* name_of(Role role);
const char* name_of(Schedule schedule);
const char* name_of(Recompute recompute);
/// least_sent, least_kept, and front_1, front_2, ... for the places in the front.
std::string name_of(TensorLayout layout);

}  // namespace dfsearch::training
