#include "io/result/result_json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "io/example_problem.hpp"

namespace dfsearch {
namespace {

SearchResult optimal_result(const Problem& problem) {
  SearchResult result;
  result.status = SearchStatus::Optimal;
  result.mapping = example_mapping();
  result.cost = std::get<Cost>(evaluate(problem, *result.mapping));
  result.lower_bound = result.cost->objective;
  result.stats = {.nodes = 3, .time = Seconds(0.25), .threads = 2};
  return result;
}

nlohmann::json parsed(const Outcome& outcome) {
  return nlohmann::json::parse(result_json(outcome));
}

std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

}  // namespace

TEST_CASE("a result has the values of the cost, in base units") {
  const Problem problem = example_problem();
  const SearchResult result = optimal_result(problem);
  const nlohmann::json json = parsed(Outcome::of(problem, result));
  CHECK(json["status"] == "optimal");
  CHECK(json["stopped_by"].is_null());
  CHECK(json["step_time"].get<double>() == result.cost->step_time.in_base_units());
  CHECK(json["objective"] == json["step_time"]);
  CHECK(json["lower_bound"] == json["step_time"]);
  CHECK(json["gap"] == 0);
  CHECK(json["parallelism"] == nlohmann::json{{"tensor", 2}, {"pipeline", 2}, {"data", 1}});
  CHECK(json["network"][1] == nlohmann::json{{"degree", 2}, {"strategy", "pipeline"}});
  CHECK(json["sharding"] == nlohmann::json{{"A", "M"}, {"B", "M"}, {"C", "K"}});
  CHECK(json["memory"]["capacity"] == 1e9);
  CHECK(json["search"]["nodes"] == 3);
  CHECK(json["search"]["time"] == 0.25);
  CHECK(json["infeasible"].is_null());
}

TEST_CASE("partitions keep their index and say who uses which cores") {
  const Problem problem = example_problem();
  const SearchResult result = optimal_result(problem);
  const nlohmann::json json = parsed(Outcome::of(problem, result));
  REQUIRE(json["partitions"].size() == 2);
  const nlohmann::json& last = json["partitions"][1];
  CHECK(last["index"] == 2);
  CHECK(last["kernels"] == nlohmann::json{"B", "C"});
  const CoreGrid& grid = result.cost->cores[2];
  CHECK(last["cores"]["C"] == nlohmann::json{grid.lanes, grid.stages});
  CHECK(last["time"].get<double>() == result.cost->partitions[1].time.in_base_units());

  Problem at_utilization = problem;
  at_utilization.execution.compute_utilization = 0.9;
  const auto verdict = evaluate(at_utilization, example_mapping());
  const nlohmann::json without = parsed(Outcome::of(at_utilization, example_mapping(), verdict));
  CHECK(without["partitions"][1]["cores"] == nlohmann::json::object());
}

TEST_CASE("the best parallelisms are listed, the best first") {
  const Problem problem = example_problem();
  SearchResult result = optimal_result(problem);
  BestMapping next = result;
  next.status = SearchStatus::Feasible;
  next.stopped_by = StopReason::Nodes;
  next.lower_bound = result.lower_bound * 0.5;
  next.gap = 0.5;
  BestMapping unknown;
  unknown.stopped_by = StopReason::Nodes;
  unknown.lower_bound = Score(1.0);
  result.alternatives = {next, unknown};
  const nlohmann::json top = parsed(Outcome::of(problem, result))["top"];
  REQUIRE(top.size() == 3);
  CHECK(keys_of(top[0]) == keys_of(top[2]));
  CHECK(top[0]["objective"] == top[0]["lower_bound"]);
  CHECK(top[0]["parallelism"] == nlohmann::json{{"tensor", 2}, {"pipeline", 2}, {"data", 1}});
  CHECK(top[1]["status"] == "feasible");
  CHECK(top[1]["stopped_by"] == "nodes");
  CHECK(top[1]["gap"] == 0.5);
  CHECK(top[2]["status"] == "no_solution");
  CHECK(top[2]["objective"].is_null());
  CHECK(top[2]["lower_bound"] == 1.0);
}

TEST_CASE("a mapping that does not fit is written with the reason and without times") {
  Problem problem = example_problem();
  problem.system.accelerator.sram = Bytes(1000.0);
  const Mapping mapping = example_mapping();
  const auto verdict = evaluate(problem, mapping);
  const nlohmann::json json = parsed(Outcome::of(problem, mapping, verdict));
  CHECK(json["status"] == "infeasible");
  CHECK(json["infeasible"]["resource"] == "sram");
  CHECK(json["partitions"][0]["kernels"] == nlohmann::json{"A"});
  CHECK(json["partitions"][0]["time"].is_null());
}

TEST_CASE("unlimited memory is null") {
  Problem problem = example_problem();
  problem.system.memory[0].capacity = Bytes::infinity();
  const SearchResult result = optimal_result(problem);
  CHECK(parsed(Outcome::of(problem, result))["memory"]["capacity"].is_null());
}

}  // namespace dfsearch
