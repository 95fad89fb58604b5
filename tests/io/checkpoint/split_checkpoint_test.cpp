// Checkpoints of searches over budgets: whole, damaged, and of others.

#include "io/checkpoint/checkpoint_file.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "io/checkpoint/checkpoint_frame.hpp"
#include "io/config/load_config.hpp"

namespace dfsearch {
namespace {

Config searched() { return load_config("configs/seven_nm_split.yaml", {}); }

/// In the order of its shares: area core and L2; power core, L2, memory and inter.
SplitState some_state() {
  SplitState state;
  state.finished.push_back({{6, 1, 5, 1, 1, 1}, Score(1.8)});
  state.begun = true;
  state.open.push_back({{5, 1, 3, 1, 0, 0}, {6, 1, 5, 1, 1, 1}});
  state.open.push_back({{0, 0, 0, 0, 0, 0}, {4, 3, 2, 8, 8, 8}});
  state.incumbent = GridPoint{5, 1, 5, 1, 1, 1};
  state.stats.nodes = 17;
  state.stats.time = Seconds(0.25);
  return state;
}

std::string complaint(const Config& config, const std::string& bytes) {
  try {
    parse_checkpoint(bytes, "s.ck", config.problem, *config.design);
    return "accepted";
  } catch (const InputError& error) {
    return error.messages().front();
  }
}

TEST_CASE("a state of splits reads back to the same") {
  const Config config = searched();
  const SplitState state = some_state();
  const std::string bytes = checkpoint_bytes(config.problem, *config.design, state);
  const SplitState again = parse_checkpoint(bytes, "s.ck", config.problem, *config.design);
  REQUIRE(again.finished.size() == 1);
  CHECK(again.finished[0].point == state.finished[0].point);
  CHECK(again.finished[0].lower_bound == Score(1.8));
  CHECK(again.begun);
  REQUIRE(again.open.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(again.open[i].least == state.open[i].least);
    CHECK(again.open[i].most == state.open[i].most);
  }
  CHECK(again.incumbent == state.incumbent);
  CHECK(again.stats.nodes == 17);
  CHECK(again.stats.time == Seconds(0.25));
  CHECK(checkpoint_bytes(config.problem, *config.design, again) == bytes);
}

TEST_CASE("a checkpoint of other splits, or of no splits, is refused") {
  const Config config = searched();
  const std::string bytes = checkpoint_bytes(config.problem, *config.design, some_state());
  struct Case {
    const char* change;
    const char* section;
  };
  for (const Case& c : {
           Case{"system.budget.step=0.05", "budget"},
           Case{"system.budget.area.L1=0.06", "budget"},
           Case{"system.technology.core.margin=0.34 V", "technology"},
           Case{"system.technology.L2.energy=37 fJ/bit", "technology"},
           Case{"system.network.0.ports=3", "chip"},
           Case{"equations.voltage_floor=squared", "chip"},
           Case{"workload.layers=11", "workload"},
       }) {
    CAPTURE(c.change);
    const Config other = load_config("configs/seven_nm_split.yaml", {c.change});
    CHECK(complaint(other, bytes) ==
          std::string("s.ck: is a checkpoint of another config: another ") + c.section);
  }
  const std::string mappings = checkpoint_bytes(config.problem, SearchState{});
  CHECK(complaint(config, mappings) ==
        "s.ck: is a checkpoint of another config: another technology, budget, chip");
  CHECK_THROWS_WITH_AS(parse_checkpoint(bytes, "s.ck", config.problem),
                       "s.ck: is a checkpoint of another config: another technology", InputError);
  CHECK(complaint(config, bytes.substr(0, bytes.size() - 1)) ==
        "s.ck: is a checkpoint that was cut short or damaged");
}

TEST_CASE("boxes and splits beyond the grid are no checkpoint") {
  const Config config = searched();
  const auto damaged = [&](auto damage) {
    SplitState state = some_state();
    damage(state);
    return complaint(config, checkpoint_bytes(config.problem, *config.design, state));
  };
  const std::string wrong =
      "s.ck: is a damaged checkpoint: its bytes end too early or are not valid";
  CHECK(damaged([](SplitState&) {}) == "accepted");
  CHECK(damaged([](SplitState& s) { s.open[0].most[0] = 9; }) == wrong);  // 0.77 are left
  CHECK(damaged([](SplitState& s) { s.open[0].least[0] = 7; }) == wrong);
  CHECK(damaged([](SplitState& s) { s.open[1].most.push_back(1); }) == wrong);
  CHECK(damaged([](SplitState& s) { s.incumbent->pop_back(); }) == wrong);
  CHECK(damaged([](SplitState& s) { (*s.incumbent)[1] = 3; }) == wrong);  // 0.8 of the area
  CHECK(damaged([](SplitState& s) { (*s.incumbent)[1] = -1; }) == wrong);
  CHECK(damaged([](SplitState& s) { s.finished[0].point[0] = 100; }) == wrong);
  CHECK(damaged([](SplitState& s) { s.finished[0].lower_bound = Score(-1.0); }) != "accepted");
}

}  // namespace
}  // namespace dfsearch
