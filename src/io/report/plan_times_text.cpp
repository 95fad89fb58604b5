// Times of a step beside the one of the plan.

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/units_text.hpp"
#include "io/report/report_parts.hpp"
#include "io/report/report_words.hpp"
#include "model/training/switch_times.hpp"

namespace dfsearch {
namespace {

using training::PlanResult;
using training::Task;

Sheet interval_line(const PlanResult& result) {
  if (!result.interval) return "";
  return labelled("interval",
                  fmt::format("{} to {}: all constants of the stack at their low and "
                              "high ends",
                              to_text(result.interval->low), to_text(result.interval->high)));
}

/// The step with other values of the switches of experts, as far as they change it by a percent.
Sheet switch_lines(const Task& task, const PlanResult& result) {
  if (!task.stack || !result.plan) return "";
  Sheet text;
  const bool is_open = task.stack->is_open(task.model.experts.has_value()) && result.interval;
  if (is_open) {
    text +=
        labelled("switches", fmt::format("of experts are not told: {:.1f} times from low to high",
                                         result.interval->high / result.interval->low));
  }
  std::string changes;
  for (const training::SwitchTime& time :
       training::switch_times(task, result.assumed, *result.plan)) {
    const double more = time.step / result.cost->step_time - 1.0;
    if (std::abs(more) < 0.01) continue;
    changes +=
        fmt::format("{}{} {:+.0f} %", changes.empty() ? "" : ", ", time.to.name, 100.0 * more);
  }
  if (!changes.empty()) text += labelled(is_open ? "" : "switches", changes);
  return text;
}

/// Distance of the hint from the answer.
Sheet hint_line(const PlanResult& result) {
  if (!result.hint) return "";
  if (!(*result.hint < Seconds::infinity())) {
    return labelled("hint", "fits, but what it says is none of the plans searched: it is left out");
  }
  const double more = *result.hint / result.cost->step_time - 1.0;
  return labelled("hint",
                  to_text(*result.hint) +
                      (more > 0.0 ? fmt::format(", {} slower than the best found", percent(more))
                                  : ", and nothing faster was found"));
}

}  // namespace

Sheet other_time_lines(const Task& task, const PlanResult& result) {
  return hint_line(result) + interval_line(result) + switch_lines(task, result);
}

}  // namespace dfsearch
