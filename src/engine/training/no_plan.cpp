#include "engine/training/no_plan.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "model/training/layout_shelf.hpp"

namespace dfsearch::training {
namespace {

/// Calls `visit` with each plan up to its layers and place, until that returns false.
template <class Visit>
void for_each_plan(const Task& task, const Deadline& deadline, const Visit& visit) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  for (const Degrees& inner : space.inner_degrees()) {
    for (const Degrees& degrees : space.degrees(inner)) {
      for (const TensorLayout layout : space.layouts(degrees, shelf, deadline)) {
        deadline.check();
        if (space.networks(degrees, layout, deadline).empty()) continue;
        for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
          for (const Plan& plan : space.shapes(degrees, micro_batch, layout)) {
            if (!visit(plan)) return;
          }
        }
      }
    }
  }
}

bool has_plans(const Task& task, const Deadline& deadline) {
  bool found = false;
  for_each_plan(task, deadline, [&](const Plan&) {
    found = true;
    return false;
  });
  return found;
}

/// The choices without one of them; nothing if it is open already.
std::optional<Choices> without(Choices choices, NoPlan::Pin pin) {
  const auto open = [](auto&... lists) {
    const bool was_given = (!lists.empty() || ...);
    (lists.clear(), ...);
    return was_given;
  };
  bool was_given = false;
  switch (pin) {
    case NoPlan::Pin::Degrees:
      was_given =
          std::any_of(choices.degrees.begin(), choices.degrees.end(), [](const DegreeChoice& each) {
            return !each.values.empty() || each.least > 1 || each.most < DegreeChoice().most;
          });
      choices.degrees = {};
      break;
    case NoPlan::Pin::Network:
      was_given = open(choices.network);
      break;
    case NoPlan::Pin::Schedule:
      was_given = open(choices.schedules, choices.chunks);
      break;
    case NoPlan::Pin::Layout:
      was_given = open(choices.layouts);
      break;
    case NoPlan::Pin::Recompute:
      was_given = open(choices.recomputes);
      break;
    case NoPlan::Pin::MicroBatch:
      was_given = open(choices.micro_batches);
      break;
    case NoPlan::Pin::Layers:
      was_given = open(choices.layers);
      break;
  }
  if (!was_given) return std::nullopt;
  return choices;
}

constexpr std::array kPins = {NoPlan::Pin::Degrees, NoPlan::Pin::Network,   NoPlan::Pin::Schedule,
                              NoPlan::Pin::Layout,  NoPlan::Pin::Recompute, NoPlan::Pin::MicroBatch,
                              NoPlan::Pin::Layers};

}  // namespace

NoPlan why_no_plan(const Task& task, const Deadline& deadline) {
  NoPlan why;
  if (task.framework) {
    Task any = task;
    any.framework.reset();
    bool first = true;
    for_each_plan(any, deadline, [&](const Plan& plan) {
      std::vector<std::string_view> found = lacks(*task.framework, task.facts(), plan);
      why.other_ranks = found.empty();
      if (first || found.size() < why.lacks.size()) why.lacks = std::move(found);
      first = false;
      return !why.lacks.empty();
    });
    if (!first) return why;
  }
  for (const NoPlan::Pin pin : kPins) {
    std::optional<Choices> choices = without(task.choices, pin);
    if (!choices) continue;
    Task open = task;
    open.choices = std::move(*choices);
    if (has_plans(open, deadline)) why.pins.push_back(pin);
  }
  return why;
}

}  // namespace dfsearch::training
