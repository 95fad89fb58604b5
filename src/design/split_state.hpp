#pragma once
// All that a search over splits needs to go on after it was interrupted.

#include <optional>
#include <vector>

#include "base/units.hpp"
#include "design/split_space.hpp"
#include "engine/tree/search_stats.hpp"

namespace dfsearch {

/// What a checkpoint shows and a resumed search starts from.  Bounds of boxes and step times of
/// splits are not part of it: they are found anew.
struct SplitState {
  /// The best split but for those before it, for which the search is over.
  struct Finished {
    GridPoint point;
    Score lower_bound{};  ///< of all splits but those before it
  };
  std::vector<Finished> finished;  ///< best first

  // The tree for the next one.
  bool begun = false;  ///< else `open` stands for the whole space
  std::vector<SplitBox> open;
  std::optional<GridPoint> incumbent;

  SearchStats stats;  ///< of all runs together; nodes are boxes
};

}  // namespace dfsearch
