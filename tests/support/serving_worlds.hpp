#pragma once
// Small random questions of serving, and all their deployments one by one.

#include <random>
#include <vector>

#include "model/serving/steady_state.hpp"

namespace dfsearch::test {

/// Dense, of experts or with latent attention; one or two pools; some with limits, a rate, a closed
/// loop or speculation.  All choices are lists.
serving::Task random_task(std::mt19937_64& random);

/// All that the choices of the task leave, in the order of Deployment, with or without limits kept.
std::vector<serving::Deployment> all_deployments(const serving::Task& task);

}  // namespace dfsearch::test
