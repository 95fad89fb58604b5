#pragma once
// How far a study is, on standard error.

#include <chrono>

#include "io/study/study_file.hpp"
#include "study/point_answer.hpp"
#include "study/point_source.hpp"

namespace dfsearch {

/// A line a second on a terminal, rewritten in place, or one every ten seconds in a file.  Calls must
/// not overlap.
class StudyProgress {
 public:
  StudyProgress(const Study& study, bool quiet);

  void tell(const study::PointAnswer& answer, const study::StudyCount& count);
  /// Ends a line that was rewritten.
  void finish();

 private:
  using WallClock = std::chrono::steady_clock;

  [[nodiscard]] std::string line(const study::StudyCount& count, double seconds) const;

  const Study& study_;
  const bool quiet_;
  const bool in_place_;
  const WallClock::time_point start_ = WallClock::now();
  WallClock::time_point last_ = start_;
  std::int64_t solved_ = 0;  // by this run
  double best_ = 0.0;
  bool has_best_ = false;
  bool line_is_open_ = false;
};

}  // namespace dfsearch
