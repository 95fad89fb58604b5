#include "io/report/report_parts.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/text/joined.hpp"
#include "io/text/text_table.hpp"
#include "model/machine/network_choices.hpp"
#include "model/objective_rows.hpp"

namespace dfsearch {
namespace {

Seconds seconds(Score score) { return Seconds(score.in_base_units()); }

}  // namespace

std::string result_text(const Proof& certainty, const Scope& scope, const AnswerNouns& sought) {
  const std::string gap = "gap " + percent(certainty.gap);
  const std::string stop = stop_text(certainty.stopped_by);
  const auto& [one, none, least, distance] = sought;
  switch (certainty.status) {
    case SearchStatus::Optimal:
      if (!(certainty.gap > 0.0)) return optimal_text(scope);
      return "within the gap that was allowed: " + gap + (distance.empty() ? "" : ", " + distance);
    case SearchStatus::Feasible:
      if (distance.empty() && certainty.is_given())
        return fmt::format("{} that was given; it fits", one);
      return fmt::format("{} with {}; {}", stop, one, distance.empty() ? gap : distance);
    case SearchStatus::Infeasible:
      return nothing_fits_text(scope, none);
    case SearchStatus::NoSolution:
      break;
  }
  return fmt::format("{} before {} was found; none can take less than {}", stop, one, least);
}

Sheet result_line(const Proof& certainty, const Scope& scope, std::string_view one,
                  std::string_view none, const std::string& least) {
  const AnswerNouns sought{
      .one = one,
      .none = none,
      .least = least.empty() ? to_text(seconds(certainty.lower_bound)) : least};
  return labelled("result", result_text(certainty, scope, sought)) + scope_line(scope);
}

Sheet step_lines(const Proof& certainty, Seconds step_time, double utilization, FlopsPerSecond peak,
                 bool by_time, std::string_view of) {
  const Seconds bound = seconds(certainty.lower_bound);
  const Sheet step = labelled(
      "step time", fmt::format("{} ({} s); {} of the {}peak of {}", to_text(step_time),
                               step_time.in_base_units(), percent(utilization), of, to_text(peak)));
  if (certainty.is_given() || !by_time) return step;
  return step + labelled("lower bound", fmt::format("{} ({} s); gap {}", to_text(bound),
                                                    bound.in_base_units(), percent(certainty.gap)));
}

std::string chips_text(const Machine& machine) {
  const MemoryTier& memory = machine.memory[0];
  std::string text = fmt::format(
      "{} of {}, {} memory at {}", plural(machine.chips, "chip"), to_text(machine.matrix.peak),
      memory.capacity < Bytes::infinity() ? to_text(memory.capacity) : "unlimited",
      to_text(memory.bandwidth));
  if (const MemoryTier* second = machine.second_memory()) {
    text += fmt::format(", second memory {} at {}", to_text(second->capacity),
                        to_text(second->bandwidth));
  }
  return text;
}

std::string energy_shares(const Energy& energy) {
  const Joules all = energy.sum();
  const EnergyWork& work = energy.work;
  return fmt::format("static {}, arithmetic {}, memory {}, links {}", percent(energy.idle / all),
                     percent(work.math / all), percent(work.memory / all),
                     percent(work.links / all));
}

Sheet energy_line(const std::optional<Energy>& energy, std::optional<double> tokens) {
  if (!energy) return "";
  const Joules all = energy->sum();
  std::string text =
      fmt::format("{} a step, {} on average", to_text(all), to_text(energy->power()));
  if (tokens) text += fmt::format(", {} a token", to_text(all / *tokens));
  text += "; " + energy_shares(*energy);
  if (energy->clock < 1.0) {
    text += fmt::format("; the power cap lowers the clock to {}: a step takes {}",
                        percent(energy->clock), to_text(energy->time));
  }
  return labelled("energy", text);
}

Sheet framework_line(Framework framework, const BestWithoutFramework& any, Score found,
                     std::string_view one, const std::string& best) {
  std::string bound = ", proved";
  const bool is_proved =
      any.lower_bound >= any.best ||
      (any.lower_bound > Score{} && any.best / any.lower_bound - 1.0 <= kMostOfTies);
  if (!is_proved) {
    bound = any.lower_bound > Score{}
                ? fmt::format(", at most {}", percent(found / any.lower_bound - 1.0))
                : ", perhaps more: the search was stopped";
  }
  if (!std::isfinite(any.gain)) {
    return labelled("framework",
                    fmt::format("{}; {} of any framework reaches what this one does not{}",
                                name_of(framework), one, bound));
  }
  return labelled("framework",
                  fmt::format("{}; {} of any framework is {} better{}: {}", name_of(framework), one,
                              percent(any.gain), bound, best));
}

Sheet rate_line(double tokens, std::int64_t chips, Dollars price) {
  std::string text =
      fmt::format("{:.6g} tokens/s, {:.5g} of a chip", tokens, tokens / static_cast<double>(chips));
  if (price > Dollars{}) {
    text += fmt::format(", {:.4g} for a dollar", tokens / price.in_base_units());
  }
  return labelled("rate", text);
}

Sheet space_line(const StepSearchReport& end, std::string_view one) {
  if (!end.candidates) return "";
  std::string text = plural(*end.candidates, one);
  if (end.feasible) text += fmt::format(", {} fit", *end.feasible);
  return labelled("space", text);
}

Sheet effort_line(const StepSearchReport& end) {
  return labelled("search",
                  fmt::format("{} in {} on {}; {} memories and {} step times computed",
                              plural(end.stats.nodes, "node"), to_text(end.stats.time),
                              plural(end.stats.threads, "thread"), end.measured, end.evaluated));
}

namespace {

/// The keys that widen a scope, as in "search.sharding: joint".
std::string keys_of(const Scope& scope) {
  return joined(scope, ", ", [](const FixedBeforehand& fixed) { return fixed.searched_by; });
}

Sheet line(const Scope& scope, const std::string& beyond) {
  return labelled("scope", fmt::format("{} beforehand; {}", names_of(scope), beyond));
}

/// The best mapping with nothing fixed, which is at least as good as the answer.
std::string beyond_text(const SearchResult& result, Objective objective) {
  const BestMapping& beyond = *result.beyond_scope;
  const bool proved = beyond.status == SearchStatus::Optimal;
  if (!beyond.cost) return "nothing fits";
  const std::string value = objective_text(objective, beyond.cost->objective);
  const std::string bound = objective_text(objective, beyond.lower_bound);
  const std::string at_least = proved ? "" : fmt::format(", and at least {}", bound);
  if (!result.cost) return fmt::format("a mapping fits: {}{}", value, at_least);
  if (beyond.cost->objective < result.cost->objective) {
    return (proved ? "the best is " : "at most ") + value + at_least;
  }
  return proved ? "none is better" : fmt::format("no better one is known, and at least {}", bound);
}

}  // namespace

std::string optimal_text(const Scope& scope) {
  return fmt::format("optimal, proved{}: gap 0", proved_for(scope));
}

std::string nothing_fits_text(const Scope& scope, std::string_view none, std::string_view by) {
  return fmt::format("infeasible, proved{}{}: {} fits", proved_for(scope), by, none);
}

Sheet scope_line(const Scope& scope) { return scope.empty() ? "" : line(scope, untried(scope)); }

Sheet scope_line(const SearchResult& result, Objective objective) {
  const auto& beyond = result.beyond_scope;
  if (!beyond || beyond->status == SearchStatus::NoSolution) return scope_line(result.scope);
  return line(result.scope,
              fmt::format("with {} {}", keys_of(result.scope), beyond_text(result, objective)));
}

namespace {

/// Excess of `score` over the best one, as in "3.8 %".
std::string excess(Score score, const BestMapping& best) {
  const Score least = best.cost->objective;
  return percent(std::max(0.0, (score - least) / least));
}

/// The word for a mapping that is not the best.
const char* worse_word(Objective objective) {
  return objective == Objective::StepTime ? "slower" : "worse";
}

std::string next_best_text(Objective objective, const BestMapping& best, const BestMapping& next) {
  const char* const worse = worse_word(objective);
  if (!next.cost) {
    return fmt::format("not found before the search ended; at least {} {}",
                       excess(next.lower_bound, best), worse);
  }
  const std::string text = fmt::format(
      "{}: {}, {} {}", parallelism_text(parallelism_of(next.mapping->network)),
      objective_text(objective, next.cost->objective), excess(next.cost->objective, best), worse);
  if (next.status == SearchStatus::Optimal) return text;
  return text + fmt::format("; not proved, at least {} {}", excess(next.lower_bound, best), worse);
}

std::vector<std::string> network_words(const Mapping& mapping) {
  std::vector<std::string> words;
  for (const Mapping::Dimension& dimension : mapping.network) {
    if (!words.empty()) words.back() += ',';
    words.push_back(std::to_string(dimension.degree));
    words.emplace_back(name_of(dimension.strategy));
  }
  return words;
}

Sheet table(Objective objective, const SearchResult& result) {
  TextTable table({"#", "tensor", "pipeline", "data", "step time", worse_word(objective), "gap",
                   "price", "network"});
  std::int64_t rank = 0;
  const auto add = [&](const BestMapping& found) {
    const std::string number = std::to_string(++rank);
    if (!found.cost) {
      table.add(
          {number, "?", "?", "?", "> " + objective_text(objective, found.lower_bound), "", "", ""},
          {});
      return;
    }
    const Parallelism degrees = parallelism_of(found.mapping->network);
    table.add({number, std::to_string(degrees.tensor), std::to_string(degrees.pipeline),
               std::to_string(degrees.data), to_text(found.cost->step_time),
               excess(found.cost->objective, result), percent(found.gap),
               found.cost->price > Dollars{} ? to_text(found.cost->price) : "-"},
              network_words(*found.mapping));
  };
  add(result);
  for (const BestMapping& found : result.alternatives) add(found);
  return TitledTable{"best parallelisms", std::move(table),
                     result.alternatives_complete ? "no other parallelism fits\n" : ""};
}

}  // namespace

Sheet ranking_text(Objective objective, const SearchResult& result) {
  if (!result.cost || result.parallelisms < 2) return "";
  if (result.alternatives.size() > 1) return table(objective, result);
  if (result.alternatives.size() == 1) {
    return labelled("next best", next_best_text(objective, result, result.alternatives.front()));
  }
  if (!result.alternatives_complete) return "";
  return labelled("next best", "none: no other parallelism fits");
}

}  // namespace dfsearch
