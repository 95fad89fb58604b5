#pragma once
// Lines that the reports of both searches over whole steps share: executions of Calculon's model
// and plans of training steps.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "base/units_text.hpp"
#include "engine/names.hpp"
#include "engine/plan/step_search.hpp"
#include "engine/serving/find_deployment.hpp"
#include "io/report/report_words.hpp"
#include "io/report/sheet.hpp"
#include "model/framework.hpp"
#include "model/machine/machine.hpp"
#include "model/scope.hpp"

namespace dfsearch {

/// Greatest gap that ties of deployments leave: a front has twice kTie, but for rounding.
inline constexpr double kMostOfTies = 2.5 * serving::kTie;

/// Nouns for the kind of answer.
struct AnswerNouns {
  std::string_view one;    ///< "a plan"
  std::string_view none;   ///< "no plan"
  std::string least;       ///< the lower bound with its unit, in "no plan takes less than"
  std::string distance{};  ///< distance of the answer from the best; empty: the gap states it
};

/// The state of the proof, in a phrase.
std::string result_text(const Proof& certainty, const Scope& scope, const AnswerNouns& sought);

/// The lines `result` and `scope` of a search for steps.
/// `least` is the text of the lower bound; empty: seconds of a step.
Sheet result_line(const Proof& certainty, const Scope& scope, std::string_view one,
                  std::string_view none, const std::string& least = "");

/// The lines `step time` and, unless something else was minimised, `lower bound`; `peak` is the sum
/// over all chips, and `of` names the format that it is of, if products have others.
Sheet step_lines(const Proof& certainty, Seconds step_time, double utilization, FlopsPerSecond peak,
                 bool by_time = true, std::string_view of = "");

/// The lines `price` and `power` of a machine that has them.
template <class Cost>
Sheet price_lines(const Cost& cost) {
  Sheet text;
  if (cost.price > Dollars{}) {
    text += labelled("price",
                     fmt::format("{}; {}", to_text(cost.price), to_text(cost.cost_efficiency)));
  }
  if (cost.power > Watts{}) {
    text += labelled("power",
                     fmt::format("{}; {}", to_text(cost.power), to_text(cost.power_efficiency)));
  }
  return text;
}

/// The line `energy`: joules of a step and of each of its `tokens`, watts, and where they go;
/// nothing without energies.
Sheet energy_line(const std::optional<Energy>& energy, std::optional<double> tokens);

/// The line `framework`: gain of the best answer with any framework over the answer found, which
/// costs `found`; `one` is the noun of the answers, `best` the performance of the best.
Sheet framework_line(Framework framework, const BestWithoutFramework& any, Score found,
                     std::string_view one, const std::string& best);

/// The line `rate`: tokens per second of all chips, of one, and per dollar if there are prices.
Sheet rate_line(double tokens, std::int64_t chips, Dollars price);

/// The line `space`: number of answers, and how many of them fit if that was asked for.
Sheet space_line(const StepSearchReport& end, std::string_view one);

/// The line `search`.
Sheet effort_line(const StepSearchReport& end);

/// The best of other parallelisms; `degrees` makes the text of an answer's degrees.
template <class Result, class DegreesText>
Sheet top_lines(const Result& result, std::string_view one, std::string_view none,
                const DegreesText& degrees) {
  Sheet text;
  int rank = 1;
  for (const auto& found : result.alternatives) {
    ++rank;
    text += labelled(fmt::format("#{}", rank),
                     found.cost
                         ? fmt::format("{}; {}; {}", to_text(found.cost->step_time), degrees(found),
                                       name_of(found.status))
                         : fmt::format("{} before {} was found", stop_text(found.stopped_by), one));
  }
  if (result.alternatives_complete) {
    text += labelled("", fmt::format("{} with other degrees fits", none));
  }
  return text;
}

}  // namespace dfsearch
