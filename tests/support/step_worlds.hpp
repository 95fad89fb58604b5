#pragma once
// Small worlds whose kernels are done in steps, and whose memories have latencies.

#include <cstdint>

#include "model/problem.hpp"

namespace dfsearch::test {

/// Some kernels, or all, get steps, and some neighbours of them wait for each other.  Links and
/// memory get latencies.
Problem with_steps(Problem problem, std::uint64_t seed, bool all);

}  // namespace dfsearch::test
