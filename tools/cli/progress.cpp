#include "cli/progress.hpp"

#include "cli/standard_output.hpp"

namespace dfsearch {
namespace {

constexpr int kLinesPerHeader = 20;
// In a file, of a deterministic search.
constexpr std::int64_t kCallsPerLine = 8;

}  // namespace

ProgressPrinter::ProgressPrinter(const ProgressScale& scale, Detail detail, bool deterministic)
    : scale_(scale), detail_(detail), deterministic_(deterministic), in_place_(rewrites_lines()) {}

Seconds ProgressPrinter::interval() const { return in_place_ ? Seconds(1.0) : Seconds(10.0); }

/// A line is due a little early: calls are not exactly an interval apart.
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
  // Of another parallelism the best mapping is worse.
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
  // What was found stays, the rest is rewritten.
  rewrite_line(line);
  if (improved) print_error("\n");
  line_is_open_ = !improved;
  if (improved) ++lines_;
}

void ProgressPrinter::finish() {
  if (line_is_open_) print_error("\n");
  line_is_open_ = false;
}

}  // namespace dfsearch
