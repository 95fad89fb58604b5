#include "io/report/report_parts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "io/text/text_table.hpp"
#include "model/serving/cache_room.hpp"
#include "model/serving/steady_state.hpp"

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

/// A number that replaces another one, `of` a model or a pool if there are several.
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
      return to_text(Joules(figures.joule_per_token)) + " for a token";
    case serving::Objective::Edp:
      return to_text(JouleSeconds(figures.edp)) + " for a request";
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
      return fmt::format("utilization.mixed of {}", percent(task.utilization.mixed));
    case Broken::Rate:
      return fmt::format("the rate of {:.6g}/s", task.rate.value_or(0.0));
    case Broken::Memory:
      return "the memory of the chips";
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
  return is_guessed ? "with guessed constants, as the release of the engine is not known"
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
    text = labelled("would help", "nothing: no change of a single limit that was tried is enough");
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

// Figures of a deployment: latencies, rates, the parts of an iteration and its kernels, memory,
// cost and energy.

namespace {

std::string limit_text(double value, const std::optional<Seconds>& limit) {
  return limit ? fmt::format("{} of {}", time_text(value), to_text(*limit)) : time_text(value);
}

Sheet latency_line(const Task& task, const Figures& figures) {
  const bool waits = figures.ttft_99 > figures.ttft;
  // No request may have a second token.
  const std::string later =
      figures.tpot > 0.0
          ? fmt::format("; each after it {} ({:.4g} tokens/s)",
                        limit_text(figures.tpot, task.limits.tpot), figures.tokens_per_s_per_user())
          : "";
  return labelled(
      "latency",
      fmt::format(
          "first token {}{}{}; {} for a request", limit_text(figures.ttft, task.limits.ttft),
          waits ? fmt::format(" (99 of 100 within about {})", time_text(figures.ttft_99)) : "",
          later, limit_text(figures.e2e, task.limits.e2e)));
}

Sheet rates_line(const Deployment& deployment, const Figures& figures) {
  std::string text = fmt::format(
      "{:.5g} requests/s, {:.6g} tokens/s, {:.5g} of a chip; {:.4g} in "
      "flight",
      figures.requests_per_s, figures.tokens_per_s, figures.tokens_per_s_per_chip(),
      figures.in_flight);
  Sheet lines;
  if (figures.makespan > 0.0) {
    lines += labelled(
        "job", fmt::format("{} until the last request is answered", time_text(figures.makespan)));
  }
  lines += labelled("throughput", text);
  if (deployment.mode == serving::Mode::Disaggregated) {
    lines += labelled("", fmt::format("prefill could serve {:.5g}/s, decode {:.5g}/s, the transfer "
                                      "of caches {:.5g}/s",
                                      figures.prefill_capacity, figures.decode_capacity,
                                      figures.transfer_capacity));
  } else {
    lines += labelled("", figures.mixed_share < 1.0
                              ? fmt::format("{} of the iterations contain a chunk of prefill",
                                            percent(figures.mixed_share))
                              : "prefill is the limit: all iterations contain a chunk of it");
  }
  return lines;
}

std::string parts_text(const serving::PartTimes& parts) {
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  std::vector<std::size_t> order(serving::kParts);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return parts[a] > parts[b]; });
  std::string text = time_text(sum) + ":";
  for (const std::size_t i : order) {
    if (!(parts[i] > 0.0)) continue;
    text += fmt::format("{} {} {}", text.ends_with(':') ? "" : ",",
                        name_of(static_cast<serving::Part>(i)), percent(parts[i] / sum));
  }
  return text;
}

Sheet iteration_lines(const Task& task, const Deployment& deployment, const Figures& figures) {
  const serving::Means means(task.requests);
  const Role& role = deployment.decode;
  const serving::Decoder decoder(task, means, role.structure, role.depth, role.chunk);
  const serving::Decoding at = decoder.at(role, figures);
  Sheet text;
  if (at.iteration > 0.0) text = labelled("iteration", parts_text(decoder.parts(at, false)));
  if (role.chunk > 0) text += labelled("with prefill", parts_text(decoder.parts(at, true)));
  return text;
}

Sheet memory_line(const Task& task, const Deployment& deployment, const Figures& figures) {
  const auto of = [&](double used, const Role& role) {
    const serving::Pool& pool = task.pools[role.structure.pool];
    const Bytes room = pool.usable();
    return fmt::format("{} of {} usable ({})", to_text(Bytes(used)), to_text(room),
                       percent(used / room.in_base_units()));
  };
  std::string text = of(figures.memory, deployment.decode);
  if (deployment.mode == serving::Mode::Disaggregated) {
    text += "; to prefill " + of(figures.memory_prefill, deployment.prefill);
  }
  return labelled("memory", text);
}

/// The memory for caches as servers print it, and the other parts of the memory.
Sheet cache_lines(const Task& task, const Deployment& deployment) {
  const serving::CacheRoom room = serving::cache_room(task, deployment);
  const auto bytes = [](double value) { return to_text(Bytes(value)); };
  const auto& decode = deployment.decode.structure;
  Sheet lines = labelled(
      "KV cache",
      fmt::format("{} tokens{}, {:.4g} requests of {}: {} usable less weights {}, activations {} "
                  "and other {}",
                  room.tokens, decode.attention_data > 1 ? " of a rank" : "", room.requests,
                  room.max_model_len, to_text(task.pools[decode.pool].usable()),
                  bytes(room.weights), bytes(room.activation), bytes(room.other)));
  if (room.filled) {
    const auto& filled = *room.filled;
    lines += labelled(
        "",
        fmt::format("{}: low {}, typical {}{}", room.verdict_word(),
                    to_text(filled[memory::Level::Low]), to_text(filled[memory::Level::Typical]),
                    room.is_guessed ? "; the release of the engine is not known"
                                    : ", high " + to_text(filled[memory::Level::High])));
  }
  return lines;
}

Sheet cost_line(const Figures& figures) {
  std::string text;
  if (figures.dollars_per_mtoken > 0.0) {
    text = fmt::format("{:.4g} $ for a million tokens of output, {:.4g} $ of all tokens",
                       figures.dollars_per_mtoken, figures.dollars_per_mtoken_total);
  }
  if (figures.joule_per_token > 0.0) {
    text += fmt::format("{}{} for a token", text.empty() ? "" : "; ",
                        to_text(Joules(figures.joule_per_token)));
  }
  const Sheet cost = text.empty() ? Sheet("") : labelled("cost", text);
  const Energy& energy = figures.energy;
  if (!(energy.sum() > Joules{})) return cost;
  text = fmt::format("of a token: {}; EDP of a request {}", energy_shares(energy),
                     to_text(JouleSeconds(figures.edp)));
  if (energy.clock < 1.0) {
    text += fmt::format("; the power cap lowers the clock to {}, which the times above ignore",
                        percent(energy.clock));
  }
  return cost + labelled("energy", text);
}

}  // namespace

Sheet figure_lines(const Task& task, const Deployment& deployment, const Figures& figures) {
  return latency_line(task, figures) + rates_line(deployment, figures) +
         iteration_lines(task, deployment, figures) + memory_line(task, deployment, figures) +
         cache_lines(task, deployment) + cost_line(figures);
}

Sheet operation_tables(const Task& task, const Deployment& deployment, const Figures& figures) {
  const serving::Means means(task.requests);
  const Role& role = deployment.decode;
  const serving::Pool& pool = task.pools[role.structure.pool];
  if (pool.execution.style == Style::Dataflow) return "";  // whole layers run at once
  const serving::Decoder decoder(task, means, role.structure, role.depth, role.chunk);
  const serving::Decoding at = decoder.at(role, figures);
  const std::string engine = pool.engine.name.empty() ? "engine" : pool.engine.name;
  const auto table_of = [&](const char* title, bool mixed) {
    const std::vector<serving::Operation> operations = decoder.operations(at, mixed);
    double sum = 0.0;
    for (const serving::Operation& one : operations) sum += one.seconds;
    TextTable table({"time", "share", "roofline", "kernels", "kernel, and its key in " + engine});
    for (const serving::Operation& one : operations) {
      table.add({to_text(Seconds(one.seconds)), percent(one.seconds / sum),
                 one.reached > 0.0 ? percent(one.reached) : "", fmt::format("{:.4g}", one.count)},
                {one.name + ",", one.rate});
    }
    return Sheet(TitledTable{title, std::move(table)});
  };
  Sheet text;
  if (at.iteration > 0.0) text += table_of("kernels of an iteration", false);
  if (role.chunk > 0) text += table_of("kernels of an iteration with prefill", true);
  return text;
}

Sheet at_low_lines(const Task& task, const serving::FrontPoint& point) {
  const serving::CacheRoom room = serving::cache_room(task, point.deployment);
  const Bytes usable = task.pools[point.deployment.decode.structure.pool].usable();
  const Bytes typical = (*room.filled)[memory::Level::Typical];
  return labelled("may not fit",
                  fmt::format("typical {} of {} usable, {} too much: {}", to_text(typical),
                              to_text(usable), percent(typical / usable - 1.0),
                              deployment_text(task, point.deployment))) +
         cache_lines(task, point.deployment);
}

}  // namespace dfsearch
