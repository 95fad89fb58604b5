// The report of a deployment, a front or a fleet: the proof, the deployment with the parts of its
// times and needs, other deployments, and the effort of the search.

#include "io/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/units_text.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "io/report/report_parts.hpp"
#include "io/report/report_words.hpp"
#include "io/text/joined.hpp"
#include "io/text/text_table.hpp"
#include "model/serving/measured_class.hpp"
#include "model/serving/requests.hpp"

namespace dfsearch {
namespace {

using serving::Broken;
using serving::Deployment;
using serving::Figures;
using serving::Role;
using serving::Task;

Sheet status_line(const Task& task, const serving::ServingResult& result) {
  std::string text;
  if (result.is_given) {
    const bool is_front = !result.deployment;
    text = is_front ? "each deployment of the front " : "the deployment ";
    if (result.status == SearchStatus::Feasible)
      return labelled("result", text + "keeps all limits");
    if (result.status == SearchStatus::NoSolution) {
      return labelled("result", text + "keeps all limits at the low end of the memory only");
    }
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
                 ? fmt::format("within the gap that was allowed: gap {}", percent(result.gap))
                 : "optimal, proved";
      // The fewest chips are chosen among equally good deployments.
      if (0.0 < result.gap && result.gap <= kMostOfTies) text += ", to parts in 1e9";
      break;
    case SearchStatus::Feasible:
      text = fmt::format("{} with a deployment; gap {}", stop_text(result.stopped_by),
                         percent(result.gap));
      break;
    case SearchStatus::Infeasible:
      text = "infeasible, proved: no deployment satisfies " +
             joined(result.ruled_out_by, " and ",
                    [&](Broken limit) { return limit_words(task, limit); });
      break;
    case SearchStatus::NoSolution:
      text = result.stopped_by == StopReason::None
                 ? "no deployment was found to fit, " + constants_text(task)
                 : fmt::format("{} before a deployment was found", stop_text(result.stopped_by));
      break;
  }
  if (result.figures && task.objective != serving::Objective::Front) {
    text += "; " + value_text(task, *result.figures);
  }
  return labelled("result", text);
}

/// Relative excess of the best answer of another mode over the answer; 0 if it is not worse.
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
        fmt::format("at best {}; the deployment above is {} better: {}",
                    value_text(task, best->figures), percent(ahead_of(task, result, best->figures)),
                    deployment_text(task, best->deployment)));
  }
  return text;
}

/// A caution about the prediction error of disaggregated deployments, if one is the answer.
Sheet apart_line(const Task& task, const serving::ServingResult& result) {
  // docs/serving.md, section 8; a test compares it with the table there.
  constexpr double kOff = 0.18, kBias = -0.024;
  constexpr int kMeasured = 129;
  std::string than;
  for (const auto& best : result.best_of_mode) {
    if (!best || best->deployment.mode != serving::Mode::Aggregated) continue;
    const double ahead = ahead_of(task, result, best->figures);
    than = fmt::format(
        ". By the model it is {} better than the best aggregated deployment, which is {} that "
        "error",
        percent(ahead), ahead < kOff ? "less than" : "more than");
  }
  return labelled("caution",
                  fmt::format("for {} measured deployments with separate prefill, predicted times "
                              "per token are {:.0f} % off, {:.0f} % too {} on average, and times "
                              "to the first token are not predicted (docs/serving.md, section "
                              "8){}; --set serving.modes=aggregated excludes such deployments",
                              kMeasured, 100.0 * kOff, 100.0 * std::fabs(kBias),
                              kBias < 0.0 ? "fast" : "slow", than));
}

/// A caution if deployments of this class were not measured, or predicted badly.
Sheet measured_line(const Task& task, const Deployment& deployment, const Figures& figures) {
  const serving::Engine& engine = task.pools[deployment.decode.structure.pool].engine;
  const std::string doubt = doubt_of(engine, class_of(task, deployment, figures));
  return doubt.empty() ? "" : labelled("caution", doubt + " (docs/serving.md, section 8)");
}

/// The line on ranks that have no user.
Sheet empty_line(const Task& task, const Deployment& deployment) {
  if (!task.concurrency || deployment.mode != serving::Mode::Aggregated) return "";
  const Role& role = deployment.decode;
  const serving::Structure& s = role.structure;
  const double ranks = serving::real(role.replicas * s.attention_data * s.pipeline);
  if (*task.concurrency >= ranks) return "";
  return labelled("caution",
                  fmt::format("{:.6g} of {:.6g} ranks and micro-batches have no user; engines may "
                              "give each of these the time of a full one, which is not modelled",
                              ranks - *task.concurrency, ranks));
}

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

/// Greatest number of rows of a front in a report; the JSON has all.
constexpr std::size_t kMostOfFront = 20;

/// The points of a long front that a report shows: both ends, the knee, and changes of structure,
/// evenly thinned if there are too many.
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
          ? fmt::format(
                "{} deployments between these are not printed; --json and --html contain all\n",
                left_out)
          : ""};
}

Sheet search_lines(const serving::ServingResult& result) {
  std::string text = fmt::format("{} of batches in {} on {}; {} single batches evaluated",
                                 plural(result.stats.nodes, "interval"), to_text(result.stats.time),
                                 plural(result.stats.threads, "thread"), result.leaves);
  Sheet lines = labelled(
      "space", fmt::format("{:.6g} deployments", result.deployments) +
                   (result.feasible ? fmt::format(", {} keep all limits", *result.feasible) : ""));
  return lines + labelled("search", text);
}

}  // namespace

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
      text += labelled("caution",
                       "requests arrive as fast as they are answered, so the queue grows without "
                       "end; --set serving.limits.ttft=\"2 s\" bounds the wait");
    }
    if (has_guessed_rates(task)) text += guessed_line(*task.model.mixed);
    text += figure_lines(task, best, figures) + modes_lines(task, result) +
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

// Model, load and chips of deployments, and the report of a fleet.

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
    const serving::Figures& of_one = part.figures;
    std::string figures = "first token " + time_text(of_one.ttft);
    if (of_one.tpot > 0.0) figures += ", each after it " + time_text(of_one.tpot);
    if (of_one.joule_per_token > 0.0) {
      figures += ", " + to_text(Joules(of_one.joule_per_token)) + " for a token";
    }
    parts +=
        labelled(fleet.names[part.model],
                 fmt::format("{} times {:.5g} requests/s, {}: {}", part.count, of_one.capacity,
                             figures, deployment_text(fleet.models[part.model], part.deployment)));
  }
  if (result.status == SearchStatus::Optimal || result.status == SearchStatus::Feasible) {
    std::string chips;
    for (std::size_t p = 0; p < used.size(); ++p) {
      chips += fmt::format("{}{} of {} {}", p > 0 ? ", " : "", used[p],
                           plural(first.pools[p].chips, "chip"), first.pools[p].name);
    }
    const char* sure =
        result.is_given ? "a fleet that was given; it serves all rates" : "optimal, proved";
    std::string sums;  // price and power, if they are known
    if (price > 0.0) sums += fmt::format("{:.6g} $/h, ", price);
    if (power > 0.0) sums += to_text(Watts(power)) + ", ";
    text += labelled("result", fmt::format("{}; {}{}", sure, sums, chips));
  } else if (result.is_given) {
    text += labelled("result", result.status == SearchStatus::NoSolution
                                   ? "the fleet serves all rates at the low end of the memory only"
                                   : "the fleet is ruled out");
  } else if (result.status == SearchStatus::Infeasible) {
    text += labelled("result", "infeasible, proved: no mix of deployments serves all rates") +
            remedy_lines(first, result);
  } else if (result.stopped_by == StopReason::None) {
    text += labelled("result", "no fleet was found to fit, " + constants_text(first)) +
            remedy_lines(first, result);
  } else {
    text += labelled("result", stop_text(result.stopped_by) + " before the proof");
  }
  text += parts + framework_lines(first, result);
  if (result.is_given) return text;
  return text + "\n" +
         labelled("search",
                  fmt::format("{} deployments of different numbers of chips, {} sums of them in {}",
                              result.leaves, result.stats.nodes, to_text(result.stats.time)));
}

}  // namespace dfsearch
