#include "study/figure.hpp"

#include <cmath>
#include <limits>

namespace dfsearch::study {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The quotient, or infinity if the divisor is 0, which means unknown.
double quotient(double dividend, double divisor) {
  return divisor > 0.0 ? dividend / divisor : kInfinity;
}

// docs/energy.md (12)
double least_energy(double idle, double work) {
  return 2.0 * work <= idle ? idle + work : 3.0 * std::cbrt(idle * idle * work / 4.0);
}

}  // namespace

std::vector<Figure> figures_with(unsigned parts) {
  std::vector<Figure> figures;
  for (const Figure figure : kFigures) {
    const FigureRow& row = row_of(figure);
    const bool belongs = (parts & kDeployment) != 0 ? row.of_requests : (row.needs & ~parts) == 0;
    if (belongs) figures.push_back(figure);
  }
  return figures;
}

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
  // The model adds in another order; the factor covers the roundings.
  best[Figure::Energy] = least_energy(least.idle_power * step_time, least.work) * (1.0 - 1e-12);
  best[Figure::Edp] = best[Figure::Energy] * step_time;
  if (!least.flop) return best;
  const double rate = quotient(*least.flop, step_time) * (1.0 + 1e-12);
  best[Figure::Utilization] = quotient(rate, least.peak);
  best[Figure::CostEfficiency] = quotient(rate, least.price);
  best[Figure::PowerEfficiency] = quotient(rate, least.power);
  return best;
}

}  // namespace dfsearch::study
