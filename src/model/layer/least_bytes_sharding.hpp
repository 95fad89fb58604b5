#pragma once
// The sharding that communicates least, before anything else is decided.

#include <vector>

#include "base/deadline.hpp"
#include "graph/kernel.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The sharding of least communicated bytes; ties are broken kernel by kernel in
/// list order by the order of `Loop`.  Pinned loops are kept.  Exact.  For graphs so entangled
/// that this would take minutes it throws InputError, at once; where no network splits any
/// kernel it has the first loops for graphs that would take more than some ten milliseconds.
/// Throws Stopped.
std::vector<LoopPair> least_bytes_sharding(const Problem& problem, const Deadline& deadline = {});

}  // namespace dfsearch
