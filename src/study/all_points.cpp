#include "study/all_points.hpp"

#include <utility>

namespace dfsearch::study {

const char* name_of(Rates rates) {
  switch (rates) {
    case Rates::Unknown:
      break;
    case Rates::Ideal:
      return "ideal";
    case Rates::Efficiency:
      return "efficiency";
    case Rates::Measured:
      return "measured";
  }
  return "";
}

const char* name_of(PointStatus status) {
  switch (status) {
    case PointStatus::Optimal:
      return "optimal";
    case PointStatus::Feasible:
      return "feasible";
    case PointStatus::Infeasible:
      return "infeasible";
    case PointStatus::NoSolution:
      return "no_solution";
    case PointStatus::Failed:
      break;
  }
  return "failed";
}

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
