#pragma once
// The sharding that communicates least, before anything else is decided.

#include <vector>

#include "base/deadline.hpp"
#include "graph/kernel.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The sharding of least communicated bytes; ties are broken kernel by kernel in
/// list order by the order of `Loop`.  Pinned loops are kept.  Exact; throws
/// InputError for graphs so entangled that this would take minutes, and Stopped.
std::vector<Loop> least_bytes_sharding(const Problem& problem, const Deadline& deadline = {});

}  // namespace dfsearch
