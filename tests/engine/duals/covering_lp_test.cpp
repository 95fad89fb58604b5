// Covering programs solved by hand, and random ones against a plain simplex method on
// the dual program and against all integral covers.

#include "engine/duals/covering_lp.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "support/linear_program.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kEnough = 1'000'000;

/// A program with one limit for all sets.
CoveringLp begin(const std::vector<double>& costs, double limit) {
  std::vector<CoveringLp::Class> classes;
  for (const double cost : costs) classes.push_back({.cost = cost, .group = 0});
  return {classes, {limit}};
}

/// The program as plain numbers; kernels of a set are bits.
struct Covering {
  struct Set {
    std::uint32_t kernels = 0;
    double cost = 0.0;
  };
  std::size_t size = 0;
  std::int64_t limit = 0;
  std::vector<Set> sets;  // sets of one kernel first

  [[nodiscard]] CoveringLp begun() const {
    std::vector<double> costs;
    for (std::size_t k = 0; k < size; ++k) costs.push_back(sets[k].cost);
    return begin(costs, static_cast<double>(limit));
  }
};

using Counts = std::vector<CoveringLp::Count>;

Counts set_of(std::uint32_t kernels) {
  Counts counts;
  for (std::size_t k = 0; kernels >> k != 0; ++k) {
    if ((kernels >> k & 1U) != 0) counts.push_back({.of = k, .kernels = 1});
  }
  return counts;
}

Counts set_of(std::initializer_list<std::size_t> kernels) {
  Counts counts;
  for (const std::size_t k : kernels) counts.push_back({.of = k, .kernels = 1});
  return counts;
}

CoveringLp::Outcome solve_all(CoveringLp& program) {
  std::int64_t steps = kEnough;
  return program.solve(steps);
}

long double objective(const CoveringLp& program, std::int64_t limit) {
  return std::accumulate(program.duals().begin(), program.duals().end(), 0.0L) -
         program.charges()[0] * static_cast<long double>(limit);
}

void check_objective(const CoveringLp& program, std::int64_t limit, double expected) {
  CHECK(static_cast<double>(objective(program, limit)) == doctest::Approx(expected).epsilon(1e-12));
}

/// Costs of all sizes up to 2^50, often equal, often just the sum of their kernels'.
Covering random_covering(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Covering covering;
  covering.size = static_cast<std::size_t>(test::pick(random, 3, 7));
  const auto size = static_cast<std::int64_t>(covering.size);
  covering.limit = test::pick(random, 1, size + 1);
  const std::int64_t most = std::int64_t{1} << test::pick(random, 1, 50);
  for (std::size_t k = 0; k < covering.size; ++k) {
    covering.sets.push_back(
        {.kernels = 1U << k, .cost = static_cast<double>(test::pick(random, 0, most))});
  }
  const std::int64_t count = test::pick(random, 10, 60);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto kernels = static_cast<std::uint32_t>(test::pick(random, 1, (1 << size) - 1));
    double alone = 0.0;
    for (std::size_t k = 0; k < covering.size; ++k) {
      if ((kernels >> k & 1U) != 0) alone += covering.sets[k].cost;
    }
    const auto saved = static_cast<double>(test::pick(random, 0, 4)) / 4;
    covering.sets.push_back({.kernels = kernels, .cost = std::floor(alone * saved)});
  }
  return covering;
}

/// The dual program: max sum y - limit * z over sum of y(S) - z <= cost(S), and z <= `charge`
/// if that is not negative.
long double best_duals(const Covering& covering, long double charge = -1.0L) {
  test::LinearProgram dual;
  dual.gains.assign(covering.size, 1.0L);
  dual.gains.push_back(-static_cast<long double>(covering.limit));
  for (const Covering::Set& set : covering.sets) {
    auto& row = dual.rows.emplace_back(covering.size + 1, 0.0L);
    for (std::size_t k = 0; k < covering.size; ++k) row[k] = set.kernels >> k & 1U;
    row.back() = -1.0L;
    dual.most.push_back(set.cost);
  }
  if (charge >= 0.0L) {
    dual.rows.emplace_back(covering.size + 1, 0.0L).back() = 1.0L;
    dual.most.push_back(charge);
  }
  return test::maximum(std::move(dual));
}

/// The least cost of at most `limit` sets that cover all; infinity if there are none.
double best_cover(const Covering& covering) {
  const std::size_t masks = std::size_t{1} << covering.size;
  std::vector<double> best(masks, std::numeric_limits<double>::infinity());
  best[0] = 0.0;
  for (std::int64_t used = 0; used < covering.limit; ++used) {
    std::vector<double> next = best;
    for (std::size_t covered = 0; covered < masks; ++covered) {
      for (const Covering::Set& set : covering.sets) {
        double& cost = next[covered | set.kernels];
        cost = std::min(cost, best[covered] + set.cost);
      }
    }
    best = std::move(next);
  }
  return best.back();
}

bool coverable(const Covering& covering) { return std::isfinite(best_cover(covering)); }

/// No set of the first `sets` costs less than the duals say.
void check_duals(const Covering& covering, const CoveringLp& program, std::size_t sets) {
  REQUIRE(program.duals().size() == covering.size);
  REQUIRE(program.charges()[0] >= 0.0L);
  for (const long double dual : program.duals()) REQUIRE(dual >= 0.0L);
  for (std::size_t s = 0; s < sets; ++s) {
    long double worth = -program.charges()[0];
    for (std::size_t k = 0; k < covering.size; ++k) {
      if ((covering.sets[s].kernels >> k & 1U) != 0) worth += program.duals()[k];
    }
    REQUIRE(worth <= covering.sets[s].cost + 2 * CoveringLp::kNoise);
  }
}

}  // namespace

TEST_CASE("single kernels alone are worth what they cost") {
  CoveringLp program = begin({5, 0, 7}, 4);
  CHECK(solve_all(program) == CoveringLp::Outcome::Solved);
  check_objective(program, 4, 12);
  CHECK(static_cast<double>(program.duals()[0]) == doctest::Approx(5));
  CHECK(static_cast<double>(program.duals()[1]) == doctest::Approx(0));
  CHECK(static_cast<double>(program.duals()[2]) == doctest::Approx(7));
  CHECK(program.charges()[0] == 0.0L);

  // The limit equals the number of kernels: the optimum is the same as without it.
  CoveringLp just_enough = begin({5, 0, 7}, 3);
  CHECK(solve_all(just_enough) == CoveringLp::Outcome::Solved);
  check_objective(just_enough, 3, 12);
}

TEST_CASE("three pairs of three kernels cover them one and a half times as dear as one pair") {
  CoveringLp program = begin({10, 10, 10}, 3);
  program.add(set_of({0, 1}), 0, 10);
  program.add(set_of({1, 2}), 0, 10);
  program.add(set_of({0, 2}), 0, 10);
  CHECK(solve_all(program) == CoveringLp::Outcome::Solved);
  check_objective(program, 3, 15);
  for (const long double dual : program.duals()) {
    CHECK(static_cast<double>(dual) == doctest::Approx(5));
  }
}

TEST_CASE("a set that is added later lowers the duals") {
  CoveringLp program = begin({4, 6, 9}, 3);
  CHECK(solve_all(program) == CoveringLp::Outcome::Solved);
  check_objective(program, 3, 19);
  program.add(set_of({0, 1}), 0, 7);
  CHECK(solve_all(program) == CoveringLp::Outcome::Solved);
  check_objective(program, 3, 16);
  program.add(set_of({0, 1, 2}), 0, 20);  // no use
  CHECK(solve_all(program) == CoveringLp::Outcome::Solved);
  check_objective(program, 3, 16);
  program.add(set_of({1, 2}), 0, 8);  // with the first kernel 12
  CHECK(solve_all(program) == CoveringLp::Outcome::Solved);
  check_objective(program, 3, 12);
}

TEST_CASE("where the limit binds, a set fewer is worth the charge") {
  // The pair and the third alone are the cheapest anyhow.
  CoveringLp program = begin({10, 10, 10}, 2);
  program.add(set_of({0, 1}), 0, 18);
  CHECK(solve_all(program) == CoveringLp::Outcome::Solved);
  check_objective(program, 2, 28);

  // All three at once for 31: with three sets 30, with one 31, with two the mean of both.
  CoveringLp whole = begin({10, 10, 10}, 2);
  whole.add(set_of({0, 1, 2}), 0, 31);
  CHECK(solve_all(whole) == CoveringLp::Outcome::Solved);
  check_objective(whole, 2, 30.5);
  CHECK(static_cast<double>(whole.charges()[0]) == doctest::Approx(0.5));
}

TEST_CASE("each group has a limit and a charge of its own") {
  // Twice the case above, the second time without need of the limit.
  std::vector<CoveringLp::Class> classes(6, {.cost = 10, .group = 0});
  for (std::size_t k = 3; k < 6; ++k) classes[k].group = 1;
  CoveringLp program(classes, {2, 4});
  program.add(set_of({0, 1, 2}), 0, 31);
  program.add(set_of({3, 4, 5}), 1, 31);
  CHECK(solve_all(program) == CoveringLp::Outcome::Solved);
  CHECK(static_cast<double>(program.charges()[0]) == doctest::Approx(0.5));
  CHECK(program.charges()[1] == 0.0L);
  CHECK(static_cast<double>(std::accumulate(program.duals().begin(), program.duals().end(),
                                            0.0L)) == doctest::Approx(30.5 + 1.0 + 30.0));
}

TEST_CASE("kernels of one class are covered as often as there are kernels") {
  // Three kernels, two at a time for 12: one and a half times 12.
  CoveringLp program({{.cost = 10, .group = 0, .kernels = 3}}, {3});
  program.add({{.of = 0, .kernels = 2}}, 0, 12);
  CHECK(solve_all(program) == CoveringLp::Outcome::Solved);
  CHECK(static_cast<double>(program.duals()[0]) == doctest::Approx(6));
  CHECK(program.charges()[0] == 0.0L);
}

/// Kernels k of the classes i with first[i] <= k < first[i + 1].
struct Classes {
  std::vector<std::size_t> first{0};

  explicit Classes(std::mt19937_64& random) {
    while (first.back() < 6) {
      first.push_back(first.back() + static_cast<std::size_t>(test::pick(random, 1, 3)));
    }
  }
  [[nodiscard]] std::size_t size() const { return first.size() - 1; }
  [[nodiscard]] std::int64_t kernels(std::size_t c) const {
    return static_cast<std::int64_t>(first[c + 1] - first[c]);
  }
  [[nodiscard]] std::int64_t count(std::uint32_t kernels, std::size_t c) const {
    return std::popcount(kernels >> first[c] & ((1U << this->kernels(c)) - 1));
  }
};

TEST_CASE("a program of classes has the optimum of the one that has every set of such kernels") {
  int limited = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const Classes classes(random);
    Covering whole;  // kernel by kernel
    whole.size = classes.first.back();
    whole.limit = test::pick(random, 2, static_cast<std::int64_t>(whole.size));
    std::vector<CoveringLp::Class> alone;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      const auto cost = static_cast<double>(test::pick(random, 1, 1000));
      alone.push_back({.cost = cost, .group = 0, .kernels = classes.kernels(c)});
      for (std::size_t k = classes.first[c]; k < classes.first[c + 1]; ++k) {
        whole.sets.push_back({.kernels = 1U << k, .cost = cost});
      }
    }
    CoveringLp by_class(alone, {static_cast<double>(whole.limit)});
    for (int i = 0; i < 12; ++i) {
      const auto some = static_cast<std::uint32_t>(test::pick(random, 1, (1 << whole.size) - 1));
      const auto cost = static_cast<double>(test::pick(random, 1, 1500));
      Counts counts;
      for (std::size_t c = 0; c < classes.size(); ++c) {
        if (classes.count(some, c) > 0) {
          counts.push_back({.of = c, .kernels = classes.count(some, c)});
        }
      }
      by_class.add(counts, 0, cost);
      for (std::uint32_t kernels = 1; kernels >> whole.size == 0; ++kernels) {
        bool same = true;
        for (std::size_t c = 0; c < classes.size(); ++c) {
          same = same && classes.count(kernels, c) == classes.count(some, c);
        }
        if (same) whole.sets.push_back({.kernels = kernels, .cost = cost});
      }
    }
    REQUIRE(solve_all(by_class) == CoveringLp::Outcome::Solved);
    long double found = -by_class.charges()[0] * static_cast<long double>(whole.limit);
    for (std::size_t c = 0; c < classes.size(); ++c) {
      found += by_class.duals()[c] * static_cast<long double>(classes.kernels(c));
    }
    const long double expected = best_duals(whole, by_class.charges()[0]);
    REQUIRE(std::abs(found - expected) <=
            static_cast<long double>(2 * whole.size) * CoveringLp::kNoise);
    limited += by_class.charges()[0] > 0.0L;
  }
  CHECK(limited > 50);
}

TEST_CASE("random covering programs have the duals of the plain simplex method") {
  int fractional = 0;
  int limited = 0;
  int out_of_reach = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const Covering covering = random_covering(seed);
    CoveringLp program = covering.begun();
    for (std::size_t s = covering.size; s < covering.sets.size(); ++s) {
      program.add(set_of(covering.sets[s].kernels), 0, covering.sets[s].cost);
    }
    REQUIRE(solve_all(program) == CoveringLp::Outcome::Solved);
    check_duals(covering, program, covering.sets.size());
    const long double found = objective(program, covering.limit);
    const auto noise = static_cast<long double>(2 * covering.size) * CoveringLp::kNoise;
    const double best = best_cover(covering);
    REQUIRE(found <= best + noise);
    // Too few sets are not impossible to it, only dear: the charge has a highest value.
    long double expected = best_duals(covering, program.charges()[0]);
    REQUIRE(std::abs(found - expected) <= noise);
    if (!coverable(covering)) {
      ++out_of_reach;
      continue;
    }
    expected = best_duals(covering);
    REQUIRE(found <= expected + noise);
    limited += program.charges()[0] > 0.0L && std::abs(found - expected) <= noise;
    if (program.charges()[0] == 0.0L) REQUIRE(std::abs(found - expected) <= noise);
    fractional += found < best - 1;
  }
  CHECK(fractional > 150);
  CHECK(limited > 100);
  CHECK(out_of_reach > 30);
}

TEST_CASE("a program that is solved step by step and set by set has the same optimum") {
  int interrupted = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const Covering covering = random_covering(seed);
    CoveringLp at_once = covering.begun();
    CoveringLp in_steps = covering.begun();
    for (std::size_t s = covering.size; s < covering.sets.size(); ++s) {
      const Counts kernels = set_of(covering.sets[s].kernels);
      at_once.add(kernels, 0, covering.sets[s].cost);
      in_steps.add(kernels, 0, covering.sets[s].cost);
      if (s % 8 != 0) continue;
      std::int64_t steps = 1;
      interrupted += in_steps.solve(steps) == CoveringLp::Outcome::OutOfWork;
      REQUIRE(steps <= 0);
    }
    REQUIRE(solve_all(at_once) == CoveringLp::Outcome::Solved);
    CoveringLp::Outcome outcome = CoveringLp::Outcome::OutOfWork;
    for (int call = 0; call < 10'000 && outcome == CoveringLp::Outcome::OutOfWork; ++call) {
      std::int64_t steps = 1;
      outcome = in_steps.solve(steps);
    }
    REQUIRE(outcome == CoveringLp::Outcome::Solved);
    check_duals(covering, in_steps, covering.sets.size());
    const auto noise = static_cast<long double>(4 * covering.size) * CoveringLp::kNoise;
    REQUIRE(std::abs(objective(at_once, covering.limit) - objective(in_steps, covering.limit)) <=
            noise);
  }
  CHECK(interrupted > 100);
}

}  // namespace dfsearch
