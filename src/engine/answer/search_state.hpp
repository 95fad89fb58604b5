#pragma once
// All that a search needs to go on after it was interrupted.

#include <optional>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "engine/tree/open_nodes.hpp"
#include "engine/tree/tree_search.hpp"

namespace dfsearch {

/// The state in a checkpoint, from which a resumed search starts.  Everything else is derived from
/// the problem anew; a node read back has a null `context` though its fusion may have begun, and a
/// mapping read back counts only by its point and partitions.
struct SearchState {
  /// The best mapping of a parallelism for which the search is over.
  struct Finished {
    MappingSolution solution;
    Score lower_bound{};
  };
  std::vector<Finished> finished;  ///< best parallelism first

  // The tree for the next one.
  using Entry = OpenNodes<MappingProblem::Node>::Entry;
  bool begun = false;  ///< else `open` stands for the root
  std::vector<Entry> open;
  Score floor{};  ///< no mapping of the tree is below it: proved before it began, or so far
  std::optional<MappingSolution> incumbent;
  char found_by = ' ';

  SearchStats stats;  ///< of all runs together
};

/// The mapping that a solution is, without cores.  Throws InputError if its network is none of
/// the problem's.
Mapping mapping_of(const Problem& problem, const MappingSolution& solution);

/// No solution that is still to be found in the tree is below it.
Score least_open_bound(const SearchState& state);

}  // namespace dfsearch
