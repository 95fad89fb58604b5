// Overrides that replace the machine of a config together with the machine's dependent keys.

#include <doctest/doctest.h>

#include <string>

#include "io/config/plan_configs.hpp"

namespace dfsearch {
namespace {

using test::message;
using test::Overrides;

constexpr const char* kRated = R"(workload: {model: llama3_8b, global_batch: 128}
system: {from: h100_dgx, chips: 64}
execution: {efficiency: h100}
training: {}
)";
constexpr const char* kMeasured = R"(workload: {model: llama3_8b, global_batch: 128}
system: {from: h100_dgx, chips: 64}
execution: {stack: te, chip: h100_80gb}
training: {}
)";
constexpr const char* kServed =
    R"(workload: {kind: llm_serving, model: llama3_8b, input: 2000, output: 500}
serving:
  pools:
    - {name: h100, chips: 16, system: {from: h100_dgx, peak: {bf16: 989 TFLOP/s}, engine: vllm_h100}}
  objective: throughput
)";

std::int64_t chips_of(const char* text, const Overrides& overrides) {
  return test::config_of(text, overrides).task.machine.chips;
}

TEST_CASE("rates of a chip do not stay with another one") {
  for (const std::string change : {R"(system={"from": "mi300x"})", "system.from=mi300x"}) {
    CAPTURE(change);
    CHECK(message(kRated, {change}) ==
          "--set " + change +
              ": system: these are other chips than those of the config, whose rates are in "
              "'execution.efficiency' at c.yaml:3:25; expected --set execution.efficiency=... with "
              "rates of the new chips, or --set execution.efficiency=null for their peaks");
    CHECK(message(kMeasured, {change}) ==
          "--set " + change +
              ": system: these are other chips than those of the config, whose rates are in "
              "'execution.chip' at c.yaml:3:30; expected --set execution.chip=... with rates of "
              "the new chips, or --set execution=null for their peaks");
    // Whoever names rates as well is believed.
    for (const char* rates : {"execution.efficiency=a100", "execution.efficiency=null",
                              "execution={compute_utilization: 0.5}"}) {
      CHECK(message(kRated, {change, rates}) == "accepted");
    }
    for (const char* rates :
         {"execution.chip=b200", "execution.chip={from: b200}", "execution=null"}) {
      CHECK(message(kMeasured, {change, rates}) == "accepted");
    }
  }
}

TEST_CASE("rates stay with the same chips in another network") {
  for (const char* text : {kRated, kMeasured}) {
    CHECK(message(text, {"system={from: h100_rail_only}"}) == "accepted");
    CHECK(message(text, {"system={from: h100_dgx, chips: 32}"}) == "accepted");
    CHECK(message(text, {"system.chips=32"}) == "accepted");
  }
}

TEST_CASE("a machine in place of another has as many chips") {
  const Overrides free = {"execution=null"};
  const auto with = [&](const std::string& change) { return Overrides{"execution=null", change}; };
  CHECK(chips_of(kRated, with("system={from: mi300x}")) == 64);
  CHECK(chips_of(kRated, with("system.from=mi300x")) == 64);
  CHECK(chips_of(kRated, with("system={from: mi300x, chips: 32}")) == 32);
  CHECK(chips_of(kRated, {"execution=null", "system={from: mi300x}", "system.chips=128"}) == 128);
  // A file that says how many chips there are.
  CHECK(chips_of(kRated, with("system={from: sn10_8x1_ring}")) == 8);
  CHECK(chips_of(kRated, free) == 64);
}

TEST_CASE("a pool keeps no engine and no peak of other chips") {
  REQUIRE(message(kServed) == "accepted");
  const std::string change = "serving.pools.0.system.from=mi300x";
  const std::string wrong = message(kServed, {change});
  CAPTURE(wrong);
  CHECK(wrong.find("--set " + change +
                   ": system: these are other chips than those of the config, whose rates are in "
                   "'serving.pools.0.system.engine' at c.yaml:") != std::string::npos);
  CHECK(wrong.find("'serving.pools.0.system.peak' at") != std::string::npos);
  CHECK(message(kServed, {change, "serving.pools.0.system.engine=typical",
                          "serving.pools.0.system.peak=null"}) == "accepted");
  CHECK(message(kServed, {"serving.pools.0.system.from=h100_rail_only"}) == "accepted");
  CHECK(message(kServed, {"serving.pools.0.system={from: mi300x}"}) == "accepted");
  CHECK(message(kServed, {"system={from: mi300x}"}) ==
        "--set system={from: mi300x}: system: not allowed in a deployment, in which each pool has "
        "a system; --set serving.pools.0.system=NAME sets that of the first pool");
}

}  // namespace
}  // namespace dfsearch
