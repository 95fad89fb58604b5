#pragma once
// Several models on the same pools: the cheapest mix of deployments that serves a rate of each.

#include "engine/serving/find_deployment.hpp"

namespace dfsearch::serving {

/// The task at whatever rate its deployment can serve.
Task without_rate(Task task);

/// Of each model any number of its deployments side by side, each at its capacity and within the
/// limits of its task.  Throws InputError for pools with too many numbers of chips to try.
ServingResult find_fleet(const Fleet& fleet, const ServingSearch& search);

}  // namespace dfsearch::serving
