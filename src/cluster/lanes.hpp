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
  Lanes(const SolvePoint& solve, int threads);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  /// Waits for points that are being solved; others are dropped.
  ~Lanes();

  /// A point that is put in with `whole` has all threads; no other one may be put in meanwhile.
  void put(PointIndex point, bool whole);
  /// An answer, if there is one.  Throws what `solve` threw.
  std::optional<PointAnswer> take();

 private:
  void work(std::size_t lane);

  const SolvePoint& solve_;
  const int threads_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<std::pair<PointIndex, bool>> points_;
  std::deque<PointAnswer> answers_;
  std::exception_ptr failure_;
  bool stopped_ = false;
  std::vector<std::thread> lanes_;  // last: they use the others
};

}  // namespace dfsearch::study
