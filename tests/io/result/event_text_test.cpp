#include "io/result/event_text.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "io/example_problem.hpp"
#include "io/result/result_json.hpp"

namespace dfsearch {
namespace {

/// The object on the line, which must be one.
nlohmann::json parsed(const std::string& line) {
  REQUIRE(line.ends_with('\n'));
  REQUIRE(line.find('\n') == line.size() - 1);
  return nlohmann::json::parse(line);
}

}  // namespace

TEST_CASE("every event is one line with its kind and its time") {
  const SearchSubject subject{.workload = "graph", .kernels = 3, .tensors = 2, .chips = 4};
  const SearchStats stats{.nodes = 5, .time = Seconds(2.5)};
  SearchResult result;
  result.stats = stats;
  for (const std::string& line :
       {start_event(subject, "a\nb.yaml", 2, stats), progress_event({.time = Seconds(2.5)}),
        incumbent_event({.time = Seconds(2.5)}, {decisions_json(example_mapping())}),
        checkpoint_event(stats, "x.ck", 7, 100), stop_event(stats.time, StopReason::Signal),
        done_event(result, std::nullopt, result.stats)}) {
    const auto event = parsed(line);
    CHECK(event["event"].is_string());
    CHECK(event["time"] == 2.5);
  }
  const auto start = parsed(start_event(subject, "a.yaml", 2, stats));
  CHECK(start["config"] == "a.yaml");
  CHECK(start["kernels"] == 3);
  CHECK(start["nodes"] == 5);
  CHECK(parsed(stop_event(stats.time, StopReason::Signal))["reason"] == "signal");
}

TEST_CASE("the gap is a number once there is an incumbent, and null before") {
  Progress progress{.time = Seconds(1.0), .nodes = 10, .open = 3, .lower_bound = Score(1.5)};
  auto event = parsed(progress_event(progress));
  CHECK(event["objective"].is_null());
  CHECK(event["gap"].is_null());
  CHECK(event["found_by"].is_null());
  progress.incumbent = Score(2.0);
  progress.found_by = 'S';
  event = parsed(progress_event(progress));
  CHECK(event["objective"] == 2.0);
  CHECK(event["lower_bound"] == 1.5);
  CHECK(event["gap"] == 0.25);
  CHECK(event["found_by"] == "S");
  CHECK(event["rank"] == 1);
  progress.lower_bound = Score(0.0);
  CHECK(parsed(progress_event(progress))["gap"] == 1.0);
}

TEST_CASE("a better mapping comes with its parallelism") {
  const auto event = parsed(
      incumbent_event({.incumbent = Score(2.0), .rank = 2}, {decisions_json(example_mapping())}));
  CHECK(event["rank"] == 2);
  CHECK(event["parallelism"]["tensor"] == 2);
  CHECK(event["network"].size() == example_mapping().network.size());
  CHECK(event["tile"] == example_mapping().tile);
}

}  // namespace dfsearch
