#pragma once
// How far a study is, on standard error.

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "engine/tree/ticker.hpp"
#include "io/study/study_file.hpp"
#include "study/point_answer.hpp"
#include "study/point_source.hpp"

namespace dfsearch {

/// A line a second on a terminal, rewritten in place, or one every ten seconds in a file, also while
/// one point takes long.
class StudyProgress {
 public:
  StudyProgress(const Study& study, const study::StudyCount& count, bool quiet);

  void tell(const study::PointAnswer& answer, const study::StudyCount& count);
  /// Ends a line that was rewritten.
  void finish();

 private:
  using WallClock = std::chrono::steady_clock;

  void show();
  [[nodiscard]] std::string line(double seconds) const;

  const Study& study_;
  const bool in_place_;
  const WallClock::time_point start_ = WallClock::now();
  std::mutex mutex_;  // guards what follows
  study::StudyCount count_;
  std::int64_t solved_ = 0;  // by this run
  double best_ = 0.0;
  bool has_best_ = false;
  bool line_is_open_ = false;
  std::optional<Ticker> ticker_;  // last: it uses the others
};

}  // namespace dfsearch
