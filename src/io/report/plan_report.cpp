// The report of a plan: the proof, the plan, the parts of its time, the memory of the fullest
// stage, and the effort of the search.

#include "io/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "base/units_text.hpp"
#include "io/report/report_parts.hpp"
#include "io/report/report_words.hpp"
#include "io/result/plan_lack.hpp"
#include "io/text/joined.hpp"
#include "io/text/text_table.hpp"
#include "model/training/decisions.hpp"
#include "model/training/fused_part.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/plan.hpp"

namespace dfsearch {
namespace {

using training::Degrees;
using training::Division;
using training::FoundPlan;
using training::kRoles;
using training::MemoryUse;
using training::Misfit;
using training::Plan;
using training::PlanResult;
using training::Role;
using training::Task;

constexpr std::string_view kOne = "a plan";
constexpr std::string_view kNone = "no plan";

/// "tensor 8, pipeline 4, data 64"; as usual, data counts all replicas.
std::string degrees_text(const Plan& plan) {
  const Degrees& degrees = plan.degrees;
  std::string text = fmt::format("tensor {}", degrees[Role::Tensor]);
  if (degrees[Role::Context] > 1) text += fmt::format(", context {}", degrees[Role::Context]);
  text += fmt::format(", pipeline {}, data {}", degrees[Role::Pipeline], degrees.replicas());
  if (degrees[Role::Tensor] > 1 && plan.layout == training::TensorLayout::WholeExperts) {
    text += fmt::format(", expert {} with the tensor ranks", expert_ranks(degrees, plan.layout));
  } else if (degrees[Role::Expert] > 1) {
    text += fmt::format(" of which expert {}", degrees[Role::Expert]);
  }
  return text;
}

constexpr const char* fill_text(MeshFill fill) {
  switch (fill) {
    case MeshFill::Straight:
      return "";
    case MeshFill::Snake:
      return ", as a snake";
    case MeshFill::Rows:
      return ", by rows";
    case MeshFill::SnakeRows:
      return ", by rows as a snake";
  }
  return "";
}

/// Places of the roles on a mesh.
std::string place_text(const Division& division) {
  if (division.order.empty()) return "";
  return fmt::format(
      " ({} from the inside out{})",
      joined(division.order, ", ", [](Role role) { return training::name_of(role); }),
      fill_text(division.fill));
}

/// "switch of 8: tensor 8; switch of 256: data 64 x pipeline 4", innermost dimension first.
std::string network_text(const Task& task, const Plan& plan) {
  std::string text;
  for (std::size_t d = 0; d < plan.network.size(); ++d) {
    if (d > 0) text += "; ";
    const NetworkDimension& dimension = task.machine.network[d];
    text += fmt::format("{} of {}:", topology_name(dimension), extent_text(dimension));
    std::string roles;
    for (const Role role : kRoles) {
      if (plan.network[d][role] == 1) continue;
      roles += fmt::format("{}{} {}", roles.empty() ? " " : " x ", training::name_of(role),
                           plan.network[d][role]);
    }
    text += roles.empty() ? " idle" : roles;
    text += place_text(plan.network[d]);
  }
  return text;
}

/// "15 x 5, 1 x 3": runs of equal stages.
std::string layers_text(const std::vector<std::int64_t>& layers) {
  std::string text;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t end = i;
    while (end < layers.size() && layers[end] == layers[i]) ++end;
    const auto stages = static_cast<std::int64_t>(end - i);
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", then ", layers[i],
                        stages == 1 ? "one stage" : fmt::format("each of {} stages", stages));
    i = end;
  }
  return text;
}

/// "NORM_1, NORM_2 and PROJ", or "nothing".
std::string kernels_text(const std::vector<std::string>& names) {
  return names.empty() ? "nothing" : listed(names, " and ");
}

std::string layout_text(const Task& task, const Plan& plan) {
  using training::TensorLayout;
  if (plan.degrees[Role::Tensor] == 1) return "whole on every chip";
  if (plan.layout == TensorLayout::LeastSent) {
    return "least_sent: norms and sums whole on every tensor rank";
  }
  if (plan.layout == TensorLayout::LeastKept) {
    return "least_kept: norms and sums split among the tensor ranks, as in sequence parallelism";
  }
  if (plan.layout == TensorLayout::WholeExperts) {
    return "whole_experts: as in sequence parallelism, experts whole and divided among tensor "
           "ranks";
  }
  const training::Blocks blocks = training::blocks_of(task);
  training::LayoutShelf shelf(task, blocks);
  const training::Part part = shelf.most_layers();
  const auto layouts = shelf.layouts(part, plan.degrees, plan.layout);
  const training::LayoutSummary summary = training::summary_of(*blocks[part], *layouts.tensor);
  return fmt::format("{}: {} kept whole on every tensor rank, {} gathered again",
                     training::name_of(plan.layout), kernels_text(summary.whole),
                     kernels_text(summary.again));
}

Sheet plan_lines(const Task& task, const Plan& plan) {
  const std::int64_t rounds = task.global_batch / (plan.degrees.replicas() * plan.micro_batch);
  Sheet text =
      labelled("parallelism", degrees_text(plan)) +
      (plan.network.empty() ? "" : labelled("network", network_text(task, plan))) +
      labelled("batch",
               fmt::format("global {}, {} of {} for each replica", task.global_batch,
                           fmt::format("{} micro-batch{}", rounds, rounds == 1 ? "" : "es"),
                           plural(plan.micro_batch, "sample"))) +
      labelled("layout", layout_text(task, plan)) +
      labelled("schedule",
               fmt::format("{}{}", training::name_of(plan.schedule),
                           plan.chunks > 1 ? fmt::format(", {} chunks a stage", plan.chunks) : ""));
  if (!plan.layers.empty()) text += labelled("layers", layers_text(plan.layers));
  for (const training::Decision& decision : training::decisions()) {
    if (decision.label.empty() || (decision.is_reported && !decision.is_reported(task))) continue;
    text += labelled(decision.label, decision.text_of(plan));
  }
  return text;
}

/// ", on stage 7, the slowest", if there are several stages.
std::string among_stages(const Plan& plan, std::string_view of, std::int64_t stage,
                         std::string_view what) {
  if (plan.degrees[Role::Pipeline] == 1) return "";
  return fmt::format("{}stage {}, the {}", of, stage, what);
}

Sheet time_lines(const Plan& plan, const training::Cost& cost) {
  const training::StepParts& parts = cost.parts;
  const Parts named = parts_of(
      "time of the step" + among_stages(plan, ", on ", cost.slowest, "slowest"), cost.step_time,
      {{"compute", parts.compute},
       {"recompute", parts.recompute},
       {"tensor", parts.tensor},
       {"context", parts.context},
       {"expert", parts.expert},
       {"pipeline", parts.pipeline},
       {"bubble", parts.bubble},
       {"data", parts.data},
       {"optimizer", parts.optimizer},
       {"offload", parts.offload},
       {"host", parts.host}});
  const Parts::Row* most = nullptr;
  for (const Parts::Row& row : named.rows) {
    if (row.name != "compute" && (most == nullptr || most->share < row.share)) most = &row;
  }
  return most == nullptr
             ? Sheet(named)
             : named + Sheet(fmt::format("  largest part after compute: {}\n", most->name));
}

/// A table of partitions for each pass of each part.
Sheet fusion_lines(const Task& task, const FoundPlan& found) {
  Sheet text;
  for (const auto& part : training::fused_summary(task, *found.plan, found.fusions)) {
    const std::string pass = fmt::format("fused {}, {}: {} for a micro-batch, ", part.part,
                                         training::name_of(part.kind), to_text(part.time));
    if (part.partitions.empty()) {
      text += "\n" + pass + "kernels one by one\n";
      continue;
    }
    TextTable table({"time", "bound by", "SRAM", "kernels"});
    for (const auto& partition : part.partitions) {
      table.add({to_text(partition.time), name_of(partition.bound_by), to_text(partition.sram)},
                partition.kernels);
    }
    text += TitledTable{
        fmt::format("{}{} in tiles of {}", pass, plural(std::ssize(part.partitions), "partition"),
                    plural(part.tile, "token")),
        std::move(table)};
  }
  return text;
}

/// "41 GB to 52 GB of 85 GB: fits, not at the high end; fullest in the last layer".
Sheet judgement_line(const std::optional<training::MemoryJudgement>& judgement) {
  if (!judgement) return "";
  const auto& [needed, verdict, held, visible] = *judgement;
  using memory::Level;
  return fmt::format(
      "  {}: low {}, typical {}, high {}; fullest {}\n", name_of(verdict),
      to_text(needed[Level::Low]), to_text(needed[Level::Typical]), to_text(needed[Level::High]),
      held.moment == memory::Moment::Step   ? "in the step of the optimizer"
      : held.moment == memory::Moment::Loss ? "in the loss"
                                            : fmt::format("in the {}", name_of(held.moment)));
}

Sheet memory_lines(const Task& task, const Plan& plan, const MemoryUse& use, std::int64_t stage,
                   const std::optional<training::MemoryJudgement>& judgement) {
  const Bytes total = use.total();
  const Bytes capacity = task.machine.memory[0].capacity;
  std::string title = fmt::format("memory of a chip{}: {}",
                                  among_stages(plan, " of ", stage, "fullest"), to_text(total));
  if (capacity < Bytes::infinity()) {
    title += fmt::format(" of {} ({})", to_text(capacity), percent(total / capacity));
  }
  Sheet text = parts_of(std::move(title), total,
                        {{"weights", use.weights},
                         {"gradients", use.gradients},
                         {"optimizer", use.optimizer},
                         {"activations", use.activations},
                         {"working", use.working},
                         {"ends of the model", use.ends},
                         {"runtime", use.runtime}});
  text += judgement_line(judgement);
  if (use.second > Bytes{}) {
    text += fmt::format("  second memory: {} of {}\n", to_text(use.second),
                        to_text(task.machine.memory[1].capacity));
  }
  return text;
}

std::string lack_text(const Task& task, const Plan& plan, const Misfit& misfit) {
  const PlanLack lack = lack_of(task, misfit);
  return fmt::format("a chip{} needs {} ({:.0f} bytes) of {}, and has {}: {} too much",
                     among_stages(plan, " of ", misfit.stage, "fullest,"), to_text(lack.needed),
                     lack.needed.in_base_units(), lack.limit, to_text(lack.available),
                     to_text(lack.needed - lack.available));
}

/// Software with which some plan fits, although none fits by the bytes of textbooks.
Sheet software_lines(const PlanResult& result) {
  if (!result.software || result.software->empty()) return "";
  Sheet lines;
  for (const bool is_sure : {true, false}) {
    std::string all;
    for (const training::FittingSoftware& one : *result.software) {
      if (is_sure != (one.verdict != memory::Verdict::MayNotFit)) continue;
      all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", one.stack, to_text(one.needed));
    }
    if (all.empty()) continue;
    lines += labelled("what helps",
                      fmt::format("execution.stack; with these stacks some plan {}: {}",
                                  is_sure ? "fits at typical constants of memory"
                                          : "fits at the low ends of the constants of memory only",
                                  all));
  }
  return lines;
}

Sheet reason_lines(const Task& task, const PlanResult& result) {
  if (result.no_plan) return labelled("reason", no_plan_text(task, *result.no_plan));
  if (!result.misfit) {
    return labelled("reason", "not found: a limit or signal ended the search first");
  }
  const Misfit& misfit = result.misfit->misfit;
  const Plan& plan = result.misfit->plan;
  Sheet text = labelled(
      "reason", lack_text(task, plan, misfit) + ", in the plan that needs the least memory:");
  text += software_lines(result);
  return text + plan_remedy_lines(task, *result.misfit) + "\n" + plan_lines(task, plan) +
         memory_lines(task, plan, misfit.memory, misfit.stage, misfit.judgement);
}

/// Whether the plan fits only at the low ends, or with options that the task does not have.
bool may_not_fit(const Task& task, const PlanResult& result) {
  return result.cost && (result.decided != task.decide || result.assumed.any());
}

/// The largest of the parts that another plan may reduce.
std::string part_to_cut(const MemoryUse& use) {
  const std::pair<const char*, Bytes> parts[] = {
      {"weights", use.weights},         {"gradients", use.gradients},
      {"the optimizer", use.optimizer}, {"activations", use.activations},
      {"working memory", use.working},  {"ends of the model", use.ends}};
  const auto* most =
      std::max_element(std::begin(parts), std::end(parts),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("the largest part is {}, {}", most->first, to_text(most->second));
}

Sheet may_not_fit_lines(const PlanResult& result) {
  const training::MemoryJudgement& judgement = *result.cost->judgement;
  const Bytes typical = judgement.needed[memory::Level::Typical];
  const bool is_too_much = typical > judgement.visible;
  std::string text =
      fmt::format("may not fit: typical {} of {}", to_text(typical), to_text(judgement.visible));
  if (is_too_much) {
    text += fmt::format(", {} too much; {}", percent(typical / judgement.visible - 1.0),
                        part_to_cut(result.cost->memory));
  }
  Sheet lines = labelled("result", text);
  if (result.assumed.any()) {
    lines += labelled("", fmt::format("assumes {}, which this software may have; without it no "
                                      "plan fits even at the low ends of the constants of memory",
                                      listed(assumed_keys(result.assumed), " and ")));
  }
  if (is_too_much) {
    const char* which = result.candidates == 1 ? "it" : "this is the best plan that";
    lines += labelled("", fmt::format("{} fits at the low ends of all constants of memory", which));
  }
  return lines;
}

std::string value_text(const Task& task, Score value) {
  return row_of(task.objective).text(value.in_base_units());
}

std::string least_text(const Task& task, const PlanResult& result) {
  return value_text(task, result.lower_bound);
}

/// The lines `objective` and `lower bound` of a search that minimises another quantity than time.
Sheet objective_lines(const Task& task, const PlanResult& result) {
  if (task.objective == training::Objective::StepTime) return "";
  const Sheet line = labelled("objective", fmt::format("{}: {}", name_of(task.objective),
                                                       value_text(task, result.cost->objective)));
  if (result.is_given()) return line;
  return line + labelled("lower bound",
                         fmt::format("{}; gap {}", least_text(task, result), percent(result.gap)));
}

/// Lines for a task without a stack for which no plan fits by the bytes of textbooks; other
/// software may need less.
Sheet textbook_lines(const PlanResult& result) {
  const auto& software = result.software;
  if (software && !software->empty()) {
    return labelled("result", "no plan was found to fit, by memory formulas of textbooks");
  }
  const char* by = software ? "" : " by memory formulas of textbooks";
  return labelled("result", nothing_fits_text(result.scope, kNone, by)) + scope_line(result.scope) +
         labelled("", software ? "no built-in stack makes a plan fit either, even at the low ends "
                                 "of its constants of memory"
                               : "software may need less memory: a config with execution.stack "
                                 "counts the memory of that software");
}

/// The result of a search with a stack, which is a proof only at the low ends of memory.
Sheet found_line(const Task& task, const PlanResult& result) {
  const bool fits_nothing =
      result.misfit || (result.status == SearchStatus::Infeasible && !result.no_plan);
  if (!task.stack && fits_nothing) return textbook_lines(result);
  if (!task.stack) {
    return result_line(result, result.scope, kOne, kNone, least_text(task, result));
  }
  if (may_not_fit(task, result)) return may_not_fit_lines(result);
  if (!result.misfit) {
    return result_line(result, result.scope, kOne, kNone, least_text(task, result));
  }
  if (result.status == SearchStatus::Infeasible) {
    return result_line(result, result.scope, kOne, kNone, least_text(task, result)) +
           labelled("", "no plan fits even at the low ends of all constants of memory");
  }
  if (result.stopped_by != StopReason::None) {
    return labelled("result", fmt::format("{} before all options of the software were tried",
                                          stop_text(result.stopped_by)));
  }
  const char* why = "with guessed constants of memory";
  if (task.stack->is_known) {
    why = result.decided == memory::Level::Low
              ? "although more recomputation than was searched may fit"
          : result.decided == memory::Level::High ? "at the high ends of the constants of memory"
                                                  : "at typical constants of memory";
  }
  return labelled("result", fmt::format("no plan was found to fit, {}", why));
}

/// The plan of least regret beside the best one.
Sheet robust_lines(const Task& task, const PlanResult& result) {
  if (!result.robust) return "";
  const training::RobustPlan& robust = *result.robust;
  const auto more = [](Seconds step, Seconds best) { return percent(step / best - 1.0); };
  const auto& worst = robust.worst_of_typical();
  const bool is_proved = robust.status == SearchStatus::Optimal;
  const std::string regret =
      robust.regret < std::numeric_limits<double>::infinity()
          ? fmt::format("at most {} slower than the best plan of each scenario",
                        percent(robust.regret))
          : "unbounded in every scenario";
  Sheet text =
      "\n" +
      labelled("robust",
               fmt::format("{}: {}", regret,
                           is_proved ? "proved, no plan has a smaller greatest loss"
                                     : "not proved; another plan may lose only " +
                                           percent(std::max(
                                               robust.lower_bound.in_base_units() - 1.0, 0.0))));
  if (worst.typical_best > worst.best) {
    text += labelled("", fmt::format("of {} scenarios, the plan above loses most in '{}': {}",
                                     robust.outcomes.size(), worst.scenario,
                                     more(worst.typical_best, worst.best)));
  }
  if (*robust.plan == *result.plan) return text + labelled("", "it is the plan above");
  const auto& typical = robust.outcomes.front();
  return text +
         labelled("step time", fmt::format("{} with typical times, {} more than the plan above",
                                           to_text(robust.cost->step_time),
                                           more(robust.cost->step_time, typical.typical_best))) +
         plan_lines(task, *robust.plan);
}

}  // namespace

std::string reason_text(const Task& task, const PlanResult& result) {
  if (!result.misfit) return "";
  return lack_text(task, result.misfit->plan, result.misfit->misfit);
}

Sheet report_text(const Task& task, const PlanResult& result, const std::string& title) {
  Sheet text = title_line(title) + asked_text(task);
  text += "\n" + found_line(task, result);
  if (result.status == SearchStatus::Infeasible || result.misfit) {
    text += reason_lines(task, result);
  }
  if (result.cost) {
    const training::Cost& cost = *result.cost;
    const FlopsPerSecond peak = task.machine.matrix.peak * static_cast<double>(task.machine.chips);
    const bool has_narrow_products = task.stack && task.stack->bits() != stack::Bits::Sixteen;
    text += step_lines(result, cost.step_time, cost.utilization, peak,
                       task.objective == training::Objective::StepTime,
                       has_narrow_products ? "16-bit " : "") +
            objective_lines(task, result);
    if (result.is_given() && !may_not_fit(task, result)) {
      text +=
          labelled("best", "not searched for: a search with it as --hint says how far it is off");
    }
    text += other_time_lines(task, result) +
            rate_line(cost.tokens_per_second, task.machine.chips, cost.price) + price_lines(cost) +
            energy_line(cost.energy, cost.tokens_per_second * cost.step_time.in_base_units());
    text += top_lines(result, kOne, kNone,
                      [](const FoundPlan& found) { return degrees_text(*found.plan); });
    text += "\n" + plan_lines(task, *result.plan) + time_lines(*result.plan, cost) +
            memory_lines(task, *result.plan, cost.memory, cost.fullest, cost.judgement) +
            fusion_lines(task, result);
    if (const auto& any = result.any_framework) {
      text += framework_line(*task.framework, *any, Score(cost.step_time.in_base_units()),
                             "the best plan", to_text(Seconds(any->best.in_base_units())));
    }
    text += robust_lines(task, result);
  }
  return text + "\n" + space_line(result, "plan") + effort_line(result);
}

}  // namespace dfsearch
