#include "base/least_sum.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace dfsearch {
namespace {

double value_of(const std::vector<std::size_t>& sizes, const std::vector<SumTerm>& terms,
                const std::vector<std::uint8_t>& values) {
  double sum = 0.0;
  for (const SumTerm& term : terms) {
    std::size_t index = 0;
    for (const std::size_t v : term.variables) index = index * sizes[v] + values[v];
    sum += term.values[index];
  }
  return sum;
}

/// Every combination, the last variable running fastest.
std::vector<std::uint8_t> tried_all(const std::vector<std::size_t>& sizes,
                                    const std::vector<SumTerm>& terms) {
  std::vector<std::uint8_t> values(sizes.size(), 0);
  std::vector<std::uint8_t> best;
  double least = std::numeric_limits<double>::infinity();
  for (;;) {
    const double value = value_of(sizes, terms, values);
    if (value < least) {
      least = value;
      best = values;
    }
    std::size_t v = sizes.size();
    while (v > 0 && ++values[v - 1] == sizes[v - 1]) values[--v] = 0;
    if (v == 0) return best;
  }
}

}  // namespace

TEST_CASE("the least sum is that of all combinations, and of these the first") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::vector<std::size_t> sizes(1 + below(7));
    for (std::size_t& size : sizes) size = 1 + below(3);
    std::vector<SumTerm> terms(below(10));
    for (SumTerm& term : terms) {
      std::size_t entries = 1;
      for (std::size_t v = 0; v < sizes.size(); ++v) {
        if (sizes[v] == 1 || below(3) != 0) continue;
        term.variables.push_back(v);
        entries *= sizes[v];
      }
      // Few values, so that many sums tie.
      for (std::size_t i = 0; i < entries; ++i) {
        term.values.push_back(static_cast<double>(below(4)));
      }
    }
    const auto found = least_sum(sizes, terms, 1e9);
    REQUIRE(found.has_value());
    CHECK(*found == tried_all(sizes, terms));
  }
}

TEST_CASE("of sums that are compared number by number the later ones decide ties alone") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const std::vector<std::size_t> sizes(5, 3);
    std::vector<LexicographicSumTerm> terms(1 + below(9));
    // The same as one number: a step of the first outweighs all that the later ones can be.
    std::vector<SumTerm> joined;
    for (LexicographicSumTerm& term : terms) {
      const std::size_t a = below(5), b = below(5);
      term.variables = a == b ? std::vector{a} : std::vector{std::min(a, b), std::max(a, b)};
      SumTerm& number = joined.emplace_back(SumTerm{.variables = term.variables, .values = {}});
      for (std::size_t i = 0; i < (a == b ? 3U : 9U); ++i) {
        const bool is_allowed = below(6) != 0;
        const double none = std::numeric_limits<double>::infinity();
        const double first = is_allowed ? static_cast<double>(below(3)) : none;
        term.values.push_back(
            {first, static_cast<double>(below(3)), static_cast<double>(below(3))});
        number.values.push_back(first * 1e6 + term.values.back()[1] * 1e3 + term.values.back()[2]);
      }
    }
    const std::vector<std::uint8_t> all = tried_all(sizes, joined);
    if (all.empty()) continue;  // nothing is allowed
    CHECK(least_sum(sizes, terms, 1e9) == all);
    CHECK(least_sum(sizes, joined, 1e9) == all);
  }
}

TEST_CASE("a sum that takes more steps than allowed is given up") {
  const std::vector<SumTerm> terms{{.variables = {0, 1}, .values = {0, 1, 1, 0}}};
  CHECK(least_sum({2, 2}, terms, 100.0).has_value());
  CHECK_FALSE(least_sum({2, 2}, terms, 1.0).has_value());
}

}  // namespace dfsearch
