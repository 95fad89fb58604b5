// The search against brute force.

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "support/check_worlds.hpp"
#include "support/model_worlds.hpp"
#include "support/worlds.hpp"

namespace dfsearch {

TEST_CASE("solve finds one of the best mappings on thousands of small worlds" *
          doctest::test_suite("worlds")) {
  const auto world = [](std::uint64_t seed) { return test::random_problem(seed); };
  const int feasible = test::each_world(
      test::share_of(2500U), world, [](auto seed, const Problem& problem, const auto& best) {
        test::check_same_on_threads(problem, best, seed, [&](const SearchResult& result) {
          if (best.mapping) CHECK(result.root_bound.value() > Score{});
        });
        test::check_same_deterministic(seed, problem, best);
      });
  // The worlds are of both sorts, or they would not test much.
  CHECK(feasible > test::share_of(1000));
  CHECK(feasible < test::share_of(2400));
}

TEST_CASE("with gathers at once and in both directions solve finds the best mapping, too" *
          doctest::test_suite("worlds")) {
  const auto world = [](std::uint64_t seed) {
    Problem problem = test::random_problem(seed);
    problem.equations.gather = GatherOrder::AtOnce;
    problem.equations.directions = 1 + static_cast<int>(seed % 2);
    return problem;
  };
  CHECK(test::each_world(test::share_of(600U), world, test::check_same_deterministic) >
        test::share_of(200));
}

TEST_CASE("a kernel at another rate than the arrays has its place in the best mapping" *
          doctest::test_suite("worlds")) {
  const auto world = [](std::uint64_t seed) {
    Problem problem = test::random_problem(seed);
    test::set_rates(problem, seed);
    return problem;
  };
  CHECK(test::each_world(test::share_of(600U), world, test::check_same_deterministic) >
        test::share_of(200));
}

TEST_CASE("with degrees and strategies left out solve finds the best machine, too" *
          doctest::test_suite("slow")) {
  int searched = 0;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    CAPTURE(seed);
    const Problem problem =
        test::random_problem(seed, {.kernels = 4, .assignments = 300, .free_machine = true});
    searched += test::check_best_machine(problem, seed) > 3;
  }
  CHECK(searched > 200);
}

TEST_CASE("a joint search finds the best sharding together with the best fusion" *
          doctest::test_suite("slow")) {
  int better = 0;
  const auto world = [](std::uint64_t seed) {
    return test::random_problem(seed, {.kernels = 5, .assignments = 10'000, .joint = true});
  };
  const auto check = [&](auto seed, Problem problem, const auto& best) {
    test::check_same_on_threads(problem, best, seed, [&](const SearchResult& result) {
      if (best.mapping) CHECK(result.root_bound.value() > Score{});
    });
    test::check_same_deterministic(seed, problem, best);
    problem.sharding = ShardingChoice::LeastBytes;
    const auto least_bytes = solve(problem, {}).cost;
    better += least_bytes && best.objective < least_bytes->objective;
  };
  CHECK(test::each_world(800, world, check) > 300);
  CHECK(better > 40);
}

TEST_CASE("on a grid of tensor dimensions the search finds the best pairs of loops" *
          doctest::test_suite("slow")) {
  int better = 0;
  const auto world = [](std::uint64_t seed) {
    return test::random_problem(
        seed,
        {.kernels = 3, .assignments = 20'000, .free_machine = seed % 3 == 0, .two_axes = true});
  };
  const auto check = [&](auto seed, Problem problem, const auto& best) {
    test::check_same_on_threads(problem, best, seed, [&](const SearchResult& result) {
      if (best.mapping) CHECK(result.root_bound.value() > Score{});
    });
    problem.tensor_axes = 1;
    problem.sharding_pins.clear();
    const auto one_loop = solve(problem, {}).cost;
    better += one_loop && best.objective < one_loop->objective;
  };
  CHECK(test::each_world(300, world, check) > 150);
  CHECK(better > 15);
}

TEST_CASE("a grid of one axis gives what a group of one axis gives") {
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Problem problem =
        test::random_problem(seed, {.kernels = 5, .assignments = 10'000, .joint = true});
    int dimensions = 0;
    for (const NetworkDimension& d : problem.system.network) {
      dimensions += d.strategy == Strategy::Tensor && d.degree != 1;
    }
    bool has_gradients = false;  // which grids sum up over the axes, too
    for (const Kernel& kernel : problem.workload.graph.kernels()) {
      has_gradients |= kernel.communication && is_gradient(kernel.communication->type);
    }
    if (dimensions > 1 || has_gradients) continue;
    const SearchResult one = solve(problem, {.threads = 1});
    problem.tensor_axes = 2;
    const SearchResult two = solve(problem, {.threads = 1});
    CHECK(test::cost_the_same(one, two));
    CHECK(one.lower_bound == two.lower_bound);
    solved += one.mapping.has_value();
  }
  CHECK(solved > 100);
}

TEST_CASE("kernel by kernel is never faster than a dataflow with a partition for each kernel") {
  int slower = 0;
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    Problem problem = test::random_problem(seed, {.kernels = 5, .assignments = 10'000});
    problem.equations = Equations::physical();
    problem.execution.partitions.reset();
    problem.execution.style = Style::KernelByKernel;
    problem.system.accelerator.sram = 0.5 * problem.system.accelerator.sram;
    const SearchResult alone = solve(problem, {.threads = 1});
    if (!alone.mapping) continue;
    problem.execution.style = Style::Dataflow;
    const SearchResult fused = solve(problem, {.threads = 1});
    REQUIRE(fused.mapping.has_value());
    CHECK(fused.cost->objective <= alone.cost->objective);
    ++solved;
    slower += fused.cost->objective < alone.cost->objective;
  }
  CHECK(solved > 200);
  CHECK(slower > 20);
}

TEST_CASE("what pieces of a weight load again is part of every cost and above every bound" *
          doctest::test_suite("worlds")) {
  int slower = 0;
  for (std::uint64_t seed = 0; seed < test::share_of(900U); ++seed) {
    CAPTURE(seed);
    const bool joint = seed % 3 == 0;
    Problem problem = test::random_problem(
        seed, {.kernels = 5, .assignments = joint ? 2'000.0 : 10'000.0, .joint = joint});
    problem.equations.lone_kernels = LoneKernels::Whole;
    problem.system.accelerator.sram = 0.5 * problem.system.accelerator.sram;
    const auto free = solve(problem, {}).cost;
    problem.equations.weight_pieces = WeightPieces::Published;
    if (seed % 2 == 0) {
      problem.equations.weight_pieces = WeightPieces::Reread;
      problem.workload.micro_batch = problem.workload.micro_batch.value_or(1);
    }
    const test::BruteForceResult best = test::brute_force(problem);
    test::check_same(solve(problem, {.threads = 1, .node_effort = test::node_effort(seed)}), best);
    slower += free && best.mapping && best.objective > free->objective;
  }
  CHECK(slower > test::share_of(30));
}

TEST_CASE("every objective is minimised over machine, sharding and fusion together" *
          doctest::test_suite("slow")) {
  int priced_out = 0;
  const auto world = [](std::uint64_t seed) {
    return test::random_problem(seed, {.kernels = 5,
                                       .assignments = 400,
                                       .free_machine = true,
                                       .joint = seed % 2 == 0,
                                       .objective = static_cast<Objective>(seed % 3)});
  };
  test::each_world(600, world, [&](auto seed, Problem problem, const auto& best) {
    test::check_same_on_threads(problem, best, seed, [&](const SearchResult& result) {
      if (best.mapping) CHECK(result.root_bound.value() > Score{});
    });
    if (problem.objective == Objective::StepTime || !best.mapping) return;
    problem.objective = Objective::StepTime;
    priced_out += !(solve(problem, {}).mapping->network == best.mapping->network);
  });
  // The fastest machine is not always the one wanted.
  CHECK(priced_out > 10);
}

TEST_CASE("an objective that counts what costs nothing is refused") {
  Problem problem = test::random_problem(1);
  problem.objective = Objective::CostEfficiency;
  CHECK_THROWS_WITH_AS(solve(problem, {}),
                       "objective: cost and power efficiency need a machine with a price or power "
                       "above 0",
                       InputError);
}

TEST_CASE("no node that holds a best mapping has a bound above its cost" *
          doctest::test_suite("worlds")) {
  const auto world = [](std::uint64_t seed) {
    return test::random_problem(
        seed,
        {.kernels = 5, .assignments = 2000, .free_machine = seed % 3 == 0, .joint = seed % 2 == 1});
  };
  CHECK(test::each_world(test::share_of(600U), world, test::check_bounds_of_best) >
        test::share_of(200));
}

TEST_CASE("a hint is the first incumbent and does not change the answer") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed);
    // Duals at once: else the search with fewer nodes has them later.
    const NodeEffort effort{.weight = 1'000'000};
    const SearchResult plain = solve(problem, {.node_effort = effort});
    if (!plain.mapping) continue;
    const SearchResult hinted = solve(problem, {.node_effort = effort, .hint = plain.mapping});
    CHECK(test::cost_the_same(hinted, plain));
    CHECK(hinted.stats.nodes <= plain.stats.nodes);
  }
}

TEST_CASE("deterministic searches expand the same nodes with any number of threads") {
  const tbb::global_control four(tbb::global_control::max_allowed_parallelism, 4);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed);
    const SearchResult one = solve(
        problem, {.threads = 1, .deterministic = true, .node_effort = test::node_effort(seed)});
    const SearchResult four_threads = solve(
        problem, {.threads = 4, .deterministic = true, .node_effort = test::node_effort(seed)});
    CHECK(one.mapping == four_threads.mapping);
    CHECK(one.stats.nodes == four_threads.stats.nodes);
    CHECK(one.stats.pruned_by_bound == four_threads.stats.pruned_by_bound);
    CHECK(one.stats.ideals == four_threads.stats.ideals);
  }
}

TEST_CASE("deterministic searches tell the same with any number of threads, but for the times") {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  using Line = std::tuple<std::int64_t, std::int64_t, Score, Score, char, int>;
  std::size_t told = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed, {.kernels = 8, .assignments = 40'000});
    std::vector<Line> expected;
    for (const int threads : {1, 1, 8}) {
      CAPTURE(threads);
      std::vector<Line> lines;
      std::int64_t last = 0;
      SearchOptions options{.threads = threads, .deterministic = true, .top = 2};
      options.progress_nodes = 5;
      // Whatever the clock says.
      options.progress_interval = Seconds(0.0001);
      const auto keep = [&](const Progress& p) {
        lines.emplace_back(p.nodes, p.open, p.incumbent, p.lower_bound, p.found_by, p.rank);
      };
      options.on_progress = [&](const Progress& p) {
        CHECK(p.nodes / 5 > last / 5);
        last = p.nodes;
        ++told;
        keep(p);
      };
      options.on_incumbent = [&](const Progress& p, const Mapping&) { keep(p); };
      solve(problem, options);
      if (expected.empty()) expected = lines;
      CHECK(lines == expected);
    }
  }
  CHECK(told > 60);
}

TEST_CASE("fewer answers than one are refused") {
  for (const std::int64_t top : {0, -1}) {
    const Problem problem = test::random_problem(1);
    SearchOptions options;
    options.top = top;
    CHECK_THROWS_WITH_AS(solve(problem, options), doctest::Contains("top: expected at least 1"),
                         InputError);
  }
}

TEST_CASE("a listener that throws does not lose the result, and none is called after it") {
  std::uint64_t seed = 1;
  while (!solve(test::random_problem(seed), {}).mapping) ++seed;
  const Problem problem = test::random_problem(seed);
  const SearchResult straight = solve(problem, {});
  CHECK(straight.callback_error == nullptr);
  int calls = 0;
  const auto fail = [&calls](const auto&...) {
    ++calls;
    throw std::runtime_error("listener");
  };
  SearchOptions of_incumbent;
  of_incumbent.on_incumbent = fail;
  SearchOptions of_checkpoint;
  of_checkpoint.on_checkpoint = fail;
  of_checkpoint.checkpoint_interval = Seconds(0.0);
  for (const SearchOptions& options : {of_incumbent, of_checkpoint}) {
    calls = 0;
    const SearchResult result = solve(problem, options);
    CHECK(calls == 1);
    CHECK(test::cost_the_same(result, straight));
    REQUIRE(result.callback_error != nullptr);
    CHECK_THROWS_WITH_AS(std::rethrow_exception(result.callback_error), "listener",
                         std::runtime_error);
  }
}

TEST_CASE("a large graph has a bound before any node and a mapping before any table") {
  constexpr std::size_t kernels = 300;
  Problem problem = test::idle_problem(1);
  std::vector<Kernel> list;
  std::vector<Tensor> tensors;
  for (std::size_t k = 0; k < kernels; ++k) {
    list.push_back(test::elementwise("k" + std::to_string(k), 2, 3));
    if (k > 0) tensors.push_back(test::tensor(k - 1, k));
  }
  problem.workload.graph = DataflowGraph(std::move(list), std::move(tensors));
  problem.system.memory[0].bandwidth = BytesPerSecond(1.0);  // so that fused kernels are faster
  std::vector<Mapping> told;
  SearchOptions options;
  options.on_incumbent = [&](const Progress&, const Mapping& mapping) { told.push_back(mapping); };
  const SearchResult whole = solve(problem, options);
  REQUIRE(told.size() > 1);
  const std::set<std::int64_t> alone(told.front().partition.begin(), told.front().partition.end());
  CHECK(alone.size() == kernels);

  const std::atomic<bool> stop = true;
  SearchOptions at_once;
  at_once.limits.deadline = Deadline(Seconds::infinity(), &stop);
  for (const SearchOptions& limited : {SearchOptions{.limits = {.nodes = 0}}, at_once}) {
    const SearchResult none = solve(problem, limited);
    CHECK_FALSE(none.cost.has_value());
    CHECK(none.lower_bound > Score{});
    CHECK(none.lower_bound <= whole.cost->objective);
  }
}

TEST_CASE("what is proved of a search that was stopped is not below the root of its only point") {
  int raised = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Problem problem =
        test::random_problem(seed, {.kernels = 6, .assignments = 1e6, .joint = seed % 2 == 0});
    problem.workload.tile = 1;
    for (const std::int64_t nodes : {1, 2, 3}) {
      const SearchResult result = solve(problem, {.limits = {.nodes = nodes}});
      if (!result.cost || !result.root_bound) continue;
      CHECK(result.lower_bound >= std::min(*result.root_bound, result.cost->objective));
      CHECK(result.lower_bound <= solve(problem, {}).cost->objective);
      raised += result.status == SearchStatus::Feasible && *result.root_bound > Score{};
    }
  }
  CHECK(raised > 20);
}

}  // namespace dfsearch
