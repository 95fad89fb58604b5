#pragma once
// The open nodes of a search that goes on from a checkpoint.

#include <vector>

#include "engine/answer/search_state.hpp"
#include "engine/mapping/mapping_problem.hpp"

namespace dfsearch {

/// Turns the entries of a checkpoint into nodes of a tree over `problem`.  A checksum detects
/// accidental damage of a file but not false nodes: a partial fusion with a wrong time would end in
/// a mapping of a wrong cost, and a bound that is too high would lose the optimum.  So every
/// partial fusion is replayed, and a difference is an InputError.  Bounds are not read but derived
/// again, so they may be lower than in the search that wrote the nodes.  Throws Stopped by the
/// deadline of the problem; the nodes are unusable then.
void restore_nodes(const MappingProblem& problem, std::vector<SearchState::Entry>& entries);

}  // namespace dfsearch
