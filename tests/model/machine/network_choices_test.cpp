#include "model/machine/network_choices.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace dfsearch {
namespace {

Problem problem_with(std::int64_t chips, std::vector<NetworkDimension> network) {
  Problem problem;
  problem.system.chips = chips;
  problem.system.network = std::move(network);
  problem.workload.global_batch = 1024;
  return problem;
}

NetworkDimension free_dimension(Topology topology, double bandwidth = 1.0) {
  return {.topology = topology,
          .degree = std::nullopt,
          .bandwidth = BytesPerSecond(bandwidth),
          .strategy = std::nullopt};
}

}  // namespace

TEST_CASE("a system without a network has one choice, the empty one") {
  CHECK(network_choices(problem_with(1, {})) == std::vector<NetworkChoice>{{}});
}

TEST_CASE("one free dimension serves each strategy in turn") {
  const auto choices = network_choices(problem_with(8, {free_dimension(Topology::Ring)}));
  CHECK(choices == std::vector<NetworkChoice>{{{.degree = 8, .strategy = Strategy::Tensor}},
                                              {{.degree = 8, .strategy = Strategy::Pipeline}},
                                              {{.degree = 8, .strategy = Strategy::Data}}});
}

TEST_CASE("two free dimensions take every ordered factorization and every pair of strategies") {
  // 8 = 1*8 = 2*4 = 4*2 = 8*1, times 3 * 3 strategies.
  const auto choices = network_choices(
      problem_with(8, {free_dimension(Topology::Switch), free_dimension(Topology::Ring)}));
  CHECK(choices.size() == 36);
  CHECK(std::is_sorted(choices.begin(), choices.end()));
  CHECK(std::adjacent_find(choices.begin(), choices.end()) == choices.end());
}

TEST_CASE("two free rings that are alike appear in one order") {
  const auto ring = [](double bandwidth) { return free_dimension(Topology::Ring, bandwidth); };
  // 1*8 and 2*4 only, times 9.
  CHECK(network_choices(problem_with(8, {ring(1.0), ring(1.0)})).size() == 18);
  // 1*4 times 9, and 2*2 with an unordered pair of strategies: 6.
  CHECK(network_choices(problem_with(4, {ring(1.0), ring(1.0)})).size() == 15);
  CHECK(network_choices(problem_with(8, {ring(1.0), ring(2.0)})).size() == 36);
  Problem priced = problem_with(8, {ring(1.0), ring(1.0)});
  priced.system.price.link = {DollarsPerBandwidth(1.0), DollarsPerBandwidth(2.0)};
  CHECK(network_choices(priced).size() == 36);
}

TEST_CASE("what the system gives is kept") {
  Problem problem =
      problem_with(8, {free_dimension(Topology::Switch), free_dimension(Topology::Ring)});
  problem.system.network[0].degree = 2;
  CHECK(network_choices(problem).size() == 9);
  problem.system.network[1].strategy = Strategy::Data;
  CHECK(network_choices(problem).size() == 3);
  problem.system.network[0].degree = 3;
  CHECK(network_choices(problem).empty());
}

TEST_CASE("the data degree divides the batch and parallelism holds for products of dimensions") {
  Problem problem =
      problem_with(8, {free_dimension(Topology::Switch), free_dimension(Topology::Ring)});
  problem.workload.global_batch = 2;
  for (const NetworkChoice& choice : network_choices(problem)) {
    std::int64_t data = 1;
    for (const auto& d : choice) data *= d.strategy == Strategy::Data ? d.degree : 1;
    CHECK(data <= 2);
  }
  problem.workload.global_batch = 1024;
  problem.parallelism[static_cast<std::size_t>(Strategy::Tensor)].values = {8};
  // Two tensor dimensions in four factorizations; 1*8 and 8*1 with the 1 for another strategy.
  CHECK(network_choices(problem).size() == 8);
  problem.parallelism[static_cast<std::size_t>(Strategy::Tensor)] = {.most = 1};
  problem.parallelism[static_cast<std::size_t>(Strategy::Pipeline)] = {.least = 8};
  // Pipeline 8: alone, or in two dimensions, or beside a dimension of 1.
  CHECK(network_choices(problem).size() == 8);
}

TEST_CASE("a network is allowed if it has the shape, the degrees and the chips") {
  const Problem problem = problem_with(8, {free_dimension(Topology::Ring)});
  CHECK(allows(problem, {{.degree = 8, .strategy = Strategy::Data}}));
  CHECK_FALSE(allows(problem, {{.degree = 4, .strategy = Strategy::Data}}));
  CHECK_FALSE(allows(problem, {{.degree = -8, .strategy = Strategy::Data}}));
  CHECK_FALSE(allows(problem, {}));
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK_FALSE(allows(problem_with(1, {{}, {}}), {{.degree = huge}, {.degree = huge}}));
}

}  // namespace dfsearch
