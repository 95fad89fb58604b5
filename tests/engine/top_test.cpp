// The best parallelisms one after the other, against brute force.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "engine/answer/search_state.hpp"
#include "engine/solve.hpp"
#include "model/machine/network_choices.hpp"
#include "support/brute_force.hpp"
#include "support/node_efforts.hpp"
#include "support/random_problem.hpp"
#include "support/same_answer.hpp"

namespace dfsearch {
namespace {

Problem free_world(std::uint64_t seed) {
  return test::random_problem(seed, {.kernels = 4, .assignments = 300, .free_machine = true});
}

std::set<Parallelism> parallelisms_of(const Problem& problem) {
  std::set<Parallelism> all;
  for (const NetworkChoice& network : network_choices(problem)) all.insert(parallelism_of(network));
  return all;
}

/// The best mapping of each parallelism for which there is one, in order.
std::vector<test::BruteForceResult> ranking(const Problem& problem) {
  std::vector<test::BruteForceResult> list;
  for (const Parallelism& degrees : parallelisms_of(problem)) {
    Problem one = problem;
    one.parallelism[0].values = {degrees.tensor};
    one.parallelism[1].values = {degrees.pipeline};
    one.parallelism[2].values = {degrees.data};
    auto best = test::brute_force(one);
    if (best.mapping) list.push_back(std::move(best));
  }
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return a.objective < b.objective; });
  return list;
}

void check_same(const BestMapping& found, const test::BruteForceResult& expected) {
  REQUIRE(found.status == SearchStatus::Optimal);
  CHECK(found.cost->objective == expected.objective);
  CHECK(found.lower_bound == expected.objective);
  CHECK(found.gap == 0.0);
}

/// Each parallelism has the cost that it has by itself.
void check_ranking(const SearchResult& result,
                   const std::vector<test::BruteForceResult>& expected) {
  std::vector<BestMapping> answers{result};
  answers.insert(answers.end(), result.alternatives.begin(), result.alternatives.end());
  std::set<Parallelism> met;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    check_same(answers[i], expected[i]);
    const Parallelism own = parallelism_of(answers[i].mapping->network);
    CHECK(met.insert(own).second);
    const auto alone =
        std::find_if(expected.begin(), expected.end(), [&](const test::BruteForceResult& best) {
          return parallelism_of(best.mapping->network) == own;
        });
    REQUIRE(alone != expected.end());
    CHECK(alone->objective == answers[i].cost->objective);
  }
}

}  // namespace

TEST_CASE("the best parallelisms are those of brute force, each with its own optimum") {
  int ranked = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const Problem problem = free_world(seed);
    if (network_choices(problem).empty()) continue;
    const auto expected = ranking(problem);
    ranked += expected.size() > 2;
    for (const std::int64_t top : {1, 2, 3, 100}) {
      CAPTURE(top);
      const SearchResult result =
          solve(problem, {.threads = 2, .node_effort = test::node_effort(seed), .top = top});
      if (expected.empty()) {
        CHECK(result.status == SearchStatus::Infeasible);
        CHECK(result.alternatives.empty());
        continue;
      }
      const std::size_t count = std::min(static_cast<std::size_t>(top), expected.size());
      REQUIRE(result.alternatives.size() + 1 == count);
      check_ranking(result, expected);
      if (static_cast<std::size_t>(top) > expected.size()) CHECK(result.alternatives_complete);
      CHECK(result.parallelisms == static_cast<std::int64_t>(parallelisms_of(problem).size()));
    }
  }
  CHECK(ranked > 10);
}

TEST_CASE("the next best is found unasked, and only where there is a choice") {
  int found = 0;
  int none = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const Problem problem = free_world(seed);
    if (network_choices(problem).empty()) continue;
    const auto expected = ranking(problem);
    const SearchResult result =
        solve(problem, {.node_effort = test::node_effort(seed), .next_best = true});
    if (expected.size() < 2) {
      ++none;
      CHECK(result.alternatives.empty());
      CHECK(result.alternatives_complete == !expected.empty());
      continue;
    }
    ++found;
    REQUIRE(result.alternatives.size() == 1);
    check_ranking(result, expected);
  }
  CHECK(found > 25);
  CHECK(none > 10);
  CHECK(solve(free_world(3), {}).alternatives.empty());
}

TEST_CASE("a bound that was proved for a gap stays when the search goes on with a smaller one") {
  int kept = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const Problem problem = free_world(seed);
    if (parallelisms_of(problem).size() < 2) continue;
    // Whoever has the nodes of a state must outlive it.
    SearchResult coarse;
    std::vector<SearchResult> searches;
    SearchState last;
    SearchOptions options{.limits = {.gap = 0.3}, .top = 2};
    options.on_checkpoint = [&](const SearchState& state) { last = state; };
    coarse = solve(problem, options);
    if (!coarse.cost || coarse.gap == 0.0) continue;
    ++kept;
    // Twice: what a resumed search knows is in its own checkpoint, too.
    for (int again = 0; again < 2; ++again) {
      SearchState state = last;
      SearchOptions finer{.limits = {.nodes = 1}, .top = 2, .resume = &state};
      finer.on_checkpoint = options.on_checkpoint;
      searches.push_back(solve(problem, finer));
      CHECK(searches.back().lower_bound >= coarse.lower_bound);
    }
    const SearchResult exact = solve(problem, {.top = 2, .resume = &last});
    const SearchResult straight = solve(problem, {.top = 2});
    CHECK(exact.lower_bound == straight.lower_bound);
    CHECK(test::cost_the_same(exact, straight));
  }
  CHECK(kept > 10);
}

TEST_CASE("limits hold for all answers together and leave true bounds") {
  int stopped = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Problem problem = free_world(seed);
    if (network_choices(problem).empty()) continue;
    const auto expected = ranking(problem);
    const SearchResult all = solve(problem, {.top = 100});
    for (std::int64_t nodes = 1; nodes < all.stats.nodes; nodes = nodes * 3 / 2 + 1) {
      CAPTURE(nodes);
      const SearchResult part = solve(problem, {.limits = {.nodes = nodes}, .top = 100});
      std::vector<BestMapping> answers{part};
      answers.insert(answers.end(), part.alternatives.begin(), part.alternatives.end());
      for (std::size_t i = 0; i < answers.size(); ++i) {
        const BestMapping& answer = answers[i];
        if (answer.stopped_by == StopReason::None) continue;
        ++stopped;
        CHECK(i + 1 == answers.size());
        CHECK(answer.stopped_by == StopReason::Nodes);
        if (i < expected.size()) CHECK(answer.lower_bound <= expected[i].objective);
        if (answer.cost) CHECK(answer.lower_bound <= answer.cost->objective);
      }
    }
  }
  CHECK(stopped > 25);
}

}  // namespace dfsearch
