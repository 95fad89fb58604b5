#pragma once
// How far a study is, on standard error.

#include <cstdint>
#include <mutex>
#include <string>

#include "cli/progress_line.hpp"
#include "io/study/study_file.hpp"
#include "study/point_answer.hpp"
#include "study/point_source.hpp"

namespace dfsearch {

/// Also while one point takes long.
class StudyProgress {
 public:
  StudyProgress(const Study& study, const study::StudyCount& count, bool quiet);

  void tell(const study::PointAnswer& answer, const study::StudyCount& count);
  void finish() { line_.finish(); }

 private:
  [[nodiscard]] std::string line(double seconds);

  const Study& study_;
  std::mutex mutex_;  // guards what follows
  study::StudyCount count_;
  std::int64_t solved_ = 0;  // by this run
  double best_ = 0.0;
  bool has_best_ = false;
  ProgressLine line_;  // last: it uses the others
};

}  // namespace dfsearch
