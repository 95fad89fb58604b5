// Searches that are stopped, shown and gone on with.

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/tree/branch_and_bound.hpp"
#include "support/assignment_problem.hpp"

namespace dfsearch {
namespace {

using test::Assignment;
using test::best_assignment;
using test::random_assignment;

/// What a checkpoint shows.
struct Shown {
  std::vector<OpenNodes<Assignment::Node>::Entry> open;
  std::optional<Assignment::Solution> incumbent;
};

TEST_CASE("points that a resumed search opens twice leave no negative number of closed ones") {
  SearchStats stats;
  stats.outer_points = 90;
  stats.outer_points_opened = 1;
  CHECK(stats.outer_points_closed() == 89);
  stats.outer_points_opened = 91;
  CHECK(stats.outer_points_closed() == 0);
}

}  // namespace

TEST_CASE("a search that shows checkpoints goes on, and from each of them another one can") {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  int shown = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    for (const int threads : {1, 8}) {
      for (const bool deterministic : {false, true}) {
        for (const std::size_t open_limit : {std::size_t{0}, std::size_t{1000}}) {
          CAPTURE(seed);
          CAPTURE(threads);
          CAPTURE(deterministic);
          CAPTURE(open_limit);
          const Assignment problem = random_assignment(seed, 6 + seed % 2);
          const auto expected = best_assignment(problem);
          const BranchAndBoundOptions options{.threads = threads,
                                              .deterministic = deterministic,
                                              .checkpoint_interval = Seconds(0.0),
                                              .open_limit = open_limit};
          BranchAndBound<Assignment> search(problem, options);
          std::vector<Shown> states;
          search.on_checkpoint([&](auto& open) {
            const auto result = search.result();
            Shown state{.open = open, .incumbent = {}};
            if (result.solution) state.incumbent = *result.solution;
            states.push_back(std::move(state));
            // All that is left is shown: nothing below it is missed by the bound.
            CHECK(result.lower_bound <= Score(expected.cost));
          });
          const auto straight = search.run();
          CHECK(straight.cost == Score(expected.cost));
          CHECK(straight.solution->jobs == expected.jobs);
          CHECK(search.take_open().empty());
          shown += static_cast<int>(states.size());
          for (std::size_t i = 0; i < states.size(); i += 1 + states.size() / 8) {
            BranchAndBound<Assignment> again(problem, {.threads = threads});
            if (states[i].incumbent) again.resume_from(std::move(*states[i].incumbent), 'T');
            again.resume_from(std::move(states[i].open));
            const auto resumed = again.run();
            CHECK(resumed.cost == straight.cost);
            CHECK(resumed.lower_bound == straight.cost);
            CHECK(resumed.solution->jobs == expected.jobs);
          }
        }
      }
    }
  }
  CHECK(shown > 96);  // every search shows what is left at its end, most of them more than once
}

TEST_CASE("what a limit leaves open is enough to go on from") {
  const Assignment problem = random_assignment(11, 8);
  const auto expected = best_assignment(problem);
  for (const std::int64_t nodes : {1, 3, 10, 30}) {
    CAPTURE(nodes);
    BranchAndBound<Assignment> first(problem, {.limits = {.nodes = nodes}, .threads = 2});
    const auto part = first.run();
    BranchAndBound<Assignment> second(problem, {});
    if (part.solution) second.resume_from(Assignment::Solution(*part.solution), part.found_by);
    second.resume_from(first.take_open());
    const auto rest = second.run();
    CHECK(rest.solution->jobs == expected.jobs);
    CHECK(rest.lower_bound == Score(expected.cost));
  }
}

TEST_CASE("a node whose expansion the deadline ends stays open as it was") {
  int stopped = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Assignment problem = random_assignment(seed, 7);
    const auto expected = best_assignment(problem);
    for (const bool deterministic : {false, true}) {
      for (const int expansions : {0, 1, 2, 5, 9, 20}) {
        CAPTURE(seed);
        CAPTURE(deterministic);
        CAPTURE(expansions);
        std::atomic<int> left{expansions};
        problem.expansions_left = &left;
        const std::size_t open_limit = seed % 3 == 0 ? 2 : 1'000;
        BranchAndBound<Assignment> first(
            problem, {.threads = 2, .deterministic = deterministic, .open_limit = open_limit});
        const auto part = first.run();
        problem.expansions_left = nullptr;
        stopped += part.stopped_by == StopReason::Time;
        REQUIRE(part.lower_bound <= Score(expected.cost));
        if (part.stopped_by == StopReason::None) continue;
        REQUIRE(part.stats.nodes <= expansions);
        BranchAndBound<Assignment> second(problem, {});
        if (part.solution) second.resume_from(Assignment::Solution(*part.solution), part.found_by);
        second.resume_from(first.take_open());
        const auto rest = second.run();
        REQUIRE(rest.solution->jobs == expected.jobs);
        REQUIRE(rest.lower_bound == Score(expected.cost));
      }
    }
  }
  CHECK(stopped > 200);
}

TEST_CASE("what a checkpoint throws reaches the caller") {
  const Assignment problem = random_assignment(3, 6);
  for (const bool deterministic : {false, true}) {
    BranchAndBound<Assignment> search(
        problem, {.deterministic = deterministic, .checkpoint_interval = Seconds(0.0)});
    search.on_checkpoint([](auto&) { throw std::runtime_error("full"); });
    CHECK_THROWS_AS(search.run(), std::runtime_error);
  }
}

}  // namespace dfsearch
