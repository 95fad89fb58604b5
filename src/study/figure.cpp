#include "study/figure.hpp"

#include <cmath>
#include <limits>

namespace dfsearch::study {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Description {
  std::string_view name;
  std::string_view unit;
  bool more_is_better;
};

constexpr std::array<Description, kFigures.size()> kDescriptions = {{
    {"step_time", "s", false},
    {"price", "$", false},
    {"power", "W", false},
    {"utilization", "", true},
    {"cost_efficiency", "FLOP/s per $", true},
    {"power_efficiency", "FLOP/s per W", true},
    {"tokens_per_second", "1/s", true},
    {"time_to_first_token", "s", false},
    {"time_per_output_token", "s", false},
    {"tokens_per_s_per_chip", "1/s", true},
    {"dollars_per_mtoken", "$", false},
    {"joule_per_token", "J", false},
}};

const Description& description_of(Figure figure) {
  return kDescriptions[static_cast<std::size_t>(figure)];
}

/// Infinite where the divisor is not known.
double quotient(double dividend, double divisor) {
  return divisor > 0.0 ? dividend / divisor : kInfinity;
}

}  // namespace

std::string_view name_of(Figure figure) { return description_of(figure).name; }
std::string_view unit_of(Figure figure) { return description_of(figure).unit; }
bool more_is_better(Figure figure) { return description_of(figure).more_is_better; }

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
  // Quotients in another order than that of the model: as much better as roundings may be.
  if (!least.flop) return best;
  const double rate = quotient(*least.flop, step_time) * (1.0 + 1e-12);
  best[Figure::Utilization] = quotient(rate, least.peak);
  best[Figure::CostEfficiency] = quotient(rate, least.price);
  best[Figure::PowerEfficiency] = quotient(rate, least.power);
  return best;
}

}  // namespace dfsearch::study
