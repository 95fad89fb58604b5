#include "cli/search_history.hpp"

namespace dfsearch {
void SearchHistory::add(const Progress& progress) {
  if (!on_ || progress.rank != 1) return;
  if (points_.size() == kMost) {
    for (std::size_t i = 0; i < kMost / 2; ++i) points_[i] = points_[2 * i];
    points_.resize(kMost / 2);
  }
  SearchPoint point{.time = progress.time.in_base_units(),
                    .nodes = progress.nodes,
                    .lower_bound = progress.lower_bound.in_base_units()};
  if (progress.incumbent < Score::infinity()) {
    point.incumbent = progress.incumbent.in_base_units();
  }
  points_.push_back(point);
}

}  // namespace dfsearch
