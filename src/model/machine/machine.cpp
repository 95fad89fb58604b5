// The columns of powers of x, in units of the greatest x, are made orthogonal one after the other
// (modified Gram-Schmidt), which keeps twice the digits of the normal equations.

#include "model/machine/machine.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dfsearch {

// docs/model.md (46)
double RateByPeak::at(FlopsPerSecond peak) const {
  const double x = peak / FlopsPerSecond(1e12);
  double value = 0.0;
  for (const double coefficient : polynomial) value = value * x + coefficient;
  return value;
}

std::vector<double> least_squares(std::span<const std::pair<double, double>> points,
                                  std::size_t degree) {
  using Column = std::vector<double>;
  const auto dot = [](const Column& a, const Column& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const auto take_off = [](Column& from, double times, const Column& what) {
    for (std::size_t i = 0; i < from.size(); ++i) from[i] -= times * what[i];
  };
  double unit = 0.0;
  Column rest;
  for (const auto& [x, y] : points) {
    unit = std::max(unit, std::abs(x));
    rest.push_back(y);
  }
  std::vector<Column> columns(degree + 1);  // by power; orthogonal up to the current power
  std::vector<Column> parts(degree + 1, Column(degree + 1));  // earlier columns in each column
  Column shares(degree + 1);
  for (std::size_t power = 0; power <= degree; ++power) {
    Column& column = columns[power];
    for (const auto& [x, y] : points) {
      column.push_back(std::pow(x / unit, static_cast<double>(power)));
    }
    for (std::size_t before = 0; before < power; ++before) {
      const Column& other = columns[before];
      parts[power][before] = dot(column, other) / dot(other, other);
      take_off(column, parts[power][before], other);
    }
    shares[power] = dot(rest, column) / dot(column, column);
    take_off(rest, shares[power], column);
  }
  std::vector<double> coefficients;
  for (std::size_t power = degree + 1; power-- > 0;) {
    for (std::size_t before = 0; before < power; ++before) {
      shares[before] -= shares[power] * parts[power][before];
    }
    coefficients.push_back(shares[power] / std::pow(unit, static_cast<double>(power)));
  }
  return coefficients;
}

}  // namespace dfsearch
