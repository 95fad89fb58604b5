// Changes that make an infeasible problem feasible: the named value does, and a lesser one does
// not.

#include "engine/answer/explanations.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/solve.hpp"
#include "support/brute_force.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using test::tensor;
using test::weight_gemm;

Problem with(const Problem& problem, const FeasibleChange& change, double value) {
  Problem changed = problem;
  switch (change.what) {
    case Raised::Memory:
      changed.system.memory[0].capacity = Bytes(value);
      break;
    case Raised::Sram:
      changed.system.accelerator.sram = Bytes(value);
      break;
    case Raised::Partitions:
      changed.execution.partitions = static_cast<std::int64_t>(value);
      break;
    case Raised::Degree: {
      const std::int64_t old = *problem.system.network[change.dimension].degree;
      const auto degree = static_cast<std::int64_t>(value);
      changed.system.network[change.dimension].degree = degree;
      changed.system.chips = problem.system.chips / old * degree;
      break;
    }
  }
  return changed;
}

bool fits(const Problem& problem) { return test::brute_force(problem).mapping.has_value(); }

const FeasibleChange* find(const std::vector<FeasibleChange>& changes, Raised what) {
  const auto found = std::find_if(changes.begin(), changes.end(),
                                  [&](const FeasibleChange& c) { return c.what == what; });
  return found == changes.end() ? nullptr : &*found;
}

void check_exact(const std::vector<FeasibleChange>& changes, Raised what, double from,
                 double enough) {
  CAPTURE(name_of(what));
  const FeasibleChange* change = find(changes, what);
  REQUIRE(change != nullptr);
  CHECK(change->from == from);
  CHECK(change->enough == enough);
  CHECK(change->at_least == enough);
}

/// Four weights of 4 B, SRAM for one at a time, three partitions.
Problem lone_weights() {
  Problem problem = test::idle_problem(4);
  std::vector<Kernel> kernels;
  for (const char* name : {"a", "b", "c", "d"}) kernels.push_back(weight_gemm(name, 2, 2, 1));
  problem.workload.graph = DataflowGraph(kernels, {});
  problem.workload.word = Bytes(1.0);
  problem.system.accelerator.sram = Bytes(7.0);
  problem.execution.partitions = 3;
  return problem;
}

}  // namespace

TEST_CASE("each quantity by hand") {
  SUBCASE("two weights of 4 B in 8 B, or a fourth partition; memory does not help") {
    const auto changes = feasible_changes(lone_weights(), {}).list;
    check_exact(changes, Raised::Sram, 7.0, 8.0);
    check_exact(changes, Raised::Partitions, 3.0, 4.0);
    CHECK(changes.size() == 2);
    CHECK(changes.front().what == Raised::Sram);  // 8/7 is less than 4/3
  }
  SUBCASE("memory for the weights: 16 B") {
    Problem problem = lone_weights();
    problem.execution.partitions = 4;
    problem.system.memory[0].capacity = Bytes(9.0);
    const auto changes = feasible_changes(problem, {}).list;
    check_exact(changes, Raised::Memory, 9.0, 16.0);
    CHECK(changes.size() == 1);
  }
  SUBCASE("halves of the phases: three forward ones need two times three partitions, or five") {
    Problem problem = lone_weights();
    std::vector<Kernel> kernels = problem.workload.graph.kernels();
    kernels[3].phase = Phase::Backward;
    problem.workload.graph = DataflowGraph(kernels, {});
    problem.equations.phases = SplitPhases::Halves;
    problem.execution.partitions = 4;
    // Partitions 0 to 2 of five remain; the last of them may be shared.
    check_exact(feasible_changes(problem, {}).list, Raised::Partitions, 4.0, 5.0);
  }
  SUBCASE("a pin is no matter of quantities") {
    Problem problem = lone_weights();
    problem.workload.graph = DataflowGraph(problem.workload.graph.kernels(), {tensor(0, 1)});
    problem.system.accelerator.sram = Bytes(100.0);
    problem.execution.pins = {1, 0, std::nullopt, std::nullopt};
    CHECK(feasible_changes(problem, {}).list.empty());
  }
  SUBCASE("a larger tensor degree: weights of 4 B over three chips are 2 x 1 elements") {
    Problem problem = lone_weights();
    problem.system.network = {test::dimension(Topology::Ring, 1, 100.0)};
    // K of 2 over two chips: 2 B each, so two weights fit into 7 B.
    check_exact(feasible_changes(problem, {}).list, Raised::Degree, 1.0, 2.0);
  }
}

TEST_CASE("with the change a mapping fits, with any less none does") {
  int checked[4] = {};
  int missing = 0;
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed, {.kernels = 4, .assignments = 500});
    const SearchResult result = solve(problem, {.find_changes = true});
    if (result.status != SearchStatus::Infeasible) continue;
    double growth = 0.0;
    for (const FeasibleChange& change : result.changes) {
      CAPTURE(name_of(change.what));
      CAPTURE(change.from);
      CAPTURE(change.enough);
      CHECK(change.enough > change.from);
      CHECK(change.enough / change.from >= growth);
      growth = change.enough / change.from;
      const double span = change.enough - change.from;
      // Brute force over many more partitions or chips takes too long.
      const bool bytes = change.what == Raised::Memory || change.what == Raised::Sram;
      if (!bytes && span > 3) continue;
      CHECK(change.is_exact());
      ++checked[static_cast<int>(change.what)];
      CHECK(fits(with(problem, change, change.enough)));
      if (bytes) {
        CHECK_FALSE(fits(with(problem, change, change.enough - 1.0)));
        continue;
      }
      for (double less = change.from + 1; less < change.enough; ++less) {
        CHECK_FALSE(fits(with(problem, change, less)));
      }
    }
    // What is not named does not help, however much of it there is.
    for (const Raised what : {Raised::Memory, Raised::Sram}) {
      if (find(result.changes, what) != nullptr) continue;
      ++missing;
      CHECK_FALSE(fits(with(problem, {.what = what}, 1e12)));
    }
  }
  CHECK(checked[static_cast<int>(Raised::Memory)] > 10);
  CHECK(checked[static_cast<int>(Raised::Sram)] > 10);
  CHECK(checked[static_cast<int>(Raised::Partitions)] > 10);
  CHECK(checked[static_cast<int>(Raised::Degree)] > 5);
  CHECK(missing > 10);
}

TEST_CASE("the reason names what the change proves") {
  Problem problem = lone_weights();
  problem.execution.partitions = 4;
  problem.system.memory[0].capacity = Bytes(9.0);
  const SearchResult result = solve(problem, {.find_changes = true});
  REQUIRE(result.infeasible.has_value());
  CHECK(result.infeasible->resource == Resource::Memory);
  CHECK(result.infeasible->needed == 16.0);
  CHECK(solve(problem, {}).changes.empty());
}

TEST_CASE("a spent effort leaves no change rather than a wrong one") {
  const std::atomic<bool> stop{true};
  const FeasibleChanges none =
      feasible_changes(lone_weights(), {.deadline = Deadline(Seconds::infinity(), &stop)});
  CHECK(none.list.empty());
  CHECK_FALSE(none.complete);
}

}  // namespace dfsearch
