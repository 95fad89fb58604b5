#pragma once
// The points of a study on the threads of one machine.

#include <functional>

#include "base/deadline.hpp"
#include "study/point_answer.hpp"
#include "study/point_source.hpp"

namespace dfsearch::study {

struct RunOptions {
  int threads = 1;  ///< at least 1
  Deadline deadline{};
  /// Called with every answer that is the last word on its point, one call at a time.
  std::function<void(const PointAnswer&)> on_answer = nullptr;
};

/// Solves what the source hands out until it has no more or the deadline has passed; true if it has
/// no more.  Points are solved side by side, a thread each; one that takes long waits until all
/// others are done and then has all threads.  What `solve` or `on_answer` throws ends the run and is
/// thrown on.
bool run_points(PointSource& source, const SolvePoint& solve, const RunOptions& options);

}  // namespace dfsearch::study
