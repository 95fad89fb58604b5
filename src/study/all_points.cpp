#include "study/point_source.hpp"

#include <utility>

namespace dfsearch::study {

void add_to(StudyCount& count, const PointAnswer& answer) {
  ++count.solved;
  if (answer.status == PointStatus::Infeasible) ++count.infeasible;
  if (answer.status == PointStatus::Failed) ++count.failed;
  if (is_stopped(answer.status)) ++count.unproved;
  if (answer.status == PointStatus::Optimal && !answer.exact) ++count.approximate;
  if (answer.scoped) ++count.scoped;
}

AllPoints::AllPoints(const Grid& grid, PointIndex begin, PointIndex end,
                     std::function<const PointAnswer*(PointIndex)> known)
    : grid_(grid), known_(std::move(known)), next_(begin), end_(end) {
  count_.points = grid_.included(begin, end);
}

std::optional<PointIndex> AllPoints::next() {
  for (; next_ < end_; ++next_) {
    if (grid_.is_excluded(grid_.choices(next_))) continue;
    const PointAnswer* answer = known_(next_);
    if (answer == nullptr) return next_++;
    add_to(count_, *answer);
  }
  return std::nullopt;
}

void AllPoints::take(const PointAnswer& answer) { add_to(count_, answer); }

}  // namespace dfsearch::study
