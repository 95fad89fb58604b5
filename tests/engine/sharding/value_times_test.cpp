// The times of the conversions of a value, as terms of a sum, against all loops of its readers.

#include "engine/sharding/loop_sum.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "base/least_sum.hpp"
#include "engine/sharding/sharding_space.hpp"
#include "engine/solve.hpp"
#include "support/brute_force.hpp"
#include "support/fan_problem.hpp"
#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

std::vector<std::size_t> sizes_of(const LoopSets& sets) {
  std::vector<std::size_t> sizes;
  for (const LoopSet set : sets) sizes.push_back(static_cast<std::size_t>(set.size()));
  return sizes;
}

struct FanWorld {
  FanWorld(std::uint64_t seed, std::size_t readers, bool two_axes)
      : problem(test::fan_problem(seed, readers,
                                  {.assignments = 1e9, .joint = !two_axes, .two_axes = two_axes})),
        context(problem, test::network_of(problem.system), 1, 1),
        sets(ShardingSpace(problem).all()) {
    for (const TensorId t : problem.workload.graph.values().front()) {
      tensors.push_back(problem.workload.graph.tensor(t));
    }
  }

  Problem problem;
  NetworkContext context;
  LoopSets sets;
  std::vector<Tensor> tensors;
};

/// The least sum of the terms over what the loops leave open.
double least_of(const std::vector<ValueTerm>& made, const std::vector<std::size_t>& sizes,
                const LoopSets& sets, const std::vector<LoopPair>& sharding) {
  std::vector<std::size_t> open = sizes;
  const auto place = [&](std::size_t k) {
    std::size_t before = 0;
    for (const LoopPair loop : sets[k]) before += loop < sharding[k] ? 1U : 0U;
    return before;
  };
  std::vector<SumTerm> terms;
  double sum = 0.0;
  for (const ValueTerm& term : made) {
    SumTerm left;
    for (const std::size_t v : term.variables) {
      if (v >= sets.size()) left.variables.push_back(v);
    }
    for (std::size_t i = 0; i < term.seconds.size(); ++i) {
      std::size_t rest = i;
      bool has = true;
      for (std::size_t v = term.variables.size(); v-- > 0;) {
        const std::size_t variable = term.variables[v];
        if (variable < sets.size()) has = has && rest % sizes[variable] == place(variable);
        rest /= sizes[variable];
      }
      if (has) left.values.push_back(term.seconds[i]);
    }
    if (left.variables.empty()) {
      sum += left.values.at(0);
    } else {
      terms.push_back(std::move(left));
    }
  }
  const auto values = least_sum(open, terms, 1e6);
  REQUIRE(values);
  for (const SumTerm& term : terms) {
    std::size_t index = 0;
    for (const std::size_t v : term.variables) index = index * sizes[v] + (*values)[v];
    sum += term.values[index];
  }
  return sum;
}

}  // namespace

TEST_CASE("the terms of a value are no more than its conversions, and as much along one axis") {
  int with_layouts = 0;
  int compared = 0;
  for (const std::size_t readers : {2U, 5U, 8U, 16U, 32U, 128U}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(readers);
      CAPTURE(seed);
      const bool two_axes = seed % 4 == 3;
      const FanWorld world(seed, readers, two_axes);
      const ValueTimes value(world.context, world.tensors, world.sets);
      std::vector<std::size_t> sizes = sizes_of(world.sets);
      const std::vector<ValueTerm> made = value_terms(value, world.sets, sizes);
      with_layouts += sizes.size() > world.sets.size();
      std::size_t entries = 0;
      for (const ValueTerm& term : made) entries += term.seconds.size();
      REQUIRE(entries < 100'000);
      std::mt19937_64 random(seed);
      for (int draw = 0; draw < 40; ++draw) {
        std::vector<LoopPair> sharding;
        for (const LoopSet set : world.sets) {
          auto at = set.begin();
          for (std::int64_t n = test::pick(random, 0, set.size() - 1); n > 0; --n) ++at;
          sharding.push_back(*at);
        }
        const double seconds = value.seconds(sharding);
        const double least = least_of(made, sizes, world.sets, sharding);
        CHECK(least <= seconds * (1.0 + 1e-12));
        if (!two_axes) CHECK(least >= seconds * (1.0 - 1e-12));
        // If all loops are decided, nothing is left to be made.
        const LoopSets decided = loop_sets(sharding);
        const ValueTimes one(world.context, world.tensors, decided);
        std::vector<std::size_t> ones = sizes_of(decided);
        const std::vector<ValueTerm> exact = value_terms(one, decided, ones);
        CHECK(least_of(exact, ones, decided, sharding) == doctest::Approx(seconds).epsilon(1e-12));
        compared += seconds > 0.0;
      }
    }
  }
  CHECK(with_layouts > 50);
  CHECK(compared > 1000);
}

TEST_CASE("a value with more combinations than a table has leaves the search exact") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Problem problem = test::fan_problem(seed, 9 + seed % 5);
    problem.workload.tile = problem.workload.sequence;
    problem.workload.micro_batch = 1;
    if (seed % 2 == 0) {
      problem.execution.style = Style::KernelByKernel;
    } else {
      problem.execution.partitions = 1;
    }
    // The ends of the value alone have more than 4,096 combinations then.
    double shardings = 1.0;
    const LoopSets sets = ShardingSpace(problem).all();
    for (const LoopSet set : sets) shardings *= set.size();
    if (shardings < 16'000.0 || shardings > 40'000.0) continue;
    const test::BruteForceResult best = test::brute_force(problem);
    for (const SearchBound left_out : {SearchBound::LoneKernels, SearchBound::Multipliers}) {
      SearchOptions options;
      options.bounds.drop(left_out);
      const SearchResult found = solve(problem, options);
      REQUIRE(found.cost.has_value() == best.mapping.has_value());
      if (!found.cost) continue;
      CHECK(found.cost->objective == best.objective);
      CHECK(found.lower_bound == best.objective);
      ++compared;
    }
  }
  CHECK(compared > 6);
}

}  // namespace dfsearch
