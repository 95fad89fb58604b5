// Searches for steps that are cut into runs of a few nodes, each from the bytes that the one before
// left, against searches in one go.

#include "io/checkpoint/checkpoint_file.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "engine/calculon/execution_rules.hpp"
#include "engine/calculon/find_execution.hpp"
#include "engine/training/find_plan.hpp"
#include "engine/training/plan_rules.hpp"
#include "model/training/layout_shelf.hpp"
#include "support/calculon_worlds.hpp"
#include "support/training_worlds.hpp"
#include "support/worlds.hpp"

namespace dfsearch {
namespace {

const Fingerprint kConfig{{"workload", 1}, {"system", 2}};

std::int64_t finished_of(const StepAnswers& answers) {
  return static_cast<std::int64_t>(answers.list.size()) + (answers.alternatives_complete ? 1 : 0);
}

/// Runs the search in pieces of `nodes` nodes.
StepAnswers in_runs(const StepRules& rules, StepSearch search, std::int64_t nodes, int& runs) {
  std::optional<std::string> bytes;
  const std::int64_t most = search.limits.nodes;
  for (runs = 1; runs < 100'000; ++runs) {
    std::optional<StepState> state;
    if (bytes) state = parse_step_checkpoint(*bytes, "checkpoint", kConfig);
    search.resume = state ? &*state : nullptr;
    search.limits.nodes = nodes;
    search.on_checkpoint = [&](const StepState& now) { bytes = checkpoint_bytes(now, kConfig); };
    StepAnswers answers = find_steps(rules, search);
    if (answers.list.back().stopped_by == StopReason::None) return answers;
  }
  search.limits.nodes = most;
  FAIL("the runs come to no end");
  return {};
}

void check_in_runs(const StepRules& rules, std::int64_t nodes, int& resumed) {
  for (const bool deterministic : {false, true}) {
    StepSearch search;
    search.deterministic = deterministic;
    search.top = 3;
    const StepAnswers whole = find_steps(rules, search);
    int runs = 0;
    const StepAnswers parts = in_runs(rules, search, nodes, runs);
    resumed += runs > 2 ? 1 : 0;
    REQUIRE(finished_of(parts) == finished_of(whole));
    for (std::size_t i = 0; i < whole.list.size(); ++i) {
      CHECK(parts.list[i].status == whole.list[i].status);
      CAPTURE(i);
      CAPTURE(deterministic);
      CHECK(parts.list[i].decisions.value_or(Decisions()) ==
            whole.list[i].decisions.value_or(Decisions()));
      CHECK(parts.list[i].cost == whole.list[i].cost);
      CHECK(parts.list[i].lower_bound == whole.list[i].lower_bound);
    }
  }
}

calculon::Task execution_task(std::uint32_t seed) {
  const auto world = test::random_calculon_world(seed);
  calculon::Task task{.transformer = world.transformer, .machine = world.machine, .choices = {}};
  task.choices.maximum_batch = 24;
  task.choices.recompute = calculon::Recompute::None;
  return task;
}

TEST_CASE("plans that are searched in many runs are those of one" * doctest::test_suite("worlds")) {
  int resumed = 0;
  for (std::uint64_t seed = 1; seed <= test::share_of(28U); ++seed) {
    CAPTURE(seed);
    const training::Task task = test::random_training_task(seed);
    const training::PlanSpace space(task);
    training::LayoutShelf shelf(task, space.blocks());
    check_in_runs(training::PlanRules(space, shelf), 1 + static_cast<std::int64_t>(seed % 7),
                  resumed);
  }
  CHECK(resumed > test::share_of(20));
}

TEST_CASE("plans on a mesh that are searched in many runs are those of one") {
  int resumed = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const training::Task task = test::random_task_on_mesh(seed);
    const training::PlanSpace space(task);
    training::LayoutShelf shelf(task, space.blocks());
    check_in_runs(training::PlanRules(space, shelf), 1 + static_cast<std::int64_t>(seed % 7),
                  resumed);
  }
  CHECK(resumed > 10);
}

TEST_CASE("executions that are searched in many runs are those of one") {
  int resumed = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const calculon::Task task = execution_task(seed);
    check_in_runs(calculon::ExecutionRules(task), 5 + seed, resumed);
  }
  CHECK(resumed > 6);
}

TEST_CASE("a hint is the first incumbent, unless it does not fit") {
  const training::Task task = test::random_training_task(1);
  const training::PlanSpace space(task);
  training::LayoutShelf shelf(task, space.blocks());
  const training::PlanRules rules(space, shelf);
  const StepAnswers best = find_steps(rules, {});
  REQUIRE(best.list.front().decisions.has_value());
  StepSearch search;
  search.hint = best.list.front().decisions;
  search.limits.nodes = 0;
  const StepAnswers hinted = find_steps(rules, search);
  CHECK(hinted.list.front().status == SearchStatus::Feasible);
  CHECK(hinted.list.front().decisions == best.list.front().decisions);
  search.hint->front() += 1;
  CHECK(find_steps(rules, search).list.front().status == SearchStatus::NoSolution);
}

/// Decisions that no search made: each is refused or costed, and none is an InternalError.
void check_foreign(const StepRules& rules, int& accepted, int& refused) {
  const StepAnswers best = find_steps(rules, {});
  if (!best.list.front().decisions) return;
  const Decisions right = *best.list.front().decisions;
  CHECK(rules.cost(right) == best.list.front().cost);
  std::mt19937 generator(7);
  for (int i = 0; i < 300; ++i) {
    Decisions wrong = right;
    constexpr std::int64_t kValues[] = {-1, 0, 1, 2, 3, 4, 8, 255, 1'000'000'000'000};
    wrong[generator() % wrong.size()] = kValues[generator() % 9];
    if (i % 10 == 0) wrong.resize(generator() % wrong.size());
    if (i % 10 == 1) wrong.push_back(1);
    const std::optional<Score> cost = rules.cost(wrong);
    if (cost) CHECK(*cost >= best.list.front().cost);
    cost ? ++accepted : ++refused;
  }
}

TEST_CASE("decisions from outside are costed only if the space has them") {
  int accepted = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    const training::Task task =
        seed % 2 == 0 ? test::random_task_on_mesh(seed) : test::random_training_task(seed);
    const training::PlanSpace space(task);
    training::LayoutShelf shelf(task, space.blocks());
    check_foreign(training::PlanRules(space, shelf), accepted, refused);
    const calculon::Task execution = execution_task(static_cast<std::uint32_t>(seed));
    check_foreign(calculon::ExecutionRules(execution), accepted, refused);
  }
  CHECK(accepted > 50);
  CHECK(refused > 1000);
}

/// Nodes of a checkpoint with a number changed: each is refused or leads to an answer.
void check_foreign_nodes(const StepRules& rules, int& refused) {
  StepState state;
  StepSearch search;
  search.limits.nodes = 12;
  search.on_checkpoint = [&](const StepState& now) {
    state = parse_step_checkpoint(checkpoint_bytes(now, kConfig), "c", kConfig);
  };
  find_steps(rules, search);
  std::mt19937 generator(3);
  for (int i = 0; i < 200 && !state.open.empty(); ++i) {
    StepState changed = parse_step_checkpoint(checkpoint_bytes(state, kConfig), "c", kConfig);
    PlanNode& node = changed.open[generator() % changed.open.size()].node;
    constexpr std::int64_t kValues[] = {-1, 0, 1, 3, 7, 1'000'000'000'000};
    if (i % 4 == 0) node.level = static_cast<int>(generator() % 8);
    if (i % 4 == 1 && !node.taken.empty()) node.taken.pop_back();
    if (i % 4 == 2) node.below.assign(generator() % 3, Score(1.0));
    if (i % 4 == 3 && !node.taken.empty()) {
      node.taken[generator() % node.taken.size()] = kValues[generator() % 6];
    }
    StepSearch rest;
    rest.limits.nodes = 50;
    rest.resume = &changed;
    try {
      find_steps(rules, rest);
    } catch (const InputError& error) {
      CHECK(error.messages().front() ==
            "the checkpoint is damaged: an open node does not belong to the problem");
      ++refused;
    }
  }
}

TEST_CASE("nodes from outside are searched only if the tree has them") {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const training::Task task = test::random_training_task(seed);
    const training::PlanSpace space(task);
    training::LayoutShelf shelf(task, space.blocks());
    check_foreign_nodes(training::PlanRules(space, shelf), refused);
    const calculon::Task execution = execution_task(static_cast<std::uint32_t>(seed));
    check_foreign_nodes(calculon::ExecutionRules(execution), refused);
  }
  CHECK(refused > 300);
}

TEST_CASE("a damaged checkpoint, and one of another config, are refused") {
  const calculon::Task task = execution_task(2);
  const calculon::ExecutionRules rules(task);
  std::string bytes;
  StepSearch search;
  search.limits.nodes = 10;
  search.on_checkpoint = [&](const StepState& now) { bytes = checkpoint_bytes(now, kConfig); };
  find_steps(rules, search);
  const StepState read = parse_step_checkpoint(bytes, "c", kConfig);
  CHECK(read.begun);
  CHECK(checkpoint_bytes(read, kConfig) == bytes);
  const auto refusal = [&](const std::string& content, const Fingerprint& config) {
    try {
      parse_step_checkpoint(content, "c", config);
    } catch (const InputError& error) {
      return error.messages().front();
    }
    return std::string("none");
  };
  CHECK(refusal(bytes, {{"workload", 1}, {"system", 3}}) ==
        "c: is a checkpoint of another config: another system");
  CHECK(refusal(bytes.substr(0, bytes.size() - 1), kConfig) ==
        "c: is a checkpoint that was cut short or damaged");
  CHECK(refusal("{}", kConfig) == "c: is no checkpoint of dfsearch");
}

}  // namespace
}  // namespace dfsearch
