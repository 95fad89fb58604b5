// Reports of plans where the words depend on the machine and on how the search ended.  The whole
// report of a config is on docs/results.md, which a test compares.

#include "io/report/report.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "io/config/load_config.hpp"
#include "io/result/result_json.hpp"
#include "io/text/json_text.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
namespace {

constexpr const char* kConfig = R"(
workload: {kind: llm_training, hidden: 64, heads: 4, head_dim: 16, vocabulary: 512, sequence: 32,
           layers: 12, global_batch: 64}
system:
  chips: 16
  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}
  memory: {bandwidth: 1 TB/s, capacity: 80 GB}
  network:
    - {topology: switch, degree: 8, bandwidth: 300 GB/s, latency: 5 us}
    - {topology: ring, bandwidth: 25 GB/s}
training: {}
)";

struct Solved {
  training::Task task;
  training::PlanResult result;

  [[nodiscard]] std::string report() const { return text_of(report_text(task, result, "example")); }
  [[nodiscard]] Json json() const { return Json::parse(result_json(task, result)); }
};

Solved solve(const std::vector<std::string>& overrides, StepSearch search = {}) {
  Solved solved{
      .task = std::get<TrainingConfig>(parse_any_config(kConfig, "c.yaml", overrides)).task,
      .result = {}};
  solved.result = training::find_plan(solved.task, search);
  return solved;
}

/// Lines joined, so that it does not matter where they are broken.
std::string flat(const std::string& text) {
  std::string joined;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n';
    if (!is_space || joined.empty() || joined.back() != ' ') joined += is_space ? ' ' : c;
  }
  return joined;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void check_width(const std::string& report) {
  std::size_t begin = 0;
  for (std::size_t end = report.find('\n'); end != std::string::npos;
       end = report.find('\n', begin)) {
    CHECK(end - begin <= kReportWidth);
    begin = end + 1;
  }
}

TEST_CASE("a machine of one chip has no network, and its stage is no stage among others") {
  const Solved one = solve({"system.chips=1", "system.network=null"});
  const std::string text = one.report();
  CAPTURE(text);
  CHECK(contains(text, "\nmachine       1 chip of 32 GFLOP/s, 80 GB memory at 1 TB/s\n"));
  CHECK(contains(text, "\nparallelism   tensor 1, pipeline 1, data 1\n"));
  CHECK_FALSE(contains(text, "\nnetwork "));
  CHECK(contains(text, "\nlayout        whole on every chip\n"));
  CHECK(contains(text, "\nlayers        12 in one stage\n"));
  CHECK(contains(text, "\ntime of the step\n"));
  CHECK(contains(text, "\nmemory of a chip: "));
  CHECK_FALSE(contains(text, "offloaded"));
  check_width(text);
  CHECK(one.json()["network"] == Json::array());
}

TEST_CASE("unlimited memory is called so, and no share of it is in use") {
  const Solved solved = solve({"system.memory.capacity=null"});
  const std::string text = solved.report();
  CAPTURE(text);
  CHECK(contains(text, "16 chips of 32 GFLOP/s, unlimited memory at 1 TB/s; switch of 8 at"));
  CHECK_FALSE(contains(text, "inf"));
  CHECK_FALSE(contains(text, " of unlimited"));
}

TEST_CASE("a machine with prices and powers costs and draws what that of a mapping does") {
  const Solved solved = solve({"price={accelerator: 10}", "power={accelerator: 2}"});
  const std::string text = solved.report();
  CAPTURE(text);
  CHECK(contains(text, "\nprice         160 $; "));
  CHECK(contains(text, "\npower         32 W; "));
  CHECK(solved.json()["price"] == 160.0);
  CHECK(solved.json()["power"] == 32.0);
  const double achieved = solved.json()["utilization"].get<double>() * 16 * 32e9;
  CHECK(solved.json()["cost_efficiency"].get<double>() == doctest::Approx(achieved / 160.0));
  const Solved linked = solve({"price={link: [2, 3], switch: 5}"});
  // 16 links and ports of 300 GB/s, 16 links and 2 * 16 / 2 ports of 25 GB/s.
  CHECK(linked.json()["price"].get<double>() ==
        doctest::Approx(16 * 300 * (2 + 5) + 16 * 25 * (3 + 5)));
  CHECK_FALSE(contains(solve({}).report(), "price"));
}

TEST_CASE("of a layout of the front it is told what is kept whole and what is gathered again") {
  const auto layout_of = [](const std::string& layout) {
    const Solved solved = solve({"parallelism={tensor: 4, pipeline: 1}",
                                 "training={recompute: none, layout: " + layout + "}"});
    CHECK(solved.json()["plan"]["layout"] == layout);
    const std::string text = flat(solved.report());
    const std::size_t at = text.find("layout " + layout);
    REQUIRE(at != std::string::npos);
    return text.substr(at + 7, text.find(" schedule", at) - at - 7);
  };
  CHECK(layout_of("front_1") ==
        "front_1: NORM_1 and NORM_2 kept whole on every tensor rank, nothing gathered again");
  CHECK(layout_of("front_2") ==
        "front_2: NORM_2 kept whole on every tensor rank, NORM_1 gathered again");
  CHECK(layout_of("front_3") ==
        "front_3: nothing kept whole on every tensor rank, NORM_1 and NORM_2 gathered again");
  CHECK(solve({"parallelism={tensor: 4}", "training={layout: front_16}"}).result.status ==
        SearchStatus::Infeasible);
}

TEST_CASE("roles, stages and offloading of a plan are told") {
  const Solved solved =
      solve({"workload.experts={count: 4, used: 2, mlp: 64}",
             "system.memory.second={capacity: 1 TB, bandwidth: 32 GB/s}",
             "parallelism={tensor: 2, context: 1, pipeline: 2, data: 4, expert: 2}",
             "training={layers: [7, 5], offload: [weights, optimizer], zero: 1, recompute: full, "
             "layout: least_kept, schedule: zb_h1}",
             "workload.micro_batch=4"});
  const std::string text = solved.report();
  CAPTURE(text);
  for (const char* line :
       {"parallelism   tensor 2, pipeline 2, data 4 of which expert 2\n",
        "batch         global 64, 4 micro-batches of 4 samples for each replica\n",
        "layout        least_kept: norms and sums split among the tensor ranks, as in sequence "
        "parallelism\n",
        "schedule      zb_h1\n", "layers        7 in one stage, then 5 in one stage\n",
        "recompute     full\n", "ZeRO          1\n", "offloaded     weights, optimizer\n",
        "time of the step, on stage ", "memory of a chip of stage ", "\n  second memory: "}) {
    CAPTURE(line);
    CHECK(contains(text, line));
  }
  CHECK(contains(flat(text), "sequence 32, 4 experts of which a token uses 2 model"));
  check_width(text);
  const Json json = solved.json();
  CHECK(json["parallelism"] ==
        Json({{"tensor", 2}, {"context", 1}, {"expert", 2}, {"pipeline", 2}, {"data", 4}}));
  CHECK(json["micro_batch"] == 4);
  CHECK(json["plan"] == Json::parse(R"({"layout": "least_kept", "recompute": "full", "zero": 1,
      "schedule": "zb_h1", "chunks": 1, "offload": ["weights", "optimizer"], "layers": [7, 5]})"));
  // The roles of the dimensions multiply to their degrees; data there is without expert.
  std::int64_t chips = 1;
  for (const Json& dimension : json["network"]) {
    for (const Json& degree : dimension) chips *= degree.get<std::int64_t>();
  }
  CHECK(chips == 16);
}

TEST_CASE("a remedy is enough by itself") {
  // Weights, gradients and optimizer of all layers on every chip, but for what is left open.
  const std::vector<std::string> given = {
      "system.memory.capacity=9 MB", "parallelism={tensor: 1, context: 1, pipeline: 1, data: 16}",
      "training={zero: 0, recompute: none}", "workload.micro_batch=4"};
  const Solved solved = solve(given);
  REQUIRE(solved.result.misfit.has_value());
  const std::string text = solved.report();
  CAPTURE(text);
  CHECK(contains(text, "reason        a chip needs "));
  const Json remedies = solved.json()["infeasible"]["remedies"];
  REQUIRE_FALSE(remedies.empty());
  for (const Json& remedy : remedies) {
    const std::string key = remedy["key"];
    CAPTURE(key);
    std::vector<std::string> overrides = given;
    if (key == "micro_batch") {
      overrides.push_back("workload.micro_batch=null");
    } else if (key == "zero" || key == "recompute") {
      overrides.push_back("training." + key + "=null");
    } else {
      overrides.push_back("parallelism." + key + "=null");
      overrides.push_back("parallelism.data=null");  // what the other degrees leave
    }
    CHECK(solve(overrides).result.status == SearchStatus::Optimal);
    CHECK(remedy["needed"].get<double>() <= 9e6);
  }
}

TEST_CASE("the best of other parallelisms are listed") {
  StepSearch search;
  search.top = 3;
  const Solved solved = solve({}, search);
  const std::string text = solved.report();
  CAPTURE(text);
  CHECK(contains(text, "\n#2            "));
  CHECK(contains(text, "\n#3            "));
  CHECK(contains(text, "; optimal\n"));
  search.top = 1000;
  const Solved all = solve({"parallelism={tensor: 1, context: 1}"}, search);
  CHECK(contains(all.report(), "              no plan with other degrees fits\n"));
  CHECK(all.json()["top_complete"] == true);
}

}  // namespace
}  // namespace dfsearch
