#include "cli/study_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/units_text.hpp"
#include "study/figure.hpp"

namespace dfsearch {

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

}  // namespace dfsearch
