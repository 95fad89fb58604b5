// Each lane has one point at a time, which it solves with limited effort.  Points that need more
// effort wait in a list.  When the source has no point and no lane is at work, the first point of
// the list is solved with all threads; its answer may lead to new points.

#include <tbb/global_control.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "study/lanes.hpp"
#include "study/point_source.hpp"

namespace dfsearch::study {
namespace {

int lane_count(int threads) {
  const auto most = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  return std::clamp(threads, 1, static_cast<int>(most));
}

}  // namespace

bool run_points(PointSource& source, const SolvePoint& solve, const RunOptions& options) {
  const int count = lane_count(options.threads);
  Lanes lanes(solve, count, options.threads);
  std::deque<PointIndex> later;
  int at_work = 0;
  for (;;) {
    bool is_empty = false;
    while (at_work < count && !options.deadline.has_passed()) {
      const std::optional<PointIndex> point = source.next();
      is_empty = !point;
      if (is_empty) break;
      lanes.put(*point, false);
      ++at_work;
    }
    const bool whole = at_work == 0;
    if (whole) {
      if (later.empty()) return is_empty;
      if (options.deadline.has_passed()) return false;
      lanes.put(later.front(), true);
      later.pop_front();
      ++at_work;
    }
    const PointAnswer answer = *lanes.take(Lanes::Wait::Yes);
    --at_work;
    if (!whole && answer.stopped_by_effort && source.wants(answer)) {
      later.push_back(answer.index);
    } else if (!answer.stopped_by_clock || !options.deadline.has_passed()) {
      // A point that the deadline stopped is left to the next run, even if proved, since its row
      // would record the stop.
      source.take(answer);
      if (!answer.stopped_by_effort && options.on_answer) options.on_answer(answer);
    }
  }
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
