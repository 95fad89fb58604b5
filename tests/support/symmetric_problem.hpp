#pragma once
// Small worlds with branches that can be exchanged, and some with branches that
// only look so.

#include <cstdint>

#include "model/problem.hpp"

namespace dfsearch::test {

/// Up to seven kernels: branches of one kernel, of a chain of two, or of a
/// kernel that feeds twins, in one class or two, with a source, a sink, both or
/// neither, listed in several orders.  In a third of the worlds one branch
/// differs by an extent, an operand or a pin.  Few assignments, for brute force.
Problem symmetric_problem(std::uint64_t seed);

}  // namespace dfsearch::test
