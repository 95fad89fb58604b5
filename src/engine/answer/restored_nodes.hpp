#pragma once
// The open nodes of a search that goes on from a checkpoint.

#include <vector>

#include "engine/answer/search_state.hpp"
#include "engine/mapping/mapping_problem.hpp"

namespace dfsearch {

/// Makes nodes of a tree over `problem` of what a file says.
///
/// A checksum tells accidents of a disk, not whether the nodes are true: a partial fusion of a
/// wrong time would end in a mapping of a wrong cost, a bound that is too high would lose the
/// optimum.  Every partial fusion is therefore replayed, and InputError says what differs; bounds
/// are not read but derived again, so that they may be lower than those of the search that wrote
/// them.  Throws Stopped by the deadline of the problem; the nodes must then not be gone on with.
void restore_nodes(const MappingProblem& problem, std::vector<SearchState::Entry>& entries);

}  // namespace dfsearch
