// The search for stages that divide the graph against all of them, costed by the plain model.

#include "engine/stages/find_stages.hpp"

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <optional>

#include "engine/solve.hpp"
#include "support/stage_worlds.hpp"
#include "support/step_worlds.hpp"

namespace dfsearch {
namespace {

/// Counts of the kinds of worlds that occurred.
struct StageWorldCounts {
  int feasible = 0, infeasible = 0, backward = 0, skipping = 0, bottleneck = 0, layers = 0;
  int staged = 0, in_memory = 0, perfect = 0, none = 0;

  void count(const Problem& problem, const test::BestStages& best) {
    if (best.feasible == 0) {
      ++infeasible;
      return;
    }
    ++feasible;
    const DataflowGraph& graph = problem.workload.graph;
    backward += graph.has_backward();
    layers += graph.kernels().front().name.starts_with("L1.");
    skipping += best.skipping > 0;
    bottleneck += problem.objective == Objective::Bottleneck;
    staged += problem.system.network[1].degree > 1;
    in_memory += problem.system.memory[0].capacity < Bytes::infinity();
    perfect += problem.execution.overlap == Overlap::Perfect;
    none += problem.execution.overlap == Overlap::None;
  }
};

void check_stages_found(const SearchResult& result, const test::BestStages& best) {
  if (best.feasible == 0) {
    CHECK(result.status == SearchStatus::Infeasible);
    return;
  }
  REQUIRE(result.status == SearchStatus::Optimal);
  CHECK(result.gap == 0.0);
  CHECK(result.cost->objective.in_base_units() == doctest::Approx(best.objective).epsilon(1e-9));
}

}  // namespace

TEST_CASE("stages that divide the graph are the best of all, for any number of threads" *
          doctest::test_suite("slow")) {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  StageWorldCounts worlds;
  int more_priced = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_stages(seed);
    const test::BestStages best = test::best_stages(problem);
    worlds.count(problem, best);
    std::optional<Mapping> first;
    for (const int threads : {1, 2, 8}) {
      CAPTURE(threads);
      const SearchResult result = solve(problem, {.threads = threads});
      check_stages_found(result, best);
      if (!result.mapping) continue;
      if (!first) first = result.mapping;
      CHECK(*result.mapping == *first);
      CHECK(result.cost->stages.size() ==
            static_cast<std::size_t>(*problem.system.network[1].degree));
    }
    SearchOptions without;
    without.bounds.drop(SearchBound::Floors);
    const SearchResult later = solve(problem, without);
    check_stages_found(later, best);
    more_priced += later.stats.nodes > solve(problem, {}).stats.nodes ? 1 : 0;
  }
  CHECK(more_priced > 20);
  CHECK(worlds.feasible > 150);
  CHECK(worlds.infeasible > 20);
  CHECK(worlds.backward > 30);
  CHECK(worlds.skipping > 20);
  CHECK(worlds.bottleneck > 20);
  CHECK(worlds.layers > 20);
  CHECK(worlds.staged > 80);
  CHECK(worlds.in_memory > 30);
  CHECK(worlds.perfect > 30);
  CHECK(worlds.none > 30);
}

TEST_CASE("a search for stages that is stopped has bounds on both sides of the optimum") {
  int stopped = 0, early = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_stages(seed);
    const SearchResult whole = solve(problem, {});
    SearchOptions options;
    options.limits.nodes = 0;
    early += solve(problem, options).cost.has_value() ? 1 : 0;
    options.limits.nodes = 1;
    const SearchResult some = solve(problem, options);
    if (some.stopped_by == StopReason::None) continue;
    ++stopped;
    CHECK(some.stopped_by == StopReason::Nodes);
    if (!whole.cost) continue;
    CHECK(some.lower_bound <= whole.cost->objective);
    if (some.cost) CHECK(some.cost->objective >= whole.cost->objective);
    // A search with this hint finds the optimum.
    CHECK(solve(problem, {.hint = some.mapping}).cost->objective == whole.cost->objective);
  }
  CHECK(stopped > 5);
  CHECK(early > 20);  // no stage is priced, and there is a mapping
  const std::atomic<bool> stop = true;
  SearchOptions at_once;
  at_once.limits.deadline = Deadline(Seconds::infinity(), &stop);
  const SearchResult none = solve(test::random_stages(1), at_once);
  CHECK(none.status == SearchStatus::NoSolution);
  CHECK(none.stopped_by == StopReason::Signal);
  CHECK(none.lower_bound > Score{});
  CHECK(none.lower_bound <= solve(test::random_stages(1), {}).cost->objective);
}

TEST_CASE("stages leave room for stored data, and steps wait within one stage") {
  int worlds = 0, stored = 0, waiting = 0, infeasible = 0;
  for (std::uint64_t seed = 0; worlds < 120; ++seed) {
    CAPTURE(seed);
    Problem problem = test::random_stages(seed);
    const std::int64_t stages = *problem.system.network[1].degree;
    const auto indices = static_cast<double>(problem.partition_limit() * stages);
    const auto kernels = static_cast<double>(problem.workload.graph.kernel_count());
    if (stages == 1 || std::pow(indices, kernels) > 5000.0) continue;
    if (seed % 2 == 0) problem = test::with_steps(problem, seed, true);
    const Bytes capacity = problem.system.memory[0].capacity;
    if (capacity < Bytes::infinity()) {
      const double share = static_cast<double>(seed % 4) / 5.0;
      problem.workload.stored = share * static_cast<double>(problem.chips_per_copy()) * capacity;
    }
    const test::BestStages best = test::best_stages(problem);
    check_stages_found(solve(problem, {}), best);
    ++worlds;
    stored += problem.workload.stored > Bytes{} && best.feasible > 0;
    waiting += !problem.workload.graph.seams().empty() && best.feasible > 0;
    infeasible += best.feasible == 0;
  }
  CHECK(stored > 5);
  CHECK(waiting > 3);
  CHECK(infeasible > 5);
}

TEST_CASE("a search for stages within a gap has bounds on both sides of the optimum") {
  int above = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_stages(seed);
    const SearchResult whole = solve(problem, {});
    SearchOptions options;
    options.limits.gap = 0.5;
    const SearchResult some = solve(problem, options);
    CHECK(some.status == whole.status);
    if (!whole.cost || !some.cost) continue;
    CHECK(some.lower_bound <= whole.cost->objective);
    CHECK(some.cost->objective >= whole.cost->objective);
    CHECK(some.gap <= options.limits.gap);
    above += some.cost->objective > whole.cost->objective;
  }
  CHECK(above > 5);
}

TEST_CASE("where no stages fit it is told how much more does, and that less does not" *
          doctest::test_suite("slow")) {
  int infeasible = 0, exact = 0;
  std::array<int, 3> told{};
  for (std::uint64_t seed = 4000; infeasible < 300; ++seed) {
    CAPTURE(seed);
    REQUIRE(seed < 8000);
    Problem problem = test::random_stages(seed);
    Bytes& capacity = problem.system.memory[0].capacity;
    Bytes& sram = problem.system.accelerator.sram;
    if (seed % 3 == 0 && capacity < Bytes::infinity()) capacity = capacity * 0.3;
    if (seed % 3 == 1) sram = sram * 0.5;
    const SearchResult result = solve(problem, {.find_changes = true});
    if (result.status != SearchStatus::Infeasible) continue;
    ++infeasible;
    for (const FeasibleChange& change : result.changes) {
      const auto what = static_cast<std::size_t>(change.what);
      CAPTURE(what);
      if (change.what == Raised::Degree) continue;
      const auto fits_with = [&](double value) {
        Problem changed = problem;
        if (change.what == Raised::Memory) changed.system.memory[0].capacity = Bytes(value);
        if (change.what == Raised::Sram) changed.system.accelerator.sram = Bytes(value);
        if (change.what == Raised::Partitions) {
          changed.execution.partitions = static_cast<std::int64_t>(value);
        }
        return test::best_stages(changed).feasible > 0;
      };
      CHECK(fits_with(change.enough));
      CHECK_FALSE(fits_with(change.at_least - 1.0));
      ++told[what];
      exact += change.is_exact();
    }
  }
  for (const int count : told) CHECK(count > 20);
  CHECK(exact == told[0] + told[1] + told[2]);
}

}  // namespace dfsearch
