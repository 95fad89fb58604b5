// One interface for all kinds of configs: it returns the answers of the engines, and a search that
// is cut and resumed through it returns the same answer.

#include "io/solve/question.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "base/error.hpp"
#include "engine/solve.hpp"
#include "support/temporary_directory.hpp"

namespace dfsearch {
namespace {

const char* const kMapping = "configs/gpt3_1t.yaml";
const char* const kSplit = "configs/seven_nm_split.yaml";
const char* const kPlan = "configs/training/megatron_22b_full.yaml";
const char* const kExecution = "configs/calculon_22b_h100.yaml";

AnyConfig config_of(const char* file) { return load_any_config(file, {}); }

TEST_CASE("a question of any kind is answered as its engine answers it") {
  const AnyConfig mapping = config_of(kMapping);
  const Result found = solve(mapping);
  CHECK(found.status == SearchStatus::Optimal);
  CHECK(*found.objective ==
        solve(std::get<Config>(mapping).problem, SearchOptions{}).cost->objective);

  const AnyConfig plan = config_of(kPlan);
  CHECK(
      solve(plan).objective->in_base_units() ==
      training::find_plan(std::get<TrainingConfig>(plan).task, {}).cost->step_time.in_base_units());

  const AnyConfig execution = config_of(kExecution);
  CHECK(solve(execution).objective->in_base_units() ==
        calculon::find_execution(std::get<CalculonConfig>(execution).task, {})
            .cost->step_time.in_base_units());
}

TEST_CASE("limits of the config hold where the options have none") {
  const AnyConfig config = load_any_config(kMapping, {"search.gap=0.5"});
  CHECK(solve(config).gap > 0.0);
  CHECK(solve(config, {.limits = Limits{}}).gap == 0.0);
}

TEST_CASE("a search that is cut goes on from its checkpoint") {
  test::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "state";
  for (const char* name : {kMapping, kSplit, kPlan, kExecution}) {
    CAPTURE(name);
    const AnyConfig config = config_of(name);
    const auto question = question_of(config);
    SolveOptions options{.limits = Limits{.nodes = 20}};
    options.on_checkpoint = [&](const std::string& bytes, const SearchStats&, std::size_t) {
      std::ofstream(file, std::ios::binary) << bytes;
    };
    const Result cut = question->solve(options);
    CHECK(cut.stats.nodes <= 20);
    SavedState state = question->load_state(file);
    CHECK(stats_of(state).nodes == cut.stats.nodes);
    SolveOptions rest;
    rest.resume = &state;
    const Result resumed = question->solve(rest);
    CHECK(resumed.status == SearchStatus::Optimal);
    CHECK(*resumed.objective == *solve(config).objective);
  }
}

TEST_CASE("options that a kind does not take are refused") {
  SolveOptions robust{.robust = true};
  CHECK_THROWS_AS(solve(config_of(kPlan), robust), InputError);
  CHECK_THROWS_AS(solve(config_of(kExecution), robust), InputError);
  SolveOptions without;
  without.bounds.drop(kSearchBounds[0].bound);
  CHECK_THROWS_AS(solve(config_of(kExecution), without), InputError);
}

}  // namespace
}  // namespace dfsearch
