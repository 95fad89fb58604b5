#pragma once
// The points of a study that are to be solved next, and their run on the threads of one machine.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/deadline.hpp"
#include "study/grid.hpp"
#include "study/point_answer.hpp"

namespace dfsearch::study {

struct StudyCount {
  std::int64_t points = 0;  ///< all points except excluded ones
  std::int64_t solved = 0;  ///< by this and earlier runs, including infeasible and failed points
  std::int64_t pruned = 0;  ///< need not be solved
  std::int64_t infeasible = 0;
  std::int64_t failed = 0;
  std::int64_t unproved = 0;     ///< stopped by a limit
  std::int64_t approximate = 0;  ///< proved within a requested gap, but not exactly
  std::int64_t scoped = 0;       ///< something was fixed before the search
};

/// The counters by their keys, in the order of study.json.
inline constexpr std::array<std::pair<const char*, std::int64_t StudyCount::*>, 8> kStudyCounts = {
    {{"points", &StudyCount::points},
     {"solved", &StudyCount::solved},
     {"pruned", &StudyCount::pruned},
     {"infeasible", &StudyCount::infeasible},
     {"failed", &StudyCount::failed},
     {"unproved", &StudyCount::unproved},
     {"approximate", &StudyCount::approximate},
     {"scoped", &StudyCount::scoped}}};

/// Hands out points and takes their answers.  The caller must not overlap calls.
class PointSource {
 public:
  PointSource() = default;
  PointSource(const PointSource&) = delete;
  PointSource& operator=(const PointSource&) = delete;
  virtual ~PointSource() = default;

  /// The next point to solve; nothing if none is left, or if the choice needs a pending answer.
  virtual std::optional<PointIndex> next() = 0;
  /// Whether a point with this answer, found with little effort, must be solved completely.
  virtual bool wants(const PointAnswer& answer) = 0;
  /// Takes the final answer of a point that was handed out.
  virtual void take(const PointAnswer& answer) = 0;
  [[nodiscard]] virtual StudyCount count() const = 0;
};

/// All points, one after the other.
class AllPoints : public PointSource {
 public:
  /// The points from `begin` to before `end`, except those for which `known` returns an answer.
  AllPoints(const Grid& grid, PointIndex begin, PointIndex end,
            std::function<const PointAnswer*(PointIndex)> known);

  std::optional<PointIndex> next() override;
  bool wants(const PointAnswer&) override { return true; }
  void take(const PointAnswer& answer) override;
  [[nodiscard]] StudyCount count() const override { return count_; }

 private:
  const Grid& grid_;
  const std::function<const PointAnswer*(PointIndex)> known_;
  PointIndex next_;
  const PointIndex end_;
  StudyCount count_;
};

void add_to(StudyCount& count, const PointAnswer& answer);

struct RunOptions {
  int threads = 1;  ///< at least 1
  Deadline deadline{};
  /// Called with the final answer of every point, one call at a time.
  std::function<void(const PointAnswer&)> on_answer = nullptr;
};

/// Solves the points of the source until none is left or the deadline has passed; returns true if
/// none is left.  Points are solved in parallel, a thread each; a point that takes long is
/// postponed until all others are done, and then gets all threads.  An exception of `solve` or
/// `on_answer` ends the run and is rethrown.
bool run_points(PointSource& source, const SolvePoint& solve, const RunOptions& options);

}  // namespace dfsearch::study
