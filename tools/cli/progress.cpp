#include "cli/progress.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "cli/outputs.hpp"
#include "io/result/event_text.hpp"
#include "io/text/files.hpp"
#include "study/figure.hpp"

namespace dfsearch {
namespace {

constexpr int kLinesPerHeader = 20;
// Calls of `solve` for a line, in the log of a deterministic search in a file.
constexpr std::int64_t kCallsPerLine = 8;

}  // namespace

ProgressPrinter::ProgressPrinter(const ProgressScale& scale, Detail detail, bool deterministic)
    : scale_(scale), detail_(detail), deterministic_(deterministic), in_place_(rewrites_lines()) {}

Seconds ProgressPrinter::interval() const { return in_place_ ? Seconds(1.0) : Seconds(10.0); }

/// A line is due slightly before the interval ends, as calls are not exactly an interval apart.
bool ProgressPrinter::is_due(const Progress& progress) const {
  if (!deterministic_) return progress.time - last_ >= Seconds(in_place_ ? 0.95 : 9.5);
  const std::int64_t interval = (in_place_ ? 1 : kCallsPerLine) * kNodes;
  return progress.nodes - last_nodes_ >= interval - kNodes / 2;
}

void ProgressPrinter::print_header_if_due() {
  if (lines_ % kLinesPerHeader == 0) {
    if (in_place_) rewrite_line(progress_header());
    print_error(in_place_ ? "\n" : progress_header() + "\n");
  }
  ++lines_;
}

void ProgressPrinter::print(const Progress& progress) {
  if (detail_ == Detail::Quiet) return;
  // The best mapping of another parallelism is worse.
  if (progress.rank != rank_) incumbent_ = Score::infinity();
  rank_ = progress.rank;
  const bool improved = detail_ == Detail::Verbose && progress.incumbent < incumbent_;
  if (!improved && !is_due(progress)) return;
  incumbent_ = progress.incumbent;
  last_ = progress.time;
  last_nodes_ = progress.nodes;

  const std::string line = progress_line(progress, scale_);
  if (!in_place_) {
    print_header_if_due();
    print_error(line + "\n");
    return;
  }
  if (lines_ == 0 || (improved && !line_is_open_)) print_header_if_due();
  // Lines with a new best stay, others are rewritten.
  rewrite_line(line);
  if (improved) print_error("\n");
  line_is_open_ = !improved;
  if (improved) ++lines_;
}

void ProgressPrinter::finish() {
  if (line_is_open_) print_error("\n");
  line_is_open_ = false;
}

ProgressLine::ProgressLine(bool quiet, std::function<std::string(double)> text)
    : in_place_(rewrites_lines()), text_(std::move(text)) {
  if (quiet) return;
  ticker_.emplace(Seconds(in_place_ ? 1.0 : 10.0), [this] {
    const std::string line =
        text_(std::chrono::duration<double>(WallClock::now() - start_).count());
    if (in_place_) {
      rewrite_line(line);
    } else {
      print_error(line + "\n");
    }
    line_is_open_ = in_place_;
  });
}

void ProgressLine::finish() {
  if (ticker_) ticker_->stop();
  if (line_is_open_) print_error("\n");
  line_is_open_ = false;
}

StudyProgress::StudyProgress(const Study& study, const study::StudyCount& count, bool quiet)
    : study_(study),
      count_(count),
      line_(quiet, [this](double seconds) { return line(seconds); }) {}

std::string StudyProgress::line(double seconds) {
  const std::lock_guard lock(mutex_);
  const study::StudyCount& count = count_;
  const double rate = static_cast<double>(solved_) / std::max(seconds, 1e-9);
  std::string text = fmt::format("{:>9}  {}", to_text(Seconds(seconds)), count.solved);
  if (study_.solves_all) {
    const auto left = static_cast<double>(count.points - count.solved);
    text += fmt::format("/{} points, {:.3g}/s", count.points, rate);
    if (rate > 0.0) text += fmt::format(", {} left", to_text(Seconds(left / rate)));
  } else {
    text += fmt::format(" solved of {} points, {:.3g}/s", count.points, rate);
  }
  const auto& figures = study_.goal.figures;
  if (has_best_) {
    const study::Figure figure = figures.empty() ? study::Figure::StepTime : figures.front();
    text += ", best " + figure_text(figure, best_);
  }
  if (count.failed > 0) text += fmt::format(", {} failed", count.failed);
  return text;
}

void StudyProgress::tell(const study::PointAnswer& answer, const study::StudyCount& count) {
  const std::lock_guard lock(mutex_);
  ++solved_;
  count_ = count;
  const auto& figures = study_.goal.figures;
  const study::Figure figure = figures.empty() ? study::Figure::StepTime : figures.front();
  if (!answer.figures.has(figure)) return;
  const double value = answer.figures[figure];
  const bool better = study::more_is_better(figure) ? value > best_ : value < best_;
  if (!has_best_ || better) best_ = value;
  has_best_ = true;
}

void SearchHistory::add(const Progress& progress) {
  if (!on_ || progress.rank != 1) return;
  if (points_.size() == kMost) {
    for (std::size_t i = 0; i < kMost / 2; ++i) points_[i] = points_[2 * i];
    points_.resize(kMost / 2);
  }
  SearchPoint point{.time = progress.time.in_base_units(),
                    .nodes = progress.nodes,
                    .lower_bound = progress.lower_bound.in_base_units()};
  if (progress.incumbent < Score::infinity()) {
    point.incumbent = progress.incumbent.in_base_units();
  }
  points_.push_back(point);
}

EventStream::EventStream(const std::string& file) : file_(file) {
  if (file.empty()) return;
  if (file == "-") {
    descriptor_ = STDOUT_FILENO;
    return;
  }
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
  if (descriptor_ < 0) {
    throw InputError(file + ": cannot be written: " + std::generic_category().message(errno));
  }
}

EventStream::~EventStream() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
}

void EventStream::write(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (descriptor_ < 0) return;
  try {
    write_all(descriptor_, line, file_ == "-" ? "standard output" : file_);
  } catch (const InputError& error) {
    give_up(error.messages().front());
  }
}

void EventStream::give_up(const std::string& why) {
  failure_ = why;
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
  descriptor_ = -1;
  print_notes({why + "; the search goes on without events"});
}

void EventStream::finish() {
  const std::lock_guard lock(mutex_);
  if (descriptor_ > STDERR_FILENO && ::close(std::exchange(descriptor_, -1)) != 0) {
    failure_ = file_ + ": cannot be written: " + std::generic_category().message(errno);
  }
  descriptor_ = -1;
  if (!failure_.empty()) throw InputError("the events are incomplete: " + failure_);
}

CheckpointFile::CheckpointFile(std::string file, EventStream& events)
    : file_(std::move(file)), events_(events) {}

void CheckpointFile::write(const std::string& bytes, const SearchStats& stats,
                           std::size_t open_nodes) {
  try {
    write_file(file_, bytes);
    failure_.clear();
    events_.write(checkpoint_event(stats, file_, open_nodes, bytes.size()));
  } catch (const InputError& error) {
    // Reported once; the next write may succeed.
    if (failure_.empty()) print_notes({error.messages().front() + "; the search goes on"});
    failure_ = error.messages().front();
  }
}

void CheckpointFile::finish() const {
  if (!failure_.empty()) throw InputError("the last checkpoint is missing: " + failure_);
}

}  // namespace dfsearch
