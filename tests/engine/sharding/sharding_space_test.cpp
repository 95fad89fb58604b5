#include "engine/sharding/sharding_space.hpp"

#include <doctest/doctest.h>

#include <optional>

#include "engine/solve.hpp"
#include "support/brute_force.hpp"
#include "support/model_worlds.hpp"
#include "support/same_answer.hpp"

namespace dfsearch {
namespace {

/// A GEMM that splits its columns over four chips and two kernels that read them: the first on
/// no loop, so it gathers them, the second on none or on its rows.  `value` is the number of both
/// tensors.
Problem two_readers(std::int32_t value) {
  Kernel producer = test::weight_gemm("producer", 8, 6, 8);
  producer.tiled = Loop::None;
  std::vector<Tensor> tensors{test::tensor(0, 1), test::tensor(0, 2)};
  for (Tensor& tensor : tensors) tensor.value = value;
  Problem problem = test::idle_problem(1);
  problem.workload.graph = DataflowGraph(
      {producer, test::elementwise("first", 8, 8), test::elementwise("second", 8, 8)}, tensors);
  problem.workload.word = Bytes(2.0);
  problem.system.network = {test::dimension(Topology::Ring, 4, 1e-3)};
  problem.system.chips = 4;
  problem.sharding = ShardingChoice::Joint;
  problem.sharding_pins = {Loop::N, Loop::None, std::nullopt};
  return problem;
}

LoopSet left_of_second(const Problem& problem) {
  const ShardingSpace space(problem);
  LoopSets sets = space.all();
  const LayerDecisions decisions{.network = test::network_of(problem.system), .sharding = sets};
  CoreOptionsCache cache;
  space.drop_dominated(decisions, sets, cache);
  return sets[2];
}

}  // namespace

TEST_CASE("a loop is dominated if it takes more compute and a dearer conversion") {
  LoopSet expected(Loop::M);
  CHECK(left_of_second(two_readers(-1)) == expected);
}

TEST_CASE("a dearer conversion that is paid for another reader is none") {
  const Problem problem = two_readers(0);
  LoopSet expected(Loop::None);
  expected.insert(Loop::M);
  CHECK(left_of_second(problem) == expected);
  // The network is slow: to exchange columns for rows beside gathering them takes longer.
  const auto best = test::brute_force(problem);
  REQUIRE(best.mapping.has_value());
  CHECK(best.mapping->sharding[2] == Loop::None);
  test::check_same(solve(problem, {.threads = 1}), best);
}

}  // namespace dfsearch
