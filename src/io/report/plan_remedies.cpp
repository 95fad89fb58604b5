#include "io/report/report_parts.hpp"

#include <algorithm>
#include <cmath>

#include "model/training/decisions.hpp"
#include "model/training/switch_times.hpp"

namespace dfsearch {
namespace {

std::string degree_text(const training::Plan& plan, training::Role role) {
  return fmt::format("{} {}", training::name_of(role),
                     role == training::Role::Data ? plan.degrees.replicas() : plan.degrees[role]);
}

std::string plan_remedy_text(const training::Remedy& remedy) {
  const training::Plan& plan = remedy.plan;
  std::string what;
  if (const training::Decision* decision = training::decision_of(remedy.key)) {
    what = fmt::format("{} {}", decision->remedy, decision->text_of(plan));
  } else if (remedy.key == "layers") {
    what = "other layers for the stages";
  } else if (remedy.key == "micro_batch") {
    what = fmt::format("micro-batches of {}", plan.micro_batch);
  } else if (remedy.role == training::Role::Expert) {
    what = fmt::format("expert {}", training::expert_ranks(plan.degrees, plan.layout));
  } else {
    what = degree_text(plan, *remedy.role);
  }
  if (remedy.with_data) what += " with " + degree_text(plan, training::Role::Data);
  if (remedy.without_layers) what += ", with other layers for the stages,";
  return fmt::format("{} would fit: {} on the fullest stage", what, to_text(remedy.needed));
}

/// The number with its unit and its quantity.
std::string plan_number_text(training::NumberChange::Kind kind, double value) {
  const auto bytes = [&] { return fmt::format("{} ({:.0f} B)", to_text(Bytes(value)), value); };
  switch (kind) {
    case training::NumberChange::Kind::Memory:
      return fmt::format("memory of {} on each chip", bytes());
    case training::NumberChange::Kind::SecondMemory:
      return fmt::format("second memory of {} for each chip", bytes());
    case training::NumberChange::Kind::Chips:
      return fmt::format("{:.0f} chips", value);
    case training::NumberChange::Kind::Sequence:
      return fmt::format("sequence of {:.0f}", value);
    case training::NumberChange::Kind::Batch:
      return fmt::format("global batch of {:.0f}", value);
  }
  return "";
}

/// A change that makes a plan fit, as in "24 chips would fit: 75 GB on the fullest stage; ...".
std::string plan_change_text(const training::NumberChange& change) {
  std::string what = plan_number_text(change.kind, change.tried);
  if (change.also) what += " with " + degree_text(change.with->plan, *change.also);
  switch (change.kind) {
    case training::NumberChange::Kind::Memory:
    case training::NumberChange::Kind::SecondMemory:
      return what + " would fit; one byte less would not";
    case training::NumberChange::Kind::Chips:
      return fmt::format("{} would fit: {} on the fullest stage; {}", what,
                         to_text(change.with->needed),
                         change.is_nearest ? "the network allows no smaller number that fits"
                                           : "not all smaller numbers were tried");
    case training::NumberChange::Kind::Sequence:
    case training::NumberChange::Kind::Batch:
      return fmt::format(
          "{} would fit: {} on the fullest stage; found by halving, so a larger one may fit", what,
          to_text(change.with->needed));
  }
  return "";
}

/// A change that does not help, as in "chips doubled up to 131072".
std::string no_help_text(const training::NumberChange& change) {
  const double tried = change.tried;
  switch (change.kind) {
    case training::NumberChange::Kind::Chips:
      return fmt::format("chips doubled up to {:.0f}", tried);
    case training::NumberChange::Kind::Sequence:
      return fmt::format("a sequence halved down to {:.0f}", tried);
    case training::NumberChange::Kind::Batch:
      return fmt::format("a global batch halved down to {:.0f}", tried);
    default:
      return "";  // more memory always suffices
  }
}

/// Changes that suffice alone, and changes that do not.
Sheet plan_change_lines(const training::NearestMisfit& nearest) {
  Sheet text;
  std::string others;
  for (const training::NumberChange& change : nearest.changes) {
    if (change.with) {
      text += labelled("what helps", plan_change_text(change));
    } else {
      others += (others.empty() ? "" : "; ") + no_help_text(change);
    }
  }
  if (!others.empty()) text += labelled("no help", others);
  const bool is_said = std::any_of(nearest.changes.begin(), nearest.changes.end(),
                                   [](const training::NumberChange& change) {
                                     return change.kind == training::NumberChange::Kind::Chips &&
                                            change.with && !change.is_nearest;
                                   });
  if (nearest.changes_complete == false && !is_said) {
    text += labelled("not tried",
                     "other numbers: the search for them ends after a second or at its limits");
  }
  return text;
}

/// Whether a plan would use a second memory that the machine does not have.
bool may_offload(const training::Task& task) {
  return !task.machine.second_memory() && !task.stack && !task.choices.offload &&
         task.framework != Framework::Torchtitan;
}

}  // namespace

Sheet plan_remedy_lines(const training::Task& task, const training::NearestMisfit& nearest) {
  Sheet text;
  for (const training::Remedy& remedy : nearest.remedies)
    text += labelled("what helps", plan_remedy_text(remedy));
  text += plan_change_lines(nearest);
  if (!nearest.changes_complete && nearest.remedies.empty()) {
    text += labelled("what helps", "no single given value makes a plan fit when it is left open");
  }
  if (nearest.remedies.empty() && may_offload(task)) {
    text += labelled("not tried", "a second memory to offload to (system.memory.second)");
  }
  return text;
}

// Times of a step other than that of the plan.

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

/// The step with other values of the switches of experts, if they change it by a percent or more.
Sheet switch_lines(const Task& task, const PlanResult& result) {
  if (!task.stack || !result.plan) return "";
  Sheet text;
  const bool is_open = task.stack->is_open(task.model.experts.has_value()) && result.interval;
  if (is_open) {
    text +=
        labelled("switches", fmt::format("of experts are left out: {:.1f} times from low to high",
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
    return labelled("hint", "fits, but is not among the plans that are searched: it is ignored");
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
