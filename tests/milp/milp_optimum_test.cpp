// Exported models against the search: a solver's optimum is dfsearch's.
//
// CBC is the judge.  Without it (package coinor-cbc) the tests are skipped, which
// tests/CMakeLists.txt tells CTest by the message.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "engine/mapping/point_bound.hpp"
#include "engine/solve.hpp"
#include "io/lp/lp_text.hpp"
#include "milp/fusion_model.hpp"
#include "model/layer/sharding.hpp"
#include "support/machine_worlds.hpp"
#include "support/plain_model.hpp"
#include "support/random_problem.hpp"
#include "support/temporary_directory.hpp"
#include "support/transformer_worlds.hpp"

namespace dfsearch {
namespace {

// Error that the solver's own tolerances allow.
constexpr double kTolerance = 1e-6;

bool no_solver() {
  if (std::system("command -v cbc >/dev/null 2>&1") == 0) return false;
  MESSAGE("skipped: cbc is not installed (package coinor-cbc)");
  return true;
}

/// The first line of CBC's solution file says how it ended.
struct Verdict {
  std::string text;  ///< all of the file
  bool optimal = false;
  double objective = 0.0;
};

Verdict solved(const LinearModel& model, bool as_lp) {
  const test::TemporaryDirectory folder;
  const auto file =
      as_lp ? folder.write("model.lp", lp_text(model)) : folder.write("model.mps", mps_text(model));
  const auto solution = folder.path() / "model.sol";
  const std::string command =
      fmt::format("cbc {} sec 60 ratio 0 allow 0 solve solu {} >{} 2>&1", file.string(),
                  solution.string(), (folder.path() / "log").string());
  REQUIRE(std::system(command.c_str()) == 0);
  std::ostringstream text;
  text << std::ifstream(solution).rdbuf();
  Verdict verdict{.text = text.str()};
  const std::string mark = "Optimal - objective value ";
  verdict.optimal = verdict.text.starts_with(mark);
  if (verdict.optimal) verdict.objective = std::stod(verdict.text.substr(mark.size()));
  // Stopped by its time limit it would prove nothing.
  REQUIRE(verdict.text.find("Stopped") == std::string::npos);
  return verdict;
}

LayerDecisions first_decisions(const Problem& problem) {
  const auto networks = network_choices(problem);
  const OuterPoint point = outer_points(problem).front();
  return {.network = networks[point.network],
          .sharding = loop_sets(least_bytes_sharding(problem)),
          .micro_batch = point.micro_batch,
          .tile = point.tile};
}

/// The decisions of the winner, or of the first outer point when nothing fits.
LayerDecisions decisions_of(const Problem& problem, const SearchResult& result) {
  return result.mapping ? given_decisions(problem, &*result.mapping) : first_decisions(problem);
}

/// Whether the program decides which tiers of memory are in use.
bool decides_tiers(const LinearModel& model) {
  return std::any_of(model.columns.begin(), model.columns.end(),
                     [](const auto& column) { return column.name == "F[2]"; });
}

struct WorldCount {
  int feasible = 0;
  // Where the program decides which tiers of memory are in use:
  int first_tier = 0;
  int both_tiers = 0;
};

void check_fusion(const Problem& problem, bool as_lp, WorldCount& count) {
  const SearchResult result = solve(problem, {});
  const LinearModel model = fusion_model(problem, decisions_of(problem, result));
  const Verdict verdict = solved(model, as_lp);
  REQUIRE(verdict.optimal == (result.status == SearchStatus::Optimal));
  if (!verdict.optimal) return;
  ++count.feasible;
  if (decides_tiers(model)) ++(result.cost->spilled ? count.both_tiers : count.first_tier);
  const double layer = result.cost->layer_time.in_base_units();
  CHECK(verdict.objective * model.unit == doctest::Approx(layer).epsilon(kTolerance));

  const MilpSolution solution = parse_solution(verdict.text, "model.sol", problem.workload.graph);
  const Mapping mapping = mapping_of(solution, problem, &*result.mapping);
  const auto cost = evaluate(problem, mapping);
  REQUIRE(std::holds_alternative<Cost>(cost));
  CHECK(std::get<Cost>(cost).layer_time.in_base_units() ==
        doctest::Approx(layer).epsilon(kTolerance));
}

}  // namespace

TEST_CASE("the optimum of the exported fusion is that of the search" *
          doctest::test_suite("slow")) {
  if (no_solver()) return;
  WorldCount count;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    check_fusion(test::random_problem(seed), seed % 2 == 0, count);
  }
  // Both kinds of worlds must occur, or the agreement proves little.
  CHECK(count.feasible > 50);
  CHECK(count.feasible < 145);
}

TEST_CASE("so it is in worlds of the whole machine, of copies and of two tiers of memory" *
          doctest::test_suite("slow")) {
  if (no_solver()) return;
  WorldCount count;
  for (std::uint64_t seed = 0; seed < 36; ++seed) {
    CAPTURE(seed);
    check_fusion(test::random_machine_problem(seed), seed % 2 == 0, count);
  }
  // Worlds where partitions decide about the second tier are rare.
  for (std::uint64_t seed = 36; seed < 900; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_machine_problem(seed);
    if (!problem.system.second_memory()) continue;
    if (!decides_tiers(fusion_model(problem, first_decisions(problem)))) continue;
    check_fusion(problem, seed % 2 == 0, count);
  }
  CHECK(count.feasible > 30);
  CHECK(count.first_tier > 5);
  CHECK(count.both_tiers > 5);
}

TEST_CASE("the optimum of the exported sharding is the bytes of the sharding chosen") {
  if (no_solver()) return;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed < 20   ? test::random_problem(seed)
                            : seed < 40 ? test::random_machine_problem(seed)
                                        : test::random_transformer_problem(seed);
    const DataflowGraph& graph = problem.workload.graph;
    const std::vector<LoopPair> loops = least_bytes_sharding(problem);
    const double least = test::plain_bytes(problem, loops);
    const LinearModel model = sharding_model(problem);
    const Verdict verdict = solved(model, seed % 2 == 0);
    REQUIRE(verdict.optimal);
    CHECK(verdict.objective * model.unit == doctest::Approx(least).epsilon(kTolerance));
    const MilpSolution read = parse_solution(verdict.text, "model.sol", graph);
    CHECK(read.sharding.size() == graph.kernel_count());
  }
}

}  // namespace dfsearch
