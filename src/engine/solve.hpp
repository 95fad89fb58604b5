#pragma once
// The one public entry of the search.

#include "engine/search_options.hpp"
#include "engine/search_result.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Finds the mapping that minimises the objective.  No global state: several solves may run at
/// once.  Throws InputError for an inconsistent problem and InternalError if the winner does not
/// evaluate to the cost of the search; an exception of a callback ends the search.
SearchResult solve(const Problem& problem, const SearchOptions& options);

}  // namespace dfsearch
