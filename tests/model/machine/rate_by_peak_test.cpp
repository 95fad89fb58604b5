
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "model/machine/machine.hpp"

namespace dfsearch {
namespace {

using Points = std::vector<std::pair<double, double>>;

/// Power by power, the highest first.
double plain_value(const std::vector<double>& polynomial, double x) {
  double value = 0.0;
  for (std::size_t i = 0; i < polynomial.size(); ++i) {
    value += polynomial[i] * std::pow(x, static_cast<double>(polynomial.size() - 1 - i));
  }
  return value;
}

Points random_points(std::mt19937_64& random, std::size_t degree) {
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  const double most = std::pow(10.0, 3.0 * unit(random));
  Points points;
  const std::size_t count = degree + 1 + random() % 6;
  for (std::size_t i = 0; i < count; ++i) {
    points.emplace_back(most * (static_cast<double>(i) + 0.1 + 0.8 * unit(random)), unit(random));
  }
  std::shuffle(points.begin(), points.end(), random);
  return points;
}

TEST_CASE("what a fit leaves has no part in any power: no other polynomial is nearer") {
  std::mt19937_64 random(11);
  for (int world = 0; world < 300; ++world) {
    CAPTURE(world);
    const std::size_t degree = 1 + random() % 4;
    const Points points = random_points(random, degree);
    const std::vector<double> fitted = least_squares(points, degree);
    REQUIRE(fitted.size() == degree + 1);
    for (std::size_t power = 0; power <= degree; ++power) {
      double part = 0.0;
      double size = 0.0;
      for (const auto& [x, y] : points) {
        const double weight = std::pow(x, static_cast<double>(power));
        part += weight * (y - plain_value(fitted, x));
        size += std::abs(weight * y);
      }
      CHECK(std::abs(part) <= 1e-9 * size);
    }
    if (points.size() > degree + 1) continue;
    for (const auto& [x, y] : points) CHECK(plain_value(fitted, x) == doctest::Approx(y));
  }
}

TEST_CASE("a polynomial through its own values is found again") {
  std::mt19937_64 random(12);
  for (int world = 0; world < 300; ++world) {
    CAPTURE(world);
    const std::size_t degree = 1 + random() % 4;
    Points points = random_points(random, degree);
    std::vector<double> given;
    double most = 0.0;
    for (const auto& [x, y] : points) most = std::max(most, x);
    for (std::size_t i = 0; i <= degree; ++i) {
      given.push_back((1.0 + static_cast<double>(random() % 9)) /
                      std::pow(most, static_cast<double>(degree - i)));
    }
    for (auto& [x, y] : points) y = plain_value(given, x);
    const std::vector<double> fitted = least_squares(points, degree);
    for (std::size_t i = 0; i <= degree; ++i) {
      CHECK(fitted[i] == doctest::Approx(given[i]).epsilon(1e-8));
    }
  }
}

TEST_CASE("a rate is a polynomial of TFLOP/s") {
  const RateByPeak rate{.polynomial = {2.0, -3.0, 5.0}, .chips = {}};
  CHECK(rate.at(FlopsPerSecond(10e12)) == 200.0 - 30.0 + 5.0);
}

}  // namespace
}  // namespace dfsearch
