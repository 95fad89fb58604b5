#include "io/result/answer_files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "base/error.hpp"
#include "io/example_problem.hpp"
#include "io/result/result_json.hpp"
#include "model/layer/sharding.hpp"

namespace dfsearch {
namespace {

const char* const kWhole =
    "network: [{degree: 2, strategy: tensor}, {degree: 2, strategy: pipeline}]\n"
    "micro_batch: 2\n"
    "tile: 16\n"
    "partitions: [{kernels: [A]}, {index: 2, kernels: [B, C]}]\n"
    "sharding: {A: M, B: M, C: K}\n";

/// The complaints of parse_mapping, one message a line.
std::string complaint(const std::string& text, const Problem& problem = example_problem()) {
  try {
    parse_mapping(text, "m.yaml", problem);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string written(const Problem& problem, const Mapping& mapping) {
  const auto verdict = evaluate(problem, mapping);
  return result_json(Outcome::of(problem, mapping, verdict));
}

}  // namespace

TEST_CASE("a mapping in YAML is read, empty partitions included") {
  CHECK(parse_mapping(kWhole, "m.yaml", example_problem()) == example_mapping());
}

TEST_CASE("what was written reads back, with the cores that were allocated") {
  const Problem problem = example_problem();
  const Mapping mapping = example_mapping();
  const Mapping read = parse_mapping(written(problem, mapping), "m.json", problem);
  const Cost first = std::get<Cost>(evaluate(problem, mapping));
  CHECK(read.cores == first.cores);
  CHECK(std::get<Cost>(evaluate(problem, read)).step_time == first.step_time);
  Mapping expected = mapping;
  expected.cores = first.cores;
  CHECK(read == expected);
  CHECK(parse_mapping(written(problem, read), "m.json", problem) == read);
}

TEST_CASE("mappings read back whatever the partitions are") {
  Problem problem = example_problem();
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    problem.tensor_axes = 1 + round % 2;
    const std::size_t pairs = problem.tensor_axes == 2 ? kLoopPairs : kLoops;
    Mapping mapping = example_mapping();
    for (std::int64_t& p : mapping.partition) p = static_cast<std::int64_t>(random() % 5);
    for (LoopPair& loop : mapping.sharding) loop = LoopPair::at(random() % pairs);
    for (int k = 0; k < 3; ++k) {
      mapping.cores.push_back({.lanes = 1 + static_cast<std::int64_t>(random() % 4), .stages = 2});
    }
    CHECK(parse_mapping(written(problem, mapping), "m.json", problem) == mapping);
  }
}

TEST_CASE("what the config says may be left out") {
  const Problem problem = example_problem();
  const Mapping mapping =
      parse_mapping("partitions: [{kernels: [A, B]}, {kernels: [C]}]", "m.yaml", problem);
  CHECK(mapping.network == example_mapping().network);
  CHECK(mapping.micro_batch == 2);
  CHECK(mapping.tile == 16);
  CHECK(mapping.partition == std::vector<std::int64_t>{0, 0, 1});
  CHECK(mapping.sharding == least_bytes_sharding(problem));
  CHECK(mapping.cores.empty());

  Problem open = problem;
  open.workload.tile.reset();
  CHECK(complaint("partitions: [{kernels: [A, B, C]}]", open).find("missing key 'tile'") !=
        std::string::npos);
}

TEST_CASE("cores of the file give way to a given utilization") {
  Problem problem = example_problem();
  const std::string text = written(problem, example_mapping());
  problem.execution.compute_utilization = 0.9;
  CHECK(parse_mapping(text, "m.json", problem).cores.empty());
}

TEST_CASE("wrong mappings are refused with the place and what was expected") {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& wrong : {
           Case{"", "m.yaml:1:1: expected a map, got nothing"},
           Case{"[1, 2]", "m.yaml:1:1: expected a map, got a list"},
           Case{"partitions: [{kernels: [A, B, D]}]",
                "m.yaml:1:31: kernels: the workload has no kernel 'D'"},
           Case{"partitions: [{kernels: [A, B]}]", "m.yaml:1:1: partitions: in no partition: C"},
           Case{"partitions: [{kernels: [A, B, C, A]}]", "m.yaml:1:34: kernels: 'A' stands twice"},
           Case{"partitions: [{index: 3, kernels: [A]}, {index: 2, kernels: [B, C]}]",
                "index: expected a whole number from 4"},
           Case{"partitions: [{kernel: [A]}]", "did you mean 'kernels'?"},
           Case{"partition: []", "did you mean 'partitions'?"},
           Case{"partitions: {A: 0}", "expected a list of {kernels: [...]}, got a map"},
           Case{"partitions: [A]", "partitions.0: expected a map, got 'A'"},
           Case{"status: infeasible\npartitions: null",
                "the file holds no mapping, its status is 'infeasible'"},
           Case{"partitions: [{kernels: [A, B, C]}]\nsharding: {A: M}",
                "m.yaml:2:1: sharding: without a loop: B, C"},
           Case{"partitions: [{kernels: [A, B, C]}]\nsharding: {A: m, B: M, C: K}",
                "m.yaml:2:15: A: expected outer, M, K, N or none, got 'm'"},
           Case{"partitions: [{kernels: [A, B, C], cores: {A: [1, 1]}}]",
                "without cores, though others have some: B, C"},
           Case{"partitions: [{kernels: [A, B, C], cores: {A: 3}}]", "expected [lanes, stages]"},
           Case{"partitions: [{kernels: [A], cores: {B: [1, 1]}}, {kernels: [B, C]}]",
                "'B' is not of this partition"},
           Case{"partitions: [{kernels: [A, B, C]}]\ntile: 0", "m.yaml:2:7: tile: expected"},
           Case{"partitions: [{kernels: [A, B, C]}]\nnetwork: []", "expected a list of 2"},
           Case{"partitions: [{kernels: [A, B, C]}]\nnetwork: [{degree: 4}, {strategy: data}]",
                "degree: expected 2 as in the config, got 4"},
           Case{"partitions: [{kernels: [A, B, C]}]\nnetwork: [{degree: 2}, {strategy: data}]",
                "strategy: expected pipeline as in the config, got data"},
           Case{"partitions: [{kernels: [A, B, C]}]\nparallelism: {tensor: 8}",
                "tensor: expected 2 as in the config, got 8"},
           Case{"partitions: [{kernels: [A, B, C]]", "m.yaml:1:"},
       }) {
    CAPTURE(wrong.text);
    CHECK_MESSAGE(complaint(wrong.text).find(wrong.message) != std::string::npos,
                  complaint(wrong.text));
  }
}

TEST_CASE("degrees whose product has no place in 64 bits are only wrong") {
  Problem open = example_problem();
  for (NetworkDimension& dimension : open.system.network) {
    dimension.degree.reset();
    dimension.strategy.reset();
  }
  const std::string text = complaint(
      "partitions: [{kernels: [A, B, C]}]\nparallelism: {tensor: 2}\n"
      "network: [{degree: 1099511627775, strategy: tensor}, {degree: 2147483648, strategy: "
      "tensor}]",
      open);
  CHECK_MESSAGE(text.find("tensor: expected 9223372036854775807") != std::string::npos, text);
}

TEST_CASE("all that is wrong is reported at once") {
  const std::string text =
      complaint("tile: x\nmicro_batch: -1\npartitions: [{kernels: [A, B, D]}]");
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}

}  // namespace dfsearch
