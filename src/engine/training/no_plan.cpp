#include "engine/training/no_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "model/training/decisions.hpp"
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

bool open_degrees(Choices& choices) {
  const bool was_given =
      std::any_of(choices.degrees.begin(), choices.degrees.end(), [](const DegreeChoice& each) {
        return !each.values.empty() || each.least > 1 || each.most < DegreeChoice().most;
      });
  choices.degrees = {};
  return was_given;
}

/// Keys whose values may be left open, and functions that do so and return whether they were given.
using OpenPin = std::pair<std::string, bool (*)(Choices& choices)>;

std::vector<OpenPin> open_pins() {
  std::vector<OpenPin> all = {
      {"parallelism", open_degrees},
      {"the strategies of system.network", [](Choices& c) { return open_lists(c.network); }}};
  for (const Decision& decision : decisions()) {
    if (decision.open) all.emplace_back("training." + std::string(decision.pin), decision.open);
  }
  all.emplace_back("workload.micro_batch", [](Choices& c) { return open_lists(c.micro_batches); });
  all.emplace_back("training.layers", [](Choices& c) { return open_lists(c.layers); });
  return all;
}

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
  for (const auto& [key, open] : open_pins()) {
    Task opened = task;
    if (open(opened.choices) && has_plans(opened, deadline)) why.pins.push_back(key);
  }
  return why;
}

}  // namespace dfsearch::training
