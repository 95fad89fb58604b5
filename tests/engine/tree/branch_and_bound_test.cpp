// The generic engine on problems whose optimum is known; the engine must not depend on the problem.

#include "engine/tree/branch_and_bound.hpp"

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "support/assignment_problem.hpp"

namespace dfsearch {
namespace {

using test::Assignment;
using test::best_assignment;
using test::random_assignment;

/// Bounded by what is spent.
struct WeakAssignment : Assignment {
  explicit WeakAssignment(const Assignment& problem) : Assignment(problem) {}
  [[nodiscard]] Score bound(const Node& node) const { return Score(node.cost); }
};

/// Comes to know the best of what begins with a job once another worker has one.
struct LearningAssignment : WeakAssignment {
  std::vector<double> best_with;  // of each job of the first worker
  mutable std::vector<std::atomic<bool>> known;
  mutable std::vector<std::atomic<bool>> claimed;

  explicit LearningAssignment(const Assignment& problem)
      : WeakAssignment(problem),
        best_with(problem.costs.size(), 1e9),
        known(problem.costs.size()),
        claimed(problem.costs.size()) {
    std::vector<int> jobs(costs.size());
    std::iota(jobs.begin(), jobs.end(), 0);
    do {
      double cost = 0.0;
      for (std::size_t w = 0; w < jobs.size(); ++w) {
        cost += costs[w][static_cast<std::size_t>(jobs[w])];
      }
      double& best = best_with[static_cast<std::size_t>(jobs.front())];
      best = std::min(best, cost);
    } while (std::next_permutation(jobs.begin(), jobs.end()));
  }

  [[nodiscard]] Score bound_now(const Node& node) const {
    const Score before = bound(node);
    if (node.jobs.empty()) return before;
    const auto job = static_cast<std::size_t>(node.jobs.front());
    return known[job] ? std::max(before, Score(best_with[job])) : before;
  }
  /// The best cost with the first job of a node of two, learnt once.
  using Slice = std::size_t;
  void claim_slices(const Node& node, std::vector<Slice>& slices) const {
    if (node.jobs.size() != 2) return;
    const auto job = static_cast<Slice>(node.jobs.front());
    if (!claimed[job].exchange(true)) slices.push_back(job);
  }
  void run(const Slice&, Expansion<Node, Solution>&) const {}
  void publish(const Slice& slice) const { known[slice] = true; }
};
static_assert(LearningProblem<LearningAssignment> && !LearningProblem<Assignment>);

/// A problem whose equal solutions have no order.
template <class Problem>
struct Unordered : Problem {
  explicit Unordered(const Assignment& problem) : Problem(problem) {}
  void precedes() const = delete;
  void before() const = delete;
};
static_assert(OrderedProblem<Assignment> && !OrderedProblem<Unordered<Assignment>>);

/// Items with weights and values; wanted: the most value within a weight.  As a
/// minimisation: the least value left out.
struct Knapsack {
  struct Node {
    std::size_t item = 0;
    int weight = 0;
    int left_out = 0;
  };
  using Solution = int;  // value left out

  std::vector<int> weights, values;
  int capacity = 0;

  [[nodiscard]] Node root() const { return {}; }
  [[nodiscard]] Score bound(const Node& node) const { return Score(node.left_out); }
  [[nodiscard]] Score cost(const Solution& s) const { return Score(s); }
  [[nodiscard]] bool admit(const Node&) const { return true; }
  void branch(const Node& node, Expansion<Node, Solution>& out) const {
    for (const bool take : {true, false}) {
      Node child = node;
      (take ? child.weight : child.left_out) += (take ? weights : values)[node.item];
      if (child.weight > capacity) continue;
      if (++child.item == weights.size()) {
        out.solution(int{child.left_out}, 'T');
      } else {
        out.child(std::move(child));
      }
    }
  }
};
static_assert(SearchProblem<Knapsack>);

int best_knapsack(const Knapsack& problem) {
  std::vector<int> most(static_cast<std::size_t>(problem.capacity) + 1, 0);
  for (std::size_t i = 0; i < problem.weights.size(); ++i) {
    for (int c = problem.capacity; c >= problem.weights[i]; --c) {
      auto& best = most[static_cast<std::size_t>(c)];
      best = std::max(best,
                      most[static_cast<std::size_t>(c - problem.weights[i])] + problem.values[i]);
    }
  }
  return std::accumulate(problem.values.begin(), problem.values.end(), 0) - most.back();
}

template <class P>
auto run(const P& problem, BranchAndBoundOptions options) {
  return BranchAndBound<P>(problem, std::move(options)).run();
}

}  // namespace

TEST_CASE("assignments of least cost are found, and of these the first") {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Assignment problem = random_assignment(seed, 2 + seed % 6);
    const auto expected = best_assignment(problem);
    for (const int threads : {1, 2, 8}) {
      for (const bool deterministic : {false, true}) {
        // With an open limit of 0 everything is searched depth first.
        for (const std::size_t open_limit : {std::size_t{0}, std::size_t{1000}}) {
          CAPTURE(threads);
          CAPTURE(deterministic);
          CAPTURE(open_limit);
          const auto result =
              run(problem,
                  {.threads = threads, .deterministic = deterministic, .open_limit = open_limit});
          REQUIRE(result.solution != nullptr);
          CHECK(result.cost == Score(expected.cost));
          CHECK(result.lower_bound == Score(expected.cost));
          CHECK(result.solution->jobs == expected.jobs);
          CHECK(result.stopped_by == StopReason::None);
        }
      }
    }
  }
}

TEST_CASE("nodes that are known to be useless by now are dropped, and the answer is the same") {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  std::int64_t nodes = 0;
  std::int64_t nodes_without = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Assignment problem = random_assignment(seed, 5 + seed % 3);
    const auto expected = best_assignment(problem);
    std::optional<std::int64_t> of_rounds;
    for (const int threads : {1, 2, 8}) {
      for (const bool deterministic : {false, true}) {
        const BranchAndBoundOptions options{.threads = threads, .deterministic = deterministic};
        const auto any = run(Unordered<LearningAssignment>(problem), options);
        REQUIRE(any.solution != nullptr);
        CHECK(any.cost == Score(expected.cost));
        CHECK(any.lower_bound == Score(expected.cost));
        const auto result = run(LearningAssignment(problem), options);
        REQUIRE(result.solution != nullptr);
        CHECK(result.cost == Score(expected.cost));
        CHECK(result.lower_bound == Score(expected.cost));
        CHECK(result.solution->jobs == expected.jobs);
        if (!deterministic) continue;
        CHECK(result.stats.nodes == of_rounds.value_or(result.stats.nodes));
        of_rounds = result.stats.nodes;
      }
    }
    nodes += run(LearningAssignment(problem), {}).stats.nodes;
    nodes_without += run(WeakAssignment(problem), {}).stats.nodes;
  }
  CHECK(nodes < nodes_without * 9 / 10);
}

TEST_CASE("knapsacks are filled as dynamic programming fills them") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    Knapsack problem;
    for (int i = 0; i < 14; ++i) {
      problem.weights.push_back(static_cast<int>(1 + random() % 20));
      problem.values.push_back(static_cast<int>(1 + random() % 30));
    }
    problem.capacity = static_cast<int>(random() % 150);
    const auto result = run(problem, {.threads = 2});
    CHECK(result.cost == Score(best_knapsack(problem)));
  }
}

TEST_CASE("a problem without solutions ends with an infinite bound and none") {
  Assignment none;
  none.costs = {{1.0}};
  none.throw_at_depth = -1;
  struct Barren : Assignment {
    void branch(const Node&, Expansion<Node, Solution>&) const {}
  } barren;
  barren.costs = none.costs;
  const auto result = run(barren, {});
  CHECK(result.solution == nullptr);
  CHECK(result.lower_bound == Score::infinity());
  CHECK(result.stats.nodes == 1);
}

TEST_CASE("deterministic mode expands the same nodes and has the same answer on any threads") {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  int tied = 0;  // of several answers that are equally good another one than the first
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Assignment problem = random_assignment(seed, 5 + seed % 4);
    const Unordered<WeakAssignment> any(problem);
    const auto one = run(any, {.threads = 1, .deterministic = true});
    tied += one.solution->jobs != best_assignment(problem).jobs;
    for (const int threads : {2, 8}) {
      CAPTURE(threads);
      const auto more = run(any, {.threads = threads, .deterministic = true});
      CHECK(more.stats.nodes == one.stats.nodes);
      CHECK(more.stats.pruned_by_bound == one.stats.pruned_by_bound);
      CHECK(more.solution->jobs == one.solution->jobs);
    }
  }
  CHECK(tied > 5);
}

TEST_CASE("limits stop a search with a true lower bound") {
  const Assignment problem = random_assignment(11, 8);
  const double optimum = best_assignment(problem).cost;
  SUBCASE("nodes") {
    for (const std::int64_t nodes : {1, 2, 5, 10}) {
      const auto result = run(problem, {.limits = {.nodes = nodes}});
      CHECK(result.stopped_by == StopReason::Nodes);
      CHECK(result.stats.nodes == nodes);
      CHECK(result.lower_bound <= Score(optimum));
      CHECK(result.cost >= Score(optimum));
    }
  }
  SUBCASE("time") {
    const auto result = run(problem, {.limits = {.deadline = Deadline(Seconds(0.0))}});
    CHECK(result.stopped_by == StopReason::Time);
    CHECK(result.lower_bound <= Score(optimum));
  }
  SUBCASE("a flag raised from outside") {
    const std::atomic<bool> stop{true};
    const auto result =
        run(problem, {.limits = {.deadline = Deadline(Seconds::infinity(), &stop)}, .threads = 2});
    CHECK(result.stopped_by == StopReason::Signal);
    CHECK(result.lower_bound <= Score(optimum));
  }
  SUBCASE("a gap") {
    const auto result = run(problem, {.limits = {.gap = 0.5}});
    CHECK(result.stopped_by == StopReason::None);
    REQUIRE(result.solution != nullptr);
    CHECK(result.cost - result.lower_bound <= 0.5 * result.cost);
    CHECK(result.lower_bound <= Score(optimum));
  }
}

TEST_CASE("a limit that is met together with the proof has stopped nothing") {
  // Full as soon as two nodes are open, or never.
  for (const std::size_t open_limit : {std::size_t{1}, std::size_t{1000}}) {
    for (const bool deterministic : {false, true}) {
      CAPTURE(open_limit);
      CAPTURE(deterministic);
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        CAPTURE(seed);
        const Unordered<Assignment> problem(random_assignment(seed, 4 + seed % 4));
        BranchAndBoundOptions options{.deterministic = deterministic, .open_limit = open_limit};
        const auto whole = run(problem, options);
        options.limits.nodes = whole.stats.nodes;
        const auto limited = run(problem, options);
        CHECK(limited.stopped_by == StopReason::None);
        CHECK(limited.cost == whole.cost);
        CHECK(limited.lower_bound == whole.cost);
        CHECK(limited.stats.nodes == whole.stats.nodes);
      }
      // A signal that comes while the last node is expanded, of a problem without solutions.
      std::atomic<bool> signal{false};
      struct Barren : Assignment {
        std::atomic<bool>* signal = nullptr;
        void branch(const Node&, Expansion<Node, Solution>&) const { *signal = true; }
      } barren;
      barren.costs = {{1.0}};
      barren.signal = &signal;
      const auto none = run(barren, {.limits = {.deadline = Deadline(Seconds::infinity(), &signal)},
                                     .deterministic = deterministic,
                                     .open_limit = open_limit});
      CHECK(none.stopped_by == StopReason::None);
      CHECK(none.lower_bound == Score::infinity());
    }
  }
}

TEST_CASE("solutions above a cutoff are not wanted, those at it are") {
  // A bound that does not see the last jobs, so that such solutions come up.
  struct ShortSighted : Assignment {
    [[nodiscard]] Score bound(const Node& node) const { return Score(node.cost); }
  } problem;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    problem.costs = random_assignment(seed, 2 + seed % 5).costs;
    const auto best = best_assignment(problem);
    for (const bool deterministic : {false, true}) {
      const auto at = run(problem, {.deterministic = deterministic, .cutoff = Score(best.cost)});
      REQUIRE(at.solution != nullptr);
      CHECK(at.solution->jobs == best.jobs);
      const auto below =
          run(problem, {.deterministic = deterministic, .cutoff = Score(best.cost - 0.5)});
      CHECK(below.solution == nullptr);
      CHECK(below.stopped_by == StopReason::None);
    }
  }
}

TEST_CASE("a solution known beforehand spares nodes and may be the answer") {
  const Assignment problem = random_assignment(5, 7);
  const auto plain = run(problem, {});
  BranchAndBound<Assignment> search(problem, {});
  search.start_from(best_assignment(problem), 'H');
  const auto started = search.run();
  CHECK(started.cost == plain.cost);
  CHECK(started.stats.nodes <= plain.stats.nodes);
}

TEST_CASE("what a worker throws reaches the caller, for any number of threads") {
  Assignment problem = random_assignment(3, 6);
  problem.throw_at_depth = 3;
  for (const int threads : {1, 2}) {
    for (const bool deterministic : {false, true}) {
      CHECK_THROWS_AS(run(problem, {.threads = threads, .deterministic = deterministic}),
                      std::runtime_error);
    }
  }
}

TEST_CASE("progress can be asked for at any time and never claims too much") {
  for (const bool deterministic : {false, true}) {
    CAPTURE(deterministic);
    const Unordered<Assignment> problem(random_assignment(13, 8));
    const double optimum = best_assignment(problem).cost;
    BranchAndBound<Unordered<Assignment>> search(problem,
                                                 {.threads = 2, .deterministic = deterministic});
    std::vector<Progress> lines;
    search.on_incumbent([&](const Progress& progress, const Assignment::Solution& solution) {
      CHECK(progress.incumbent == Score(solution.cost));
      lines.push_back(progress);
    });
    double most = 0.0;
    {
      const std::jthread watcher([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          const Progress progress = search.progress();
          CHECK(progress.lower_bound <= progress.incumbent);
          most = std::max(most, progress.lower_bound.in_base_units());
        }
      });
      search.run();
    }
    CHECK(most <= optimum);
    // Every one is better than the one before, the last is the best.
    REQUIRE_FALSE(lines.empty());
    for (std::size_t i = 1; i < lines.size(); ++i) {
      CHECK(lines[i].incumbent < lines[i - 1].incumbent);
    }
    CHECK(lines.back().incumbent == Score(optimum));
    const auto result = search.result();
    CHECK(result.stats.first_incumbent <= result.stats.best_incumbent);
    CHECK(result.stats.best_incumbent <= result.stats.time);
  }
}

/// One solution below each of three nodes, worse ones first.  A worker that has one waits for
/// its turn, so that two wait to be told while the first is.
struct Turns {
  using Node = int;
  using Solution = int;

  std::atomic<int>* offered = nullptr;  // how many
  std::atomic<bool>* told = nullptr;    // the first is

  [[nodiscard]] Node root() const { return 0; }
  [[nodiscard]] Score bound(const Node&) const { return Score(1.0); }
  [[nodiscard]] Score cost(const Solution& s) const { return Score(s); }
  [[nodiscard]] bool admit(const Node&) const { return true; }
  void branch(const Node& node, Expansion<Node, Solution>& out) const {
    if (node == 0) {
      for (const int child : {1, 2, 3}) out.child(int{child});
      return;
    }
    if (node > 1) wait_until([this] { return told->load(); });
    wait_until([this, node] { return offered->load() >= node - 1; });
    // Time for the one before to get from here to where it waits.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++*offered;
    out.solution(int{40 - 10 * node}, 'T');
  }
  /// Not for ever: there may be fewer workers.
  template <class Condition>
  static void wait_until(const Condition& condition) {
    for (int i = 0; i < 500 && !condition(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
};
static_assert(SearchProblem<Turns>);

TEST_CASE("of better solutions that come together each is told at most once") {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  std::atomic<int> offered{0};
  std::atomic<bool> told{false};
  const Turns problem{.offered = &offered, .told = &told};
  BranchAndBound<Turns> search(problem, {.threads = 3});
  std::vector<Score> costs;
  search.on_incumbent([&](const Progress& progress, const int&) {
    costs.push_back(progress.incumbent);
    if (costs.size() > 1) return;
    told = true;
    Turns::wait_until([&] { return offered == 3; });
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  });
  search.run();
  REQUIRE_FALSE(costs.empty());
  for (std::size_t i = 1; i < costs.size(); ++i) CHECK(costs[i] < costs[i - 1]);
  CHECK(costs.back() == Score(10.0));
}

}  // namespace dfsearch
