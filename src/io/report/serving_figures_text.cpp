// Figures of a deployment: latencies, rates, the parts of an iteration and its kernels, memory,
// cost and energy.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/units_text.hpp"
#include "io/report/report_words.hpp"
#include "io/report/serving_words.hpp"
#include "io/text/text_table.hpp"
#include "model/serving/cache_room.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch {
namespace {

using serving::Deployment;
using serving::Figures;
using serving::Role;
using serving::Task;

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
