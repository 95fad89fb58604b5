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
    // Terms as one number: a step of the first value outweighs all later ones together.
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

namespace {

bool is_better(const FrontSum& a, const FrontSum& b) {
  const bool is_no_worse = a.sum[0] <= b.sum[0] && a.sum[1] <= b.sum[1];
  return is_no_worse && (a.sum[0] < b.sum[0] || a.sum[1] < b.sum[1]);
}

/// The first combination with the least third number for every pair of sums, then the pairs that no
/// other dominates.
std::vector<FrontSum> front_of_all(const std::vector<std::size_t>& sizes,
                                   const std::vector<LexicographicSumTerm>& terms) {
  std::vector<FrontSum> all;
  FrontSum tried{.sum = {}, .values = std::vector<std::uint8_t>(sizes.size(), 0)};
  for (;;) {
    tried.sum = {};
    for (const LexicographicSumTerm& term : terms) {
      std::size_t index = 0;
      for (const std::size_t v : term.variables) index = index * sizes[v] + tried.values[v];
      for (std::size_t i = 0; i < 3; ++i) tried.sum[i] += term.values[index][i];
    }
    const auto same = std::find_if(all.begin(), all.end(), [&](const FrontSum& other) {
      return other.sum[0] == tried.sum[0] && other.sum[1] == tried.sum[1];
    });
    const bool is_allowed = tried.sum[0] + tried.sum[1] < std::numeric_limits<double>::infinity();
    if (is_allowed && same != all.end()) {
      if (tried.sum[2] < same->sum[2]) *same = tried;
    } else if (is_allowed) {
      all.push_back(tried);
    }
    std::size_t v = sizes.size();
    while (v > 0 && ++tried.values[v - 1] == sizes[v - 1]) tried.values[--v] = 0;
    if (v == 0) break;
  }
  std::vector<FrontSum> front;
  for (const FrontSum& sum : all) {
    const auto beats = [&](const FrontSum& other) { return is_better(other, sum); };
    if (std::none_of(all.begin(), all.end(), beats)) front.push_back(sum);
  }
  std::sort(front.begin(), front.end(),
            [](const FrontSum& a, const FrontSum& b) { return a.sum < b.sum; });
  return front;
}

}  // namespace

TEST_CASE("the front of sums of two criteria is that of all combinations, each the first") {
  std::size_t longest = 0, empty = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::vector<std::size_t> sizes(1 + below(7));
    for (std::size_t& size : sizes) size = 1 + below(3);
    // Few values, so that many sums tie, or many, so that the front is long.
    const std::size_t values = seed % 2 == 0 ? 3 : 20;
    std::vector<LexicographicSumTerm> terms(below(9));
    for (LexicographicSumTerm& term : terms) {
      std::size_t entries = 1;
      for (std::size_t v = 0; v < sizes.size(); ++v) {
        if (sizes[v] == 1 || below(3) != 0) continue;
        term.variables.push_back(v);
        entries *= sizes[v];
      }
      for (std::size_t i = 0; i < entries; ++i) {
        LexicographicSum& value = term.values.emplace_back();
        for (double& number : value) number = static_cast<double>(below(values));
        if (below(8) == 0) value[below(2)] = std::numeric_limits<double>::infinity();
      }
    }
    const auto found = sum_front(sizes, terms, 1e9);
    const std::vector<FrontSum> expected = front_of_all(sizes, terms);
    REQUIRE(found.has_value());
    REQUIRE(found->size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK((*found)[i].sum == expected[i].sum);
      CHECK((*found)[i].values == expected[i].values);
    }
    longest = std::max(longest, expected.size());
    empty += expected.empty();
  }
  CHECK(longest > 8);
  CHECK(empty > 20);
}

// All 60 variables decide between two powers of two, so that no sum is better than another.
TEST_CASE("a front that is too long is given up") {
  const std::vector<std::size_t> sizes(60, 2);
  std::vector<LexicographicSumTerm> terms;
  for (std::size_t v = 0; v < sizes.size(); ++v) {
    const double power = static_cast<double>(std::uint64_t{1} << (v % 40));
    terms.push_back({.variables = {v}, .values = {{power, 0.0, 0.0}, {0.0, power, 0.0}}});
  }
  CHECK_FALSE(sum_front(sizes, terms, 1e6).has_value());
}

namespace {

/// Terms over neighbours in a list of variables, each at most `reach` further on.
std::vector<SumTerm> banded_terms(std::mt19937_64& random, const std::vector<std::size_t>& sizes,
                                  std::size_t reach, std::size_t values) {
  std::vector<SumTerm> terms;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    for (std::size_t b = a + 1; b < std::min(sizes.size(), a + reach + 1); ++b) {
      SumTerm& term = terms.emplace_back(SumTerm{.variables = {a, b}, .values = {}});
      for (std::size_t i = 0; i < sizes[a] * sizes[b]; ++i) {
        term.values.push_back(static_cast<double>(random() % values));
      }
    }
  }
  return terms;
}

double least_value(const std::vector<std::size_t>& sizes, const std::vector<SumTerm>& terms) {
  return value_of(sizes, terms, least_sum(sizes, terms, 1e9).value());
}

}  // namespace

// Long enough for chains of tables, wide enough for tables beyond those compared in advance.  That
// the least value is right the other cases tell; here it serves to find the first choice.
TEST_CASE("of long sums with many ties the first choice is found variable by variable") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::vector<std::size_t> sizes(30);
    for (std::size_t& size : sizes) size = 2 + random() % 2;
    std::vector<SumTerm> terms = banded_terms(random, sizes, 1 + seed % 5, 2 + seed % 3);
    const auto found = least_sum(sizes, terms, 1e9);
    const double least = least_value(sizes, terms);
    std::vector<std::uint8_t> first;
    for (std::size_t v = 0; v < sizes.size(); ++v) {
      SumTerm& fixed = terms.emplace_back(SumTerm{.variables = {v}, .values = {}});
      for (std::size_t value = 0; value < sizes[v]; ++value) {
        fixed.values.assign(sizes[v], 1e6);
        fixed.values[value] = 0.0;
        if (least_value(sizes, terms) > least) continue;
        first.push_back(static_cast<std::uint8_t>(value));
        break;
      }
    }
    CHECK(found == first);
  }
}

// All 22 variables share terms: a table of the others has 2^21 entries, so values of some are
// tried.
TEST_CASE("where tables would be too large the first of the best is found all the same") {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::vector<std::size_t> sizes(22, 2);
    std::vector<SumTerm> terms = banded_terms(random, sizes, sizes.size(), 3);
    const auto found = least_sum(sizes, terms, 1e9);
    REQUIRE(found.has_value());
    double least = std::numeric_limits<double>::infinity();
    std::vector<std::uint8_t> best;
    // Depth first in the order of the list, each term as soon as it is known.
    std::vector<std::uint8_t> values(sizes.size());
    const auto extend = [&](const auto& self, std::size_t v, double sum) -> void {
      if (sum >= least) return;
      if (v == values.size()) {
        least = sum;
        best = values;
        return;
      }
      for (std::uint8_t value = 0; value < 2; ++value) {
        values[v] = value;
        double more = sum;
        for (const SumTerm& term : terms) {
          if (term.variables[1] != v) continue;
          more += term.values[values[term.variables[0]] * std::size_t{2} + value];
        }
        self(self, v + 1, more);
      }
    };
    extend(extend, 0, 0.0);
    CHECK(*found == best);
  }
}

// A table of 62 dimensions: known to be hopeless before it is begun.
TEST_CASE("a sum that no machine could find is given up at once") {
  std::mt19937_64 random(0);
  const std::vector<std::size_t> sizes(64, 2);
  CHECK_FALSE(least_sum(sizes, banded_terms(random, sizes, sizes.size(), 3), 1e10).has_value());
}

TEST_CASE("a sum that takes more steps than allowed is given up") {
  const std::vector<SumTerm> terms{{.variables = {0, 1}, .values = {0, 1, 1, 0}}};
  CHECK(least_sum({2, 2}, terms, 100.0).has_value());
  CHECK_FALSE(least_sum({2, 2}, terms, 1.0).has_value());
}

}  // namespace dfsearch
