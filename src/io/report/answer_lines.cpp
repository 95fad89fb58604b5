#include "io/report/answer_lines.hpp"

#include <cmath>

#include "io/report/report_parts.hpp"
#include "io/text/joined.hpp"

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
      return "within the gap asked for: " + gap + (distance.empty() ? "" : ", " + distance);
    case SearchStatus::Feasible:
      if (distance.empty() && certainty.is_given())
        return fmt::format("{} that was given, which fits", one);
      return fmt::format("{} with {}; {}", stop, one, distance.empty() ? gap : distance);
    case SearchStatus::Infeasible:
      return nothing_fits_text(scope, none);
    case SearchStatus::NoSolution:
      break;
  }
  return fmt::format("{} before {} was found; none takes less than {}", stop, one, least);
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

Sheet energy_line(const std::optional<Energy>& energy, std::optional<double> tokens) {
  if (!energy) return "";
  const Joules all = energy->sum();
  std::string text =
      fmt::format("{} a step, {} on average", to_text(all), to_text(energy->power()));
  if (tokens) text += fmt::format(", {:.4g} J a token", all.in_base_units() / *tokens);
  const EnergyWork& work = energy->work;
  text +=
      fmt::format("; static {}, arithmetic {}, memory {}, links {}", percent(energy->idle / all),
                  percent(work.math / all), percent(work.memory / all), percent(work.links / all));
  if (energy->clock < 1.0) {
    text += fmt::format("; the cap lowers the clock to {}: a step takes {}", percent(energy->clock),
                        to_text(energy->time));
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
                : ", or more: the search was stopped";
  }
  if (!std::isfinite(any.gain)) {
    return labelled("framework", fmt::format("{}; {} of any reaches what this one does not{}",
                                             name_of(framework), one, bound));
  }
  return labelled("framework", fmt::format("{}; {} of any is {} better{}: {}", name_of(framework),
                                           one, percent(any.gain), bound, best));
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

}  // namespace dfsearch
