// Searches that are stopped and go on from a checkpoint, again and again, each time with other
// threads, limits and bounds, beside brute force and one search that nobody interrupts.

#include <doctest/doctest.h>
#include <rapidcheck/state.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "engine/solve.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "model/machine/network_choices.hpp"
#include "support/brute_force.hpp"
#include "support/check_property.hpp"
#include "support/random_problem.hpp"
#include "support/same_answer.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kTop = 3;

/// Nothing of a run can be told beforehand but that it comes closer to the answer.
struct Twin {
  bool begun = false;  // there is a checkpoint
};

struct World {
  explicit World(const Problem& of)
      : problem(of), best(test::brute_force(of)), straight(solve(of, {.top = kTop})) {}

  const Problem& problem;
  const test::BruteForceResult best;
  const SearchResult straight;             // nobody interrupts it
  std::vector<std::string> checkpoints{};  // of the last run
  std::int64_t nodes = 0;                  // in the last of them
};

void check_bounds(const World& world, const BestMapping& found) {
  RC_ASSERT(!(found.lower_bound > world.best.objective));
  if (!found.mapping) return;
  RC_ASSERT(world.best.mapping.has_value());
  RC_ASSERT(!(found.cost->objective < world.best.objective));
  RC_ASSERT(!(found.lower_bound > found.cost->objective));
  if (found.stopped_by == StopReason::None && found.gap == 0.0) {
    RC_ASSERT(found.cost->objective == world.best.objective);
  }
}

/// Goes on from the last checkpoint, or begins, and keeps the checkpoints of this run.
SearchResult go_on(World& world, SearchOptions options) {
  std::optional<SearchState> state;
  if (!world.checkpoints.empty()) {
    state = parse_checkpoint(world.checkpoints.back(), "c.ck", world.problem);
    RC_ASSERT(state->stats.nodes == world.nodes);
    options.resume = &*state;
  }
  std::vector<std::string> checkpoints;
  std::int64_t nodes = world.nodes;
  options.on_checkpoint = [&](const SearchState& now) {
    RC_ASSERT(now.stats.nodes >= nodes);
    nodes = now.stats.nodes;
    checkpoints.push_back(checkpoint_bytes(world.problem, now));
  };
  SearchResult result = solve(world.problem, options);
  RC_ASSERT(result.stats.nodes >= nodes);
  RC_ASSERT(!checkpoints.empty());
  world.checkpoints = std::move(checkpoints);
  world.nodes = nodes;
  return result;
}

using Command = rc::state::Command<Twin, World>;

/// A single run, up to a limit.
class Run : public Command {
 public:
  void apply(Twin& twin) const override { twin.begun = true; }
  void run(const Twin& /*twin*/, World& world) const override {
    SearchOptions options{.limits = {.nodes = nodes_, .gap = gap_},
                          .threads = threads_,
                          .deterministic = deterministic_,
                          .top = top_};
    // Checkpoints all the time, or only the one at the end.
    options.checkpoint_interval = Seconds(often_ ? 0.0 : 1000.0);
    // A few steps a node: even a tiny world has some.
    options.node_effort.steps = steps_;
    for (std::size_t i = 0; i < kSearchBounds.size(); ++i) {
      if (((dropped_ >> i) & 1U) != 0) options.bounds.drop(kSearchBounds[i].bound);
    }
    const std::int64_t before = world.nodes;
    const SearchResult result = go_on(world, options);
    if (result.stopped_by == StopReason::Nodes) RC_ASSERT(result.stats.nodes >= before + nodes_);
    check_bounds(world, result);
  }
  void show(std::ostream& out) const override {
    out << "run: " << nodes_ << " nodes, gap " << gap_ << ", " << threads_ << " threads, top "
        << top_ << ", " << steps_ << " steps" << (deterministic_ ? ", deterministic" : "")
        << (often_ ? ", many checkpoints" : "") << ", bounds dropped: " << dropped_;
  }

 private:
  template <class T>
  static T any_of(std::vector<T> values) {
    return *rc::gen::resize(100, rc::gen::elementOf(std::move(values)));
  }

  std::int64_t nodes_ = any_of<std::int64_t>({1, 1, 2, 3, 5, 10, 30, 1000});
  double gap_ = any_of<double>({0.0, 0.0, 0.0, 0.01, 0.3});
  int threads_ = any_of<int>({1, 2, 4});
  std::int64_t top_ = any_of<std::int64_t>({1, 1, 2, 3});
  std::int64_t steps_ = any_of<std::int64_t>({2, 20, 10'000});
  bool deterministic_ = any_of<int>({0, 1}) == 1;
  bool often_ = any_of<int>({0, 1}) == 1;
  // One bit for each bound; as a rule none is dropped.
  unsigned dropped_ = any_of<unsigned>({0, 0, 0, 0, 0x11, 0x4a0, 0x1200, 0xffff});
};

/// The process is killed: an earlier checkpoint of its last run is all there is.
class Kill : public Command {
 public:
  void checkPreconditions(const Twin& twin) const override { RC_PRE(twin.begun); }
  void run(const Twin& /*twin*/, World& world) const override {
    const std::size_t kept = 1 + moment_ % world.checkpoints.size();
    world.checkpoints.resize(kept);
    world.nodes = parse_checkpoint(world.checkpoints.back(), "c.ck", world.problem).stats.nodes;
  }
  void show(std::ostream& out) const override { out << "kill at " << moment_; }

 private:
  std::size_t moment_ = *rc::gen::resize(100, rc::gen::inRange<std::size_t>(0, 1000));
};

void check_same_answer(const World& world, const SearchResult& result) {
  const SearchResult& straight = world.straight;
  RC_ASSERT(result.status == straight.status);
  RC_ASSERT(test::cost_the_same(result, straight));
  RC_ASSERT(result.lower_bound == straight.lower_bound);
  RC_ASSERT(result.alternatives_complete == straight.alternatives_complete);
  RC_ASSERT(result.alternatives.size() == straight.alternatives.size());
  for (std::size_t i = 0; i < result.alternatives.size(); ++i) {
    RC_ASSERT(test::cost_the_same(result.alternatives[i], straight.alternatives[i]));
  }
  check_bounds(world, result);
  if (world.best.mapping) {
    RC_ASSERT(result.cost->objective == world.best.objective);
    RC_ASSERT(result.gap == 0.0);
  }
}

}  // namespace

TEST_CASE("however often a search was stopped, it ends with the same answer" *
          doctest::test_suite("slow")) {
  std::size_t searched = 0;
  test::check_property(
      [&] {
        const auto seed =
            *rc::gen::resize(100, rc::gen::noShrink(rc::gen::inRange<std::uint64_t>(0, 100'000)));
        const bool free = seed % 2 == 1;
        const Problem problem = test::random_problem(seed, {.kernels = free ? 4U : 6U,
                                                            .assignments = free ? 300.0 : 2000.0,
                                                            .free_machine = free,
                                                            .joint = seed % 3 == 0});
        RC_PRE(!network_choices(problem).empty());
        World world(problem);
        check_same_answer(world, world.straight);
        rc::state::check(Twin(), world, rc::state::gen::execOneOfWithArgs<Run, Run, Run, Kill>());
        if (!world.checkpoints.empty()) ++searched;
        check_same_answer(world, go_on(world, {.threads = 2, .top = kTop}));
      },
      150);
  CHECK(searched > 50);
}

}  // namespace dfsearch
