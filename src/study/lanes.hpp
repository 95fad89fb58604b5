#pragma once
// Threads that solve points while their caller does other work.

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "study/point_answer.hpp"

namespace dfsearch::study {

/// One thread puts points in and takes answers out.
class Lanes {
 public:
  /// Starts `lanes` threads, each solving one point at a time; `whole` points use `threads`
  /// threads.
  Lanes(const SolvePoint& solve, int lanes, int threads);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  /// Waits for points that are being solved; drops all others.
  ~Lanes();

  /// Adds a point.  With `whole` it is solved by all threads, and no other point may be added
  /// meanwhile.
  void put(PointIndex point, bool whole);
  /// Wait::No returns an answer if there is one; Wait::Yes waits for the next one.  Throws the
  /// exception that ended a call of `solve`.
  enum class Wait : bool { No, Yes };
  std::optional<PointAnswer> take(Wait wait = Wait::No);

 private:
  void work(std::size_t lane);

  const SolvePoint& solve_;
  const int threads_;
  std::mutex mutex_;                  // guards the members below
  std::condition_variable changed_;   // for lanes
  std::condition_variable answered_;  // for the caller
  std::deque<std::pair<PointIndex, bool>> points_;
  std::deque<PointAnswer> answers_;
  std::exception_ptr failure_;
  bool stopped_ = false;
  std::vector<std::thread> lanes_;  // last: they use the others
};

}  // namespace dfsearch::study
