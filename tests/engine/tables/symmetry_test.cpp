// Exchangeable kernels: which are found, and which ideals they make of each other.

#include "engine/tables/symmetry.hpp"

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/solve.hpp"
#include "model/layer/sharding.hpp"
#include "support/brute_force.hpp"
#include "support/model_worlds.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

using test::elementwise;
using test::tensor;
using test::weight_gemm;
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

Pairs pairs_of(const Problem& problem) {
  return exchangeable_kernels(problem, loop_sets(least_bytes_sharding(problem)));
}

KernelOrder order_of(const Problem& problem) {
  return KernelOrder(problem.workload.graph,
                     find_exchanges(problem, loop_sets(least_bytes_sharding(problem))));
}

Problem problem_of(std::vector<Kernel> kernels, std::vector<Tensor> tensors) {
  Problem problem = test::idle_problem(1);
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  return problem;
}

/// A router, three experts of two GEMMs each, a sum: kernels 1, 3, 5 and 2, 4, 6
/// are the first and second GEMMs.
std::vector<Kernel> expert_kernels() {
  std::vector<Kernel> kernels{elementwise("route", 4, 4)};
  for (const char expert : {'x', 'y', 'z'}) {
    kernels.push_back(weight_gemm(std::string(1, expert) + "1", 8, 4, 4));
    kernels.push_back(weight_gemm(std::string(1, expert) + "2", 4, 8, 4));
  }
  kernels.push_back(elementwise("sum", 4, 4));
  return kernels;
}

std::vector<Tensor> expert_tensors() {
  std::vector<Tensor> tensors;
  for (const std::size_t first : {1U, 3U, 5U}) {
    tensors.push_back(tensor(0, first));
    tensors.push_back(tensor(first, first + 1));
    tensors.push_back(tensor(first + 1, 7));
  }
  return tensors;
}

}  // namespace

TEST_CASE("each expert is exchanged with the next, of which the first kernels are known") {
  CHECK(pairs_of(problem_of(expert_kernels(), expert_tensors())) == Pairs{{1, 3}, {3, 5}});
}

TEST_CASE("the order has the exchanges of kernels that are alike") {
  const Problem problem = problem_of(expert_kernels(), expert_tensors());
  const KernelOrder order = order_of(problem);
  for (std::size_t k = 0; k < 8; ++k) REQUIRE(order.position(KernelId(k)) == k);
  CHECK(order.exchanges() == std::vector{KernelPairs{{1, 3}, {2, 4}}, KernelPairs{{3, 5}, {4, 6}}});
  CHECK_FALSE(order.descendants()[1].contains(3));
  CHECK(order.descendants()[1].contains(7));
  const KernelOrder plain(problem.workload.graph);
  CHECK(plain.exchanges().empty());
  CHECK(plain.descendants() == order.descendants());
}

TEST_CASE("ideals that exchanges make of each other have one representative") {
  const Problem problem = problem_of(expert_kernels(), expert_tensors());
  const KernelOrder order = order_of(problem);
  const auto set_of = [](unsigned mask) {
    KernelSet set(8);
    for (std::size_t p = 0; p < 8; ++p) {
      if ((mask >> p & 1U) != 0) set.insert(p);
    }
    return set;
  };
  int moved = 0;
  for (unsigned mask = 0; mask < 256; ++mask) {
    CAPTURE(mask);
    const KernelSet ideal = set_of(mask);
    const KernelSet representative = order.representative(ideal);
    CHECK(order.representative(representative) == representative);
    for (const KernelPairs& exchange : order.exchanges()) {
      KernelSet image = ideal;
      for (const auto& [a, b] : exchange) {
        image.erase(a);
        image.erase(b);
        if (ideal.contains(a)) image.insert(b);
        if (ideal.contains(b)) image.insert(a);
      }
      moved += !(image == ideal);
      CHECK(order.representative(image) == representative);
    }
  }
  CHECK(moved > 100);
  // The first and the third expert have begun, of the second nothing is done.
  CHECK(order.representative(set_of(0b0010'0011)) == set_of(0b0000'1011));
}

}  // namespace dfsearch
