#pragma once
// The search for the best stages that divide the graph: the one public entry of this folder.

#include "engine/search_options.hpp"
#include "engine/search_result.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Solves a problem whose stages divide the graph (Problem::divides_graph): one answer, without the
/// next best and without checkpoints.  Nodes are stages that were priced.  Any of the best mappings
/// is the answer, equal for any number of threads.
SearchResult find_stages(const Problem& problem, const SearchOptions& options);

}  // namespace dfsearch
