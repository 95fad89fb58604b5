#pragma once
// What there is beside what was fixed beforehand.

#include <cstdint>

#include "engine/search_result.hpp"
#include "engine/tables/allowance.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The best mapping with nothing fixed beforehand, as far as a fixed number of nodes leads, at
/// most `nodes`: the same every time.  `known` is one to begin with, or null.  Throws Stopped.
BestMapping search_beyond_scope(const Problem& problem, const Mapping* known, std::int64_t nodes,
                                const Allowance& allowance);

}  // namespace dfsearch
