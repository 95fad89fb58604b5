#include "io/report/serving_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/units_text.hpp"
#include "engine/names.hpp"
#include "io/report/answer_lines.hpp"
#include "io/report/report_words.hpp"

namespace dfsearch {
namespace {

using serving::Broken;
using serving::Deployment;
using serving::Figures;
using serving::Role;
using serving::Task;

std::string degrees_text(const Role& role) {
  const serving::Structure& s = role.structure;
  std::string text = fmt::format("tensor {}", s.tensor);
  if (s.pipeline > 1) text += fmt::format(", pipeline {}", s.pipeline);
  if (s.attention_data > 1) text += fmt::format(", attention_data {}", s.attention_data);
  if (s.expert > 1) text += fmt::format(", expert {}", s.expert);
  if (s.redundant_experts > 0) text += fmt::format(", redundant {}", s.redundant_experts);
  if (s.sub_batches > 1) text += fmt::format(", sub_batches {}", s.sub_batches);
  text += fmt::format(", batch {}", role.batch);
  if (role.chunk > 0) text += fmt::format(", chunk {}", role.chunk);
  if (role.depth > 0) text += fmt::format(", depth {}", role.depth);
  return text;
}

/// The precisions of values that have a choice.
std::string precision_text(const Task& task, const serving::Structure& structure) {
  std::string text;
  for (const serving::PrecisionOf& of : serving::kPrecisionOf) {
    if (!task.is_open(of)) continue;
    text += fmt::format("; {} {}", of.name, name_of(of.get(task.precisions[structure.precision])));
  }
  return text;
}

/// One number in place of another, `of` a model or a pool if there are several.
std::string change_text(std::string_view limit, std::string_view of, double given, double enough) {
  const std::string_view link = of.empty() ? "" : " of ";
  const auto words = [&](const std::string& to, const std::string& from) {
    return fmt::format("{}{}{}: {} in place of {}", limit, link, of, to, from);
  };
  const auto numbers = [&](const char* unit) {
    return words(fmt::format("{:.5g}{}", enough, unit), fmt::format("{:.5g}{}", given, unit));
  };
  if (limit == "memory") return words(to_text(Bytes(enough)), to_text(Bytes(given)));
  if (limit == "power") return words(to_text(Watts(enough)), to_text(Watts(given)));
  if (limit == "rate") return numbers("/s");
  if (limit == "cost") return numbers(" $");
  if (limit == "price") return numbers(" $/h");
  if (limit == "chips" || limit == "concurrency") return numbers("");
  return words(time_text(enough), time_text(given));
}

}  // namespace

std::string time_text(double seconds) {
  return std::isfinite(seconds) ? to_text(Seconds(seconds)) : "without end";
}

std::string deployment_text(const Task& task, const Deployment& deployment) {
  const Role& decode = deployment.decode;
  const auto pool = [&](const Role& role) { return task.pools[role.structure.pool].name; };
  const std::string precision = precision_text(task, decode.structure);
  if (deployment.mode == serving::Mode::Aggregated) {
    return fmt::format("aggregated: {} ({}) on {} {}{}", plural(decode.replicas, "replica"),
                       degrees_text(decode), plural(decode.chips(), "chip"), pool(decode),
                       precision);
  }
  const Role& prefill = deployment.prefill;
  return fmt::format("disaggregated: {} prefill ({}) on {} {} + {} decode ({}) on {} {}{}",
                     prefill.replicas, degrees_text(prefill), plural(prefill.chips(), "chip"),
                     pool(prefill), decode.replicas, degrees_text(decode),
                     plural(decode.chips(), "chip"), pool(decode), precision);
}

std::string value_text(const Task& task, const Figures& figures) {
  switch (task.objective) {
    case serving::Objective::Throughput:
      return fmt::format("{:.6g} tokens/s", figures.tokens_per_s);
    case serving::Objective::ThroughputPerChip:
    case serving::Objective::Front:
      return fmt::format("{:.6g} tokens/s of a chip", figures.tokens_per_s_per_chip());
    case serving::Objective::Interactivity:
      return fmt::format("{:.6g} tokens/s of a user", figures.tokens_per_s_per_user());
    case serving::Objective::Cost:
      return fmt::format("{:.4g} $ for a million tokens", figures.dollars_per_mtoken);
    case serving::Objective::Energy:
      return fmt::format("{:.4g} J for a token", figures.joule_per_token);
    case serving::Objective::Edp:
      return fmt::format("{:.4g} J s for a request", figures.edp);
    case serving::Objective::Chips:
      return plural(figures.chips, "chip");
    case serving::Objective::Ttft:
      return fmt::format("first token after {}", time_text(figures.ttft));
    case serving::Objective::E2e:
      return fmt::format("{} for a request", time_text(figures.e2e));
    case serving::Objective::Fullness:
      break;
  }
  return "";
}

std::string limit_words(const Task& task, Broken limit) {
  const serving::Limits& limits = task.limits;
  const auto at_most = [](const char* key, const std::optional<Seconds>& time) {
    return fmt::format("{} of {}", key, time ? to_text(*time) : "");
  };
  switch (limit) {
    case Broken::Prefill:
      return fmt::format("{} of the iterations with prefill", percent(task.utilization.mixed));
    case Broken::Rate:
      return fmt::format("rate of {:.6g}/s", task.rate.value_or(0.0));
    case Broken::Memory:
      return "memory of the chips";
    case Broken::Tpot:
      return at_most("limits.tpot", limits.tpot);
    case Broken::Ttft:
      return at_most("limits.ttft", limits.ttft);
    case Broken::E2e:
      return at_most("limits.e2e", limits.e2e);
    case Broken::Cost:
      return fmt::format("limits.cost of {:.6g} $", limits.cost.value_or(0.0));
  }
  return "";
}

std::string constants_text(const Task& task) {
  const bool is_guessed = std::any_of(task.pools.begin(), task.pools.end(),
                                      [](const serving::Pool& pool) { return pool.is_guessed(); });
  return is_guessed ? "with constants of an engine whose release is not known: guessed"
                    : fmt::format("by {} constants", name_of(task.level));
}

bool has_guessed_rates(const Task& task) {
  return task.model.mixed &&
         std::any_of(task.pools.begin(), task.pools.end(), [](const serving::Pool& pool) {
           return !pool.engine.scans && !pool.engine.is_ideal();
         });
}

Sheet pool_lines(const Task& task) {
  Sheet text;
  for (const serving::Pool& pool : task.pools) {
    text += labelled("pool", fmt::format("{}: {} of {}, {} memory at {}{}", pool.name,
                                         plural(pool.chips, "chip"),
                                         to_text(pool.peak_of(task.precisions[0].of_products())),
                                         to_text(pool.machine.memory[0].capacity),
                                         to_text(pool.machine.memory[0].bandwidth),
                                         pool.engine.is_ideal() ? "; ideal rates, no engine" : ""));
  }
  return text;
}

Sheet remedy_lines(const Task& task, const serving::ServingResult& result) {
  Sheet text;
  for (const serving::Remedy& remedy : result.remedies) {
    text +=
        labelled("would help", change_text(name_of(remedy.limit), "", remedy.given, remedy.enough) +
                                   ": " + deployment_text(task, remedy.deployment));
  }
  for (const auto& [limit, of, given, enough] : result.fleet_remedies) {
    text += labelled("would help", change_text(limit, of, given, enough));
  }
  if (text.empty()) {
    text = labelled("would help", "no change of a single limit that was tried");
  }
  return text;
}

Sheet framework_lines(const Task& task, const serving::ServingResult& result) {
  if (!result.any_framework) return "";
  const bool front = task.objective == serving::Objective::Front;
  std::string best;
  if (front)
    best = plural(static_cast<std::int64_t>(result.of_any.size()), "deployment");
  else if (!result.of_any.empty()) {
    best = value_text(task, result.of_any[0].figures) + ": " +
           deployment_text(task, result.of_any[0].deployment);
  }
  return framework_line(*task.framework, *result.any_framework, result.cost,
                        front ? "the front" : "the best", best);
}

}  // namespace dfsearch
