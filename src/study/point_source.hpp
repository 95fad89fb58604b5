#pragma once
// Which points of a study are to be solved next: what an executor asks.

#include <cstdint>
#include <optional>

#include "study/point_answer.hpp"

namespace dfsearch::study {

/// How far a study is.
struct StudyCount {
  std::int64_t points = 0;  ///< all, without those excluded
  std::int64_t solved = 0;  ///< or found infeasible or failed, by this run and those before
  std::int64_t pruned = 0;  ///< need not be solved
  std::int64_t infeasible = 0;
  std::int64_t failed = 0;
  std::int64_t unproved = 0;     ///< stopped by a limit
  std::int64_t approximate = 0;  ///< proved within a gap that was asked for, but not exactly
  std::int64_t scoped = 0;       ///< something was fixed before the search
};

/// Hands out points and takes their answers.  Whoever calls it sees to it that calls do not overlap.
class PointSource {
 public:
  PointSource() = default;
  PointSource(const PointSource&) = delete;
  PointSource& operator=(const PointSource&) = delete;
  virtual ~PointSource() = default;

  /// A point to be solved; nothing: none, or none before an answer that is due.
  virtual std::optional<PointIndex> next() = 0;
  /// Whether all of a point must still be known, of which some effort found so much.
  virtual bool wants(const PointAnswer& answer) = 0;
  /// The last word on a point that was handed out.
  virtual void take(const PointAnswer& answer) = 0;
  [[nodiscard]] virtual StudyCount count() const = 0;
};

}  // namespace dfsearch::study
