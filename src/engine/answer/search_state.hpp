#pragma once
// State from which an interrupted search continues.

#include <optional>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "engine/tree/open_nodes.hpp"
#include "engine/tree/tree_search.hpp"

namespace dfsearch {

/// The state in a checkpoint, from which a resumed search starts.  Everything else is derived from
/// the problem.  A node read from a file has a null `context` even if its fusion has begun, and
/// only the point and the partitions of a mapping read from a file are used.
struct SearchState {
  /// The best mapping of a parallelism for which the search is over.
  struct Finished {
    MappingSolution solution;
    Score lower_bound{};
  };
  std::vector<Finished> finished;  ///< best parallelism first

  // The tree that searches the next answer.
  using Entry = OpenNodes<MappingProblem::Node>::Entry;
  bool begun = false;  ///< else `open` stands for the root
  std::vector<Entry> open;
  Score floor{};  ///< lower bound of all mappings of the tree, proved so far
  std::optional<MappingSolution> incumbent;
  char found_by = ' ';

  SearchStats stats;  ///< of all runs together
};

/// The mapping of a solution, without cores.  Throws InputError if the problem does not have its
/// network.
Mapping mapping_of(const Problem& problem, const MappingSolution& solution);

/// Lower bound of all solutions that the tree may still find.
Score least_open_bound(const SearchState& state);

}  // namespace dfsearch
