#pragma once
// The best mapping beside the decisions that were fixed beforehand.

#include <cstdint>

#include "engine/search_result.hpp"
#include "engine/tables/allowance.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Searches for the best mapping with nothing fixed beforehand, for at most `nodes` nodes. That
/// number is fixed, so the result is the same every time.  `known` is a mapping to begin with, or
/// null.  Throws Stopped.
BestMapping search_beyond_scope(const Problem& problem, const Mapping* known, std::int64_t nodes,
                                const Allowance& allowance);

}  // namespace dfsearch
