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

/// A choice that may be left open, and a function that does so and returns whether it was given.
struct OpenPin {
  NoPlan::Pin pin;
  bool (*open)(Choices& choices);
};

bool open_degrees(Choices& choices) {
  const bool was_given =
      std::any_of(choices.degrees.begin(), choices.degrees.end(), [](const DegreeChoice& each) {
        return !each.values.empty() || each.least > 1 || each.most < DegreeChoice().most;
      });
  choices.degrees = {};
  return was_given;
}

constexpr std::array kPins = {
    OpenPin{NoPlan::Pin::Degrees, open_degrees},
    OpenPin{NoPlan::Pin::Network, [](Choices& c) { return open_lists(c.network); }},
    OpenPin{NoPlan::Pin::Schedule, [](Choices& c) { return open_lists(c.schedules, c.chunks); }},
    OpenPin{NoPlan::Pin::Layout, [](Choices& c) { return open_lists(c.layouts); }},
    OpenPin{NoPlan::Pin::Recompute, [](Choices& c) { return open_lists(c.recomputes); }},
    OpenPin{NoPlan::Pin::MicroBatch, [](Choices& c) { return open_lists(c.micro_batches); }},
    OpenPin{NoPlan::Pin::Layers, [](Choices& c) { return open_lists(c.layers); }}};

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
  for (const auto& [pin, open] : kPins) {
    Task opened = task;
    if (open(opened.choices) && has_plans(opened, deadline)) why.pins.push_back(pin);
  }
  return why;
}

}  // namespace dfsearch::training
