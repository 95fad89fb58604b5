#pragma once
// Small worlds whose graphs are pieces of transformer layers by rule.

#include <cstdint>

#include "model/problem.hpp"
#include "support/random_problem.hpp"

namespace dfsearch::test {

/// Some neighbouring kernels of a random layer, forward, with its backward pass or decoding,
/// and a machine for them.  A seed gives one problem, on every machine.
Problem random_transformer_problem(std::uint64_t seed, const WorldLimits& limits = {});

}  // namespace dfsearch::test
