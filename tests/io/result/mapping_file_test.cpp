// Mappings that are written are read back.  Wrong files are in
// tests/cli/transcripts/mappings.txt.

#include "io/result/answer_files.hpp"

#include <doctest/doctest.h>

#include <random>

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
}

TEST_CASE("cores of the file give way to a given utilization") {
  Problem problem = example_problem();
  const std::string text = written(problem, example_mapping());
  problem.execution.compute_utilization = 0.9;
  CHECK(parse_mapping(text, "m.json", problem).cores.empty());
}

}  // namespace dfsearch
