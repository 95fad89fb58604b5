#pragma once
// How a mapping shards its kernels, as lines of the report.

#include <string>

#include "io/report/sheet.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The kernels by the loop on which they are sharded, then who communicates because of that.
Sheet sharding_lines(const Problem& problem, const Mapping& mapping);

}  // namespace dfsearch
