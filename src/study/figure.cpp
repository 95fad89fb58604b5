#include "study/figure.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/units.hpp"
#include "base/units_text.hpp"

namespace dfsearch::study {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// How a number of a unit is printed.
template <class Quantity>
std::string text_of(double value) {
  return to_text(Quantity(value));
}
std::string percent_text(double value) { return fmt::format("{:.2f} %", 100.0 * value); }
std::string rate_text(double value) { return fmt::format("{:.6g}/s", value); }
std::string rate_per_dollar_text(double value) { return fmt::format("{:.4g}/s per $", value); }
std::string dollar_text(double value) { return fmt::format("{:.4g} $", value); }
std::string joule_text(double value) { return fmt::format("{:.4g} J", value); }

std::string joule_second_text(double value) { return fmt::format("{:.4g} J s", value); }

struct Description {
  std::string_view name;
  std::string_view unit;
  bool more_is_better;
  std::string (*text)(double value);
  unsigned needs;            ///< parts of an answer
  bool of_requests = false;  ///< deployments have it
};

constexpr std::array<Description, kFigures.size()> kDescriptions = {{
    {"step_time", "s", false, text_of<Seconds>, kStep},
    {"price", "$", false, text_of<Dollars>, kStep | kPrice},
    {"power", "W", false, text_of<Watts>, kStep | kPower},
    {"utilization", "", true, percent_text, kStep},
    {"cost_efficiency", "FLOP/s per $", true, text_of<FlopsPerSecondPerDollar>, kStep | kPrice},
    {"power_efficiency", "FLOP/s per W", true, text_of<FlopsPerSecondPerWatt>, kStep | kPower},
    {"tokens_per_second", "1/s", true, rate_text, kTokenRates, true},
    {"time_to_first_token", "s", false, text_of<Seconds>, kPrefill, true},
    {"time_per_output_token", "s", false, text_of<Seconds>, kDecode, true},
    {"tokens_per_s_per_chip", "1/s", true, rate_text, kTokenRates, true},
    {"tokens_per_s_per_dollar", "1/s per $", true, rate_per_dollar_text, kTokenRates | kPrice},
    {"dollars_per_mtoken", "$", false, dollar_text, kDeployment, true},
    {"joule_per_token", "J", false, joule_text, kEnergy | kTokens, true},
    {"joules", "J", false, joule_text, kEnergy},
    {"edp", "J s", false, joule_second_text, kEnergy},
}};

const Description& description_of(Figure figure) {
  return kDescriptions[static_cast<std::size_t>(figure)];
}

/// A quotient that is infinite if the divisor is not known.
double quotient(double dividend, double divisor) {
  return divisor > 0.0 ? dividend / divisor : kInfinity;
}

}  // namespace

std::vector<Figure> figures_with(unsigned parts) {
  std::vector<Figure> figures;
  for (const Figure figure : kFigures) {
    const Description& row = description_of(figure);
    const bool belongs = (parts & kDeployment) != 0 ? row.of_requests : (row.needs & ~parts) == 0;
    if (belongs) figures.push_back(figure);
  }
  return figures;
}

std::string_view name_of(Figure figure) { return description_of(figure).name; }
std::string_view unit_of(Figure figure) { return description_of(figure).unit; }
bool more_is_better(Figure figure) { return description_of(figure).more_is_better; }
std::string figure_text(Figure figure, double value) { return description_of(figure).text(value); }

Figures::Figures() { values_.fill(std::numeric_limits<double>::quiet_NaN()); }

bool Figures::has(Figure figure) const { return !std::isnan((*this)[figure]); }

double Figures::badness(Figure figure) const {
  if (!has(figure)) return kInfinity;
  return more_is_better(figure) ? -(*this)[figure] : (*this)[figure];
}

Figures optimistic_figures(const PointFacts& least, double step_time) {
  Figures best;
  for (const Figure figure : kFigures) best[figure] = more_is_better(figure) ? kInfinity : 0.0;
  best[Figure::StepTime] = step_time;
  best[Figure::Price] = least.price;
  best[Figure::Power] = least.power;
  // The quotients are computed in another order than in the model: 1e-12 more covers the roundings.
  if (!least.flop) return best;
  const double rate = quotient(*least.flop, step_time) * (1.0 + 1e-12);
  best[Figure::Utilization] = quotient(rate, least.peak);
  best[Figure::CostEfficiency] = quotient(rate, least.price);
  best[Figure::PowerEfficiency] = quotient(rate, least.power);
  return best;
}

}  // namespace dfsearch::study
