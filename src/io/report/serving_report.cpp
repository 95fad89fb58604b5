// The report of a deployment, a front or a fleet: the question, the proof, latencies and rates, the
// parts of an iteration, and the effort of the search.

#include "io/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/units_text.hpp"
#include "engine/names.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "io/report/answer_lines.hpp"
#include "io/report/report_words.hpp"
#include "io/text/joined.hpp"
#include "io/text/text_table.hpp"
#include "model/serving/cache_room.hpp"
#include "model/serving/measured_class.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch {
namespace {

using serving::Broken;
using serving::Deployment;
using serving::Figures;
using serving::Role;
using serving::Task;

std::string time_text(double seconds) {
  return std::isfinite(seconds) ? to_text(Seconds(seconds)) : "without end";
}

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

/// A limit in words that name its key.
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

/// Names the constants of memory where nothing fits.
std::string constants_text(const Task& task) {
  const bool is_guessed = std::any_of(task.pools.begin(), task.pools.end(),
                                      [](const serving::Pool& pool) { return pool.is_guessed(); });
  return is_guessed ? "with constants of an engine whose release is not known: guessed"
                    : fmt::format("by {} constants", name_of(task.level));
}

Sheet status_line(const Task& task, const serving::ServingResult& result) {
  std::string text;
  if (result.is_given) {
    const bool is_front = !result.deployment;
    text = is_front ? "each deployment of the front " : "the deployment ";
    if (result.status == SearchStatus::Feasible)
      return labelled("result", text + "keeps all limits");
    std::set<Broken> broken;
    if (result.figures) broken.insert(result.figures->broken.begin(), result.figures->broken.end());
    for (const serving::FrontPoint& point : result.front) {
      broken.insert(point.figures.broken.begin(), point.figures.broken.end());
    }
    if (is_front) text = "a deployment of the front ";
    const auto name = [](Broken limit) { return name_of(limit); };
    return labelled("result", text + (broken.empty() ? "is ruled out"
                                                     : "breaks " + joined(broken, ", ", name)));
  }
  switch (result.status) {
    case SearchStatus::Optimal:
      text = result.gap > kMostOfTies
                 ? fmt::format("within the gap asked for: gap {}", percent(result.gap))
                 : "optimal, proved";
      // The fewest chips are chosen among equally good deployments.
      if (0.0 < result.gap && result.gap <= kMostOfTies) text += ", to parts in 1e9";
      break;
    case SearchStatus::Feasible:
      text = fmt::format("{} with a deployment; gap {}", stop_text(result.stopped_by),
                         percent(result.gap));
      break;
    case SearchStatus::Infeasible:
      text = "infeasible, proved: no deployment keeps " +
             joined(result.ruled_out_by, " and ",
                    [&](Broken limit) { return limit_words(task, limit); });
      break;
    case SearchStatus::NoSolution:
      text = result.stopped_by == StopReason::None
                 ? "nothing found to fit, " + constants_text(task)
                 : fmt::format("{} before a deployment was found", stop_text(result.stopped_by));
      break;
  }
  if (result.figures && task.objective != serving::Objective::Front) {
    text += "; " + value_text(task, *result.figures);
  }
  return labelled("result", text);
}

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
      fmt::format("first token {}{}{}; {} for a request",
                  limit_text(figures.ttft, task.limits.ttft),
                  waits ? fmt::format(" (of 99 in 100 about {})", time_text(figures.ttft_99)) : "",
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
                              ? fmt::format("{} of the iterations take a chunk of prefill along",
                                            percent(figures.mixed_share))
                              : "prefill sets the pace: all iterations take a chunk of it along");
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

/// The kernels of an iteration, the share of the roofline that they reach, and the key of the
/// engine that decides it.
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

/// The room for caches as servers print it, and the parts that leave it.
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

/// A deployment that fits at the low end alone, and its excess with typical constants.
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

Sheet cost_line(const Figures& figures) {
  std::string text;
  if (figures.dollars_per_mtoken > 0.0) {
    text = fmt::format("{:.4g} $ for a million tokens of output, {:.4g} $ of all tokens",
                       figures.dollars_per_mtoken, figures.dollars_per_mtoken_total);
  }
  if (figures.joule_per_token > 0.0) {
    text +=
        fmt::format("{}{:.4g} J for a token", text.empty() ? "" : "; ", figures.joule_per_token);
  }
  const Sheet cost = text.empty() ? Sheet("") : labelled("cost", text);
  const Energy& energy = figures.energy;
  const Joules all = energy.sum();
  if (!(all > Joules{})) return cost;
  text = fmt::format(
      "of a token: static {}, arithmetic {}, memory {}, links {}; EDP of a request "
      "{:.4g} J s",
      percent(energy.idle / all), percent(energy.work.math / all),
      percent(energy.work.memory / all), percent(energy.work.links / all), figures.edp);
  if (energy.clock < 1.0) {
    text += fmt::format("; the cap lowers the clock to {}, which the times do not count",
                        percent(energy.clock));
  }
  return cost + labelled("energy", text);
}

/// Lead of the answer over the best one of the other mode, as a share; 0 over one that costs
/// nothing.
double ahead_of(const Task& task, const serving::ServingResult& result, const Figures& other) {
  const double own = value_of(task.objective, task.front, *result.figures);
  const double theirs = value_of(task.objective, task.front, other);
  return theirs > own ? theirs / own - 1.0 : 0.0;
}

/// The best deployment of the other mode.
Sheet modes_lines(const Task& task, const serving::ServingResult& result) {
  Sheet text;
  for (const auto& best : result.best_of_mode) {
    if (!best || best->deployment == *result.deployment) continue;
    text += labelled(
        name_of(best->deployment.mode),
        fmt::format("at best {}, which the deployment above betters by {}: {}",
                    value_text(task, best->figures), percent(ahead_of(task, result, best->figures)),
                    deployment_text(task, best->deployment)));
  }
  return text;
}

/// The error of predictions for disaggregated deployments.
Sheet apart_line(const Task& task, const serving::ServingResult& result) {
  // docs/serving.md, section 8; a test compares it with the table there.
  constexpr double kOff = 0.18, kBias = -0.024;
  constexpr int kMeasured = 129;
  std::string than;
  for (const auto& best : result.best_of_mode) {
    if (!best || best->deployment.mode != serving::Mode::Aggregated) continue;
    const double ahead = ahead_of(task, result, best->figures);
    than = fmt::format(". It is {} better than the best aggregated one by the model, {} that error",
                       percent(ahead), ahead < kOff ? "less than" : "more than");
  }
  return labelled(
      "caution",
      fmt::format(
          "the time per token of {} measured deployments whose prefill is apart is {:.0f} % "
          "off, {:.0f} % too {} on average; first tokens are not predicted "
          "(docs/serving.md, section 8){}; --set serving.modes=aggregated leaves them out",
          kMeasured, 100.0 * kOff, 100.0 * std::fabs(kBias), kBias < 0.0 ? "fast" : "slow", than));
}

/// Whether deployments of this class were measured, and how far off they are.
Sheet measured_line(const Task& task, const Deployment& deployment, const Figures& figures) {
  const serving::Engine& engine = task.pools[deployment.decode.structure.pool].engine;
  const std::string doubt = doubt_of(engine, class_of(task, deployment, figures));
  return doubt.empty() ? "" : labelled("caution", doubt + " (docs/serving.md, section 8)");
}

/// Whether some pool has rates of scans that nobody measured.
bool has_guessed_rates(const Task& task) {
  return task.model.mixed &&
         std::any_of(task.pools.begin(), task.pools.end(), [](const serving::Pool& pool) {
           return !pool.engine.scans && !pool.engine.is_ideal();
         });
}

/// Ranks without a user.
Sheet empty_line(const Task& task, const Deployment& deployment) {
  if (!task.concurrency || deployment.mode != serving::Mode::Aggregated) return "";
  const Role& role = deployment.decode;
  const serving::Structure& s = role.structure;
  const double ranks = serving::real(role.replicas * s.attention_data * s.pipeline);
  if (*task.concurrency >= ranks) return "";
  return labelled("caution",
                  fmt::format("{:.6g} of {:.6g} ranks and micro-batches have no user; engines may "
                              "run these at the speed of a full one, which is not modelled",
                              ranks - *task.concurrency, ranks));
}

/// Chips of each pool that the deployment does not use.
Sheet idle_line(const Task& task, const Deployment& deployment) {
  std::vector<std::int64_t> used(task.pools.size());
  used[deployment.decode.structure.pool] += deployment.decode.chips();
  if (deployment.mode == serving::Mode::Disaggregated) {
    used[deployment.prefill.structure.pool] += deployment.prefill.chips();
  }
  std::string text;
  for (std::size_t p = 0; p < used.size(); ++p) {
    const serving::Pool& pool = task.pools[p];
    if (used[p] >= pool.chips) continue;
    text += fmt::format("{}{} of {} {}", text.empty() ? "" : ", ", pool.chips - used[p],
                        plural(pool.chips, "chip"), pool.name);
  }
  return text.empty() ? "" : labelled("idle", text);
}

/// Loss by the framework of the config.
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

/// Gains of a tenth more of each quantity, where there are any.
Sheet gain_lines(const Task& task, const serving::ServingResult& result) {
  Sheet text;
  for (const serving::TenthMore& gain : result.gains) {
    if (!gain.best) continue;
    const double now = result.cost.in_base_units();
    const double then = value_of(task.objective, task.front, gain.best->figures);
    if (!(then < now * (1.0 - 1e-6))) continue;
    const std::string of = task.pools.size() > 1 ? " of " + task.pools[gain.pool].name : "";
    const double change = more_is_better(task.objective) ? now / then : then / now;
    text += labelled(text.empty() ? "10 % more" : "",
                     fmt::format("{}{}: {} ({:+.3g} %)", gain.more, of,
                                 value_text(task, gain.best->figures), 100.0 * (change - 1.0)));
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

/// Most rows of a front in a report; all of them are in the JSON.
constexpr std::size_t kMostOfFront = 20;

/// Points of a long front that a report shows: both ends, the knee, and changes of structure, which
/// are thinned evenly if there are too many.
std::vector<bool> telling_points(const std::vector<serving::FrontPoint>& front, bool cost) {
  std::vector<bool> telling(front.size(), front.size() <= kMostOfFront);
  if (front.size() <= kMostOfFront) return telling;
  const auto structure = [](Deployment deployment) {
    for (Role* role : {&deployment.prefill, &deployment.decode}) {
      role->batch = role->chunk = role->depth = 0;
    }
    return deployment;
  };
  const auto worth = [&](const Figures& f) {
    return f.tokens_per_s_per_user() *
           (cost ? 1.0 / f.dollars_per_mtoken : f.tokens_per_s_per_chip());
  };
  std::vector<std::size_t> changes;
  std::size_t knee = 0;
  for (std::size_t i = 1; i < front.size(); ++i) {
    const bool is_new = structure(front[i].deployment) != structure(front[i - 1].deployment);
    if (is_new) changes.push_back(i);
    if (worth(front[i].figures) > worth(front[knee].figures)) knee = i;
  }
  const std::size_t most = kMostOfFront - 3;
  const std::size_t shown = std::min(changes.size(), most);
  for (std::size_t k = 0; k < shown; ++k) telling[changes[k * changes.size() / shown]] = true;
  telling.front() = telling.back() = telling[knee] = true;
  return telling;
}

Sheet front_table(const Task& task, const serving::ServingResult& result) {
  const bool cost = task.front == serving::FrontAxis::Cost;
  const std::vector<bool> telling = telling_points(result.front, cost);
  TextTable table(
      {"tokens/s of a user", cost ? "$ a million" : "tokens/s of a chip", "first token", "chips"});
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < result.front.size(); ++i) {
    if (!telling[i]) {
      ++left_out;
      continue;
    }
    const serving::FrontPoint& point = result.front[i];
    const Figures& f = point.figures;
    table.add({fmt::format("{:.5g}", f.tokens_per_s_per_user()),
               fmt::format("{:.5g}", cost ? f.dollars_per_mtoken : f.tokens_per_s_per_chip()),
               time_text(f.ttft), std::to_string(f.chips)},
              words_of(deployment_text(task, point.deployment)));
  }
  const auto count = static_cast<std::int64_t>(result.front.size());
  return TitledTable{
      fmt::format("front of {}", plural(count, "deployment")), std::move(table),
      left_out > 0
          ? fmt::format("{} between them are left out here; --json and --html have all\n", left_out)
          : ""};
}

Sheet search_lines(const serving::ServingResult& result) {
  std::string text = fmt::format("{} of batches in {} on {}; {} single ones costed",
                                 plural(result.stats.nodes, "interval"), to_text(result.stats.time),
                                 plural(result.stats.threads, "thread"), result.leaves);
  Sheet lines = labelled(
      "space", fmt::format("{:.6g} deployments", result.deployments) +
                   (result.feasible ? fmt::format(", {} keep all limits", *result.feasible) : ""));
  return lines + labelled("search", text);
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

}  // namespace

Sheet asked_text(const Task& task) {
  const serving::Means means(task.requests);
  std::string asked = fmt::format("{:.6g} tokens in, {:.6g} out", means.input, means.output);
  if (means.fresh < means.input) asked += fmt::format(", {:.6g} cached", means.input - means.fresh);
  if (task.rate) asked += fmt::format("; {:.6g} requests/s", *task.rate);
  if (task.concurrency) asked += fmt::format("; {:.6g} at once", *task.concurrency);
  if (task.num_requests) asked += fmt::format("; a job of {:.6g} at once", *task.num_requests);
  const auto& precisions = task.precisions;
  const std::string numbers =
      precisions.size() > 1 ? fmt::format("{} precisions", precisions.size())
                            : fmt::format("weights {}, cache {}", name_of(precisions[0].weights),
                                          name_of(precisions[0].cache));
  Sheet text =
      labelled("workload", fmt::format("llm_serving: {}, hidden {}, {} parameters; {}",
                                       plural(task.model.layers, "layer"), task.model.hidden,
                                       to_exact_text(parameter_count(task.model)), numbers));
  text += labelled("requests", asked);
  return text + pool_lines(task);
}

Sheet report_text(const serving::Fleet& fleet, const serving::ServingResult& result,
                  const std::string& title) {
  const Task& first = fleet.models.front();
  Sheet text = title_line(title);
  for (std::size_t m = 0; m < fleet.models.size(); ++m) {
    const Task& task = fleet.models[m];
    const serving::Means means(task.requests);
    text += labelled(fleet.names[m],
                     fmt::format("{} parameters; {:.6g} tokens in, {:.6g} out; {:.6g} requests/s",
                                 to_exact_text(parameter_count(task.model)), means.input,
                                 means.output, *task.rate));
    if (has_guessed_rates(task)) text += guessed_line(*task.model.mixed);
  }
  text += pool_lines(first) + labelled("objective", name_of(first.objective)) + "\n";
  double price = 0.0, power = 0.0;
  std::vector<std::int64_t> used(first.pools.size());
  const auto count = [&](const Role& role, std::int64_t times) {
    const serving::Pool& pool = first.pools[role.structure.pool];
    const std::int64_t chips = times * role.chips();
    used[role.structure.pool] += chips;
    price += serving::real(chips) * pool.price;
    power += serving::real(chips) * pool.power.in_base_units();
  };
  Sheet parts;
  for (const serving::FleetMember& part : result.fleet) {
    count(part.deployment.decode, part.count);
    if (part.deployment.mode == serving::Mode::Disaggregated) {
      count(part.deployment.prefill, part.count);
    }
    parts += labelled(
        fleet.names[part.model],
        fmt::format(
            "{} times {:.5g} requests/s, first token {}{}: {}", part.count, part.figures.capacity,
            time_text(part.figures.ttft),
            part.figures.tpot > 0.0 ? ", each after it " + time_text(part.figures.tpot) : "",
            deployment_text(fleet.models[part.model], part.deployment)));
  }
  if (result.status == SearchStatus::Optimal || result.status == SearchStatus::Feasible) {
    std::string chips;
    for (std::size_t p = 0; p < used.size(); ++p) {
      chips += fmt::format("{}{} of {} {}", p > 0 ? ", " : "", used[p],
                           plural(first.pools[p].chips, "chip"), first.pools[p].name);
    }
    const char* sure =
        result.is_given ? "a fleet that was given, which serves all rates" : "optimal, proved";
    std::string sums;  // of what pools were given
    if (price > 0.0) sums += fmt::format("{:.6g} $/h, ", price);
    if (power > 0.0) sums += to_text(Watts(power)) + ", ";
    text += labelled("result", fmt::format("{}; {}{}", sure, sums, chips));
  } else if (result.is_given) {
    text += labelled("result", "the fleet is ruled out");
  } else if (result.status == SearchStatus::Infeasible) {
    text += labelled("result", "infeasible, proved: no mix of deployments serves all rates") +
            remedy_lines(first, result);
  } else if (result.stopped_by == StopReason::None) {
    text += labelled("result", "nothing found to fit, " + constants_text(first)) +
            remedy_lines(first, result);
  } else {
    text += labelled("result", stop_text(result.stopped_by) + " before the proof");
  }
  text += parts + framework_lines(first, result);
  if (result.is_given) return text;
  return text + "\n" +
         labelled("search",
                  fmt::format("{} deployments for different chips, {} sums in {}", result.leaves,
                              result.stats.nodes, to_text(result.stats.time)));
}

Sheet report_text(const Task& task, const serving::ServingResult& result, const std::string& title,
                  bool with_details) {
  Sheet text = title_line(title) + asked_text(task);
  text += labelled("objective", name_of(task.objective));
  text += "\n" + status_line(task, result);
  if (result.at_low) text += at_low_lines(task, *result.at_low);
  if ((result.status == SearchStatus::Infeasible || result.at_low) && !result.is_given) {
    text += remedy_lines(task, result);
  }
  const bool is_front =
      result.is_given ? !result.deployment : task.objective == serving::Objective::Front;
  if (is_front) {
    if (!result.front.empty()) text += front_table(task, result) + framework_lines(task, result);
    if (has_guessed_rates(task)) text += guessed_line(*task.model.mixed);
  } else if (result.deployment) {
    const Deployment& best = *result.deployment;
    if (!result.figures) return text;  // the product of its degrees may leave 64 bits
    const Figures& figures = *result.figures;
    text += labelled("deployment", deployment_text(task, best)) + idle_line(task, best) +
            empty_line(task, best);
    if (best.mode == serving::Mode::Disaggregated && !result.is_given) {
      text += apart_line(task, result);
    }
    text += measured_line(task, best, figures);
    if (!std::isfinite(figures.ttft)) {
      text +=
          labelled("caution",
                   "prompts come as fast as they can be answered, so more and more of them wait; "
                   "--set serving.limits.ttft=\"2 s\" bounds the wait");
    }
    if (has_guessed_rates(task)) text += guessed_line(*task.model.mixed);
    text += latency_line(task, figures) + rates_line(best, figures) +
            iteration_lines(task, best, figures) + memory_line(task, best, figures) +
            cache_lines(task, best) + cost_line(figures) + modes_lines(task, result) +
            framework_lines(task, result) + gain_lines(task, result);
    int rank = 1;
    for (const auto& found : result.alternatives) {
      ++rank;
      text += labelled(
          fmt::format("#{}", rank),
          found.deployment
              ? value_text(task, *found.figures) + ": " + deployment_text(task, *found.deployment)
              : stop_text(found.stopped_by) + " before a deployment was found");
    }
    if (result.alternatives_complete) {
      text += labelled("", "no deployment with other structures keeps all limits");
    }
    if (with_details) text += operation_tables(task, best, figures);
  }
  return result.is_given ? text : text + "\n" + search_lines(result);
}

}  // namespace dfsearch
