#pragma once
// Small mixtures of experts for brute force.

#include <cstdint>

#include "model/problem.hpp"

namespace dfsearch::test {

/// A router, two to four equal experts of two or three kernels and their sum: by one kernel, in a
/// tree or in a chain of additions; in a third of the worlds with backward kernels and updates.
/// Twelve kernels at the most.
Problem expert_problem(std::uint64_t seed);

}  // namespace dfsearch::test
