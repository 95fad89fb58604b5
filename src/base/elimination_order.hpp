#pragma once
// The order in which the variables of a sum are eliminated, and its effort, found from the shape of
// the sum alone.

#include <cstddef>
#include <vector>

#include "base/deadline.hpp"

namespace dfsearch {

/// The steps of a bucket elimination (Dechter 1999).  Tables are numbered: first the terms of the
/// sum, then the result of each step.
struct EliminationOrder {
  struct Step {
    std::size_t variable = 0;
    /// Whether the values of the variable are tried one after the other, each with all later steps,
    /// since a table would be too large otherwise.
    bool is_tried = false;
    std::vector<std::size_t> neighbours;  ///< the variables of the result, ascending
    std::vector<std::size_t> merged;      ///< the tables that mention the variable, ascending
  };
  std::vector<Step> steps;  ///< one for each variable that terms mention
  /// Number of additions and copies; infinite, with incomplete steps, if effort or memory exceed
  /// their limits.
  double effort = 0.0;
};

/// The better of two orders: the smallest table first or, if this order takes long, from the last
/// variable to the first, which sweeps layered graphs.  `terms` has the ascending variables of each
/// term.  Takes time in proportion to the size of the graph times the dimensions of a table.
/// Throws Stopped.
EliminationOrder find_elimination_order(const std::vector<std::size_t>& sizes,
                                        const std::vector<std::vector<std::size_t>>& terms,
                                        double most_effort, const Deadline& deadline);

}  // namespace dfsearch
