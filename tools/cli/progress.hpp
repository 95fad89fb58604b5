#pragma once
// The log of a search on standard error, its history, its stream of events, and its
// checkpoint file.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tree/search_monitor.hpp"
#include "engine/tree/tree_search.hpp"
#include "io/html/pages.hpp"
#include "io/report/report_words.hpp"
#include "io/study/study_file.hpp"
#include "study/point_answer.hpp"
#include "study/point_source.hpp"

namespace dfsearch {

enum class Detail { Quiet, Normal, Verbose };

/// On a terminal one line, rewritten every second; in a file a new line every ten seconds; with
/// Verbose also a line for every better mapping.  A search that ends before its first line prints
/// nothing.  A deterministic search counts nodes in place of seconds, so that it has the same log
/// every time.
///
/// Called by one thread at a time, as `solve` guarantees.
class ProgressPrinter {
 public:
  ProgressPrinter(const ProgressScale& scale, Detail detail, bool deterministic);

  /// Interval of the calls of `solve`: `interval` seconds, or a number of nodes.
  [[nodiscard]] Seconds interval() const;
  static constexpr std::int64_t kNodes = 1024;  // one or a few seconds of a hard search
  void print(const Progress& progress);
  /// Ends a line that was rewritten in place; call it after the search.
  void finish();

 private:
  [[nodiscard]] bool is_due(const Progress& progress) const;
  void print_header_if_due();

  const ProgressScale scale_;
  Detail detail_;
  bool deterministic_;
  bool in_place_;
  int lines_ = 0;              ///< lines since the header, without rewritten ones
  bool line_is_open_ = false;  ///< the last line will be rewritten
  Seconds last_{};             ///< of the last line
  std::int64_t last_nodes_ = 0;
  Score incumbent_ = Score::infinity();
  int rank_ = 1;
};

/// A line a second on a terminal, rewritten in place, or one every ten seconds in a file.
class ProgressLine {
 public:
  /// A separate thread calls `text` with the seconds since the construction.
  ProgressLine(bool quiet, std::function<std::string(double)> text);
  /// Stops printing; ends a line that was rewritten.
  void finish();

 private:
  using WallClock = std::chrono::steady_clock;

  const bool in_place_;
  const std::function<std::string(double)> text_;
  const WallClock::time_point start_ = WallClock::now();
  bool line_is_open_ = false;
  std::optional<Ticker> ticker_;  // declared last, as it uses the others
};

/// The progress line of a study, updated even while one point takes long.
class StudyProgress {
 public:
  StudyProgress(const Study& study, const study::StudyCount& count, bool quiet);

  void tell(const study::PointAnswer& answer, const study::StudyCount& count);
  void finish() { line_.finish(); }

 private:
  [[nodiscard]] std::string line(double seconds);

  const Study& study_;
  std::mutex mutex_;  // guards the members below
  study::StudyCount count_;
  std::int64_t solved_ = 0;  // by this run
  double best_ = 0.0;
  bool has_best_ = false;
  ProgressLine line_;  // declared last, as it uses the others
};

/// Keeps at most 512 reports of the progress of a search; beyond that it drops every second one.
/// Called by one thread at a time.
class SearchHistory {
 public:
  explicit SearchHistory(bool on) : on_(on) {
    if (on) points_.reserve(kMost);  // so that `add` does not throw
  }

  [[nodiscard]] bool is_on() const { return on_; }
  /// Ignores reports on the next-best parallelism.
  void add(const Progress& progress);
  [[nodiscard]] const std::vector<SearchPoint>& points() const { return points_; }

 private:
  static constexpr std::size_t kMost = 512;

  const bool on_;
  std::vector<SearchPoint> points_;
};

// The stream of events of a search.

/// Writes lines to a file or standard output, each at once.  Any thread.  A stream that
/// cannot be written is reported once and given up; the search continues.
class EventStream {
 public:
  /// "-" is standard output; empty: nothing is written.  Throws InputError if the
  /// file cannot be opened.
  explicit EventStream(const std::string& file);
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;
  ~EventStream();

  [[nodiscard]] bool is_on() const { return !file_.empty(); }
  void write(std::string_view line);
  /// Throws InputError if the stream was given up.
  void finish();

 private:
  void give_up(const std::string& why);

  const std::string file_;
  std::mutex mutex_;     // guards the members below
  int descriptor_ = -1;  // -1: not opened, or given up
  std::string failure_;
};

/// Replaces the whole file at every checkpoint.  A checkpoint that cannot be written
/// leaves the previous one; the search continues and tries the next.
class CheckpointFile {
 public:
  CheckpointFile(std::string file, EventStream& events);

  void write(const std::string& bytes, const SearchStats& stats, std::size_t open_nodes);
  /// Throws InputError if the last checkpoint could not be written.
  void finish() const;

 private:
  const std::string file_;
  EventStream& events_;
  std::string failure_;  // failure of the last checkpoint
};

}  // namespace dfsearch
