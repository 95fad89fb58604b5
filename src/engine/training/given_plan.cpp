#include "engine/training/given_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "engine/training/plan_rules.hpp"
#include "engine/training/plan_space.hpp"
#include "model/training/framework.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/memory.hpp"
#include "model/training/names.hpp"
#include "model/training/rank_order.hpp"

namespace dfsearch::training {
namespace {

std::string number_text(std::int64_t number) { return std::to_string(number); }

void check_network(const Task& task, const Plan& plan, RuledOut& reasons) {
  const auto& pins = task.choices.network;
  for (std::size_t d = 0; d < pins.size() && d < plan.network.size(); ++d) {
    for (const Role role : kRoles) {
      if (!pins[d] || *pins[d] == role || plan.network[d][role] == 1) continue;
      add_reason(fmt::format("network.{}.strategy", d), name_of(*pins[d]), name_of(role), reasons);
    }
  }
}

}  // namespace

RuledOut ruled_out(const Task& task, const Plan& plan) {
  RuledOut reasons;
  const Choices& choices = task.choices;
  for (const Role role : kRoles) {
    const std::int64_t degree = role == Role::Data     ? plan.degrees.replicas()
                                : role == Role::Expert ? expert_ranks(plan.degrees, plan.layout)
                                                       : plan.degrees[role];
    check_choice(name_of(role), choices.degrees[static_cast<std::size_t>(role)], degree, reasons);
  }
  check_list("micro_batch", choices.micro_batches, plan.micro_batch, number_text, reasons);
  if (plan.degrees[Role::Tensor] > 1) {
    check_list(
        "layout", choices.layouts, plan.layout, [](TensorLayout layout) { return name_of(layout); },
        reasons);
  }
  check_list(
      "recompute", choices.recomputes, plan.recompute,
      [](Recompute recompute) { return name_of(recompute); }, reasons);
  // One chip with the same weights divides them with none: all of ZeRO is then the same.
  if (sharing_chips(plan.degrees, false) > 1.0) {
    check_list("zero", choices.zeros, plan.zero, number_text, reasons);
  }
  check_list(
      "schedule", choices.schedules, plan.schedule,
      [](Schedule schedule) { return name_of(schedule); }, reasons);
  check_list("chunks", choices.chunks, plan.chunks, number_text, reasons);
  if (choices.offload && *choices.offload != plan.offload) {
    reasons.emplace_back("offload: it is another one than that of the config");
  }
  if (!choices.layers.empty() && choices.layers != plan.layers) {
    add_reason("layers", fmt::format("{}", choices.layers), fmt::format("{}", plan.layers),
               reasons);
  }
  check_network(task, plan, reasons);
  if (!task.framework) return reasons;
  for (const std::string_view lack : lacks(*task.framework, task.facts(), plan)) {
    reasons.push_back(fmt::format("{} does not run it: {}", name_of(*task.framework), lack));
  }
  if (!can_number(*task.framework, plan.network, plan.layout)) {
    reasons.push_back(
        fmt::format("{} cannot give its ranks these places", name_of(*task.framework)));
  }
  return reasons;
}

bool is_searched(const Task& task, const Plan& plan) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  return PlanRules(space, shelf).cost(decisions_of(plan)).has_value();
}

}  // namespace dfsearch::training
