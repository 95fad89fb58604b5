#include "cli/study_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/units_text.hpp"
#include "cli/standard_output.hpp"
#include "io/study/study_report.hpp"

namespace dfsearch {

StudyProgress::StudyProgress(const Study& study, bool quiet)
    : study_(study), quiet_(quiet), in_place_(isatty(STDERR_FILENO) != 0) {}

std::string StudyProgress::line(const study::StudyCount& count, double seconds) const {
  const double rate = static_cast<double>(solved_) / std::max(seconds, 1e-9);
  std::string text = fmt::format("{:>9}  {}", to_text(Seconds(seconds)), count.solved);
  if (study_.solves_all) {
    const auto left = static_cast<double>(count.points - count.solved);
    text += fmt::format("/{} points, {:.3g}/s, {} left", count.points, rate,
                        to_text(Seconds(left / std::max(rate, 1e-9))));
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
  ++solved_;
  const auto& figures = study_.goal.figures;
  const study::Figure figure = figures.empty() ? study::Figure::StepTime : figures.front();
  if (answer.figures.has(figure)) {
    const double value = answer.figures[figure];
    const bool better = study::more_is_better(figure) ? value > best_ : value < best_;
    if (!has_best_ || better) best_ = value;
    has_best_ = true;
  }
  const WallClock::time_point now = WallClock::now();
  if (quiet_ || now - last_ < std::chrono::seconds(in_place_ ? 1 : 10)) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string text = line(count, seconds);
  print_error(in_place_ ? "\r" + text + "\033[K" : text + "\n");
  line_is_open_ = in_place_;
}

void StudyProgress::finish() {
  if (line_is_open_) print_error("\n");
  line_is_open_ = false;
}

}  // namespace dfsearch
