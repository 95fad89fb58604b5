// Exchangeable kernels: which pairs are found, and that the search with them
// still finds the first of the best mappings.

#include "engine/tables/symmetry.hpp"

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/solve.hpp"
#include "model/layer/least_bytes_sharding.hpp"
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

Pairs pairs_of(const Problem& problem, const std::vector<Loop>& sharding) {
  Pairs pairs;
  for (const auto& [u, v] : find_symmetry(problem, loop_sets(sharding)).order) {
    pairs.emplace_back(u.index(), v.index());
  }
  return pairs;
}

Pairs pairs_of(const Problem& problem) { return pairs_of(problem, least_bytes_sharding(problem)); }

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

TEST_CASE("experts are ordered by their first kernels, each against the next") {
  CHECK(pairs_of(problem_of(expert_kernels(), expert_tensors())) == Pairs{{1, 3}, {3, 5}});
}

TEST_CASE("the order knows what is exchanged and which kernels are alike") {
  const Problem problem = problem_of(expert_kernels(), expert_tensors());
  const KernelOrder order(problem.workload.graph,
                          find_symmetry(problem, loop_sets(least_bytes_sharding(problem))));
  for (std::size_t k = 0; k < 8; ++k) REQUIRE(order.position(KernelId(k)) == k);
  using Exchange = KernelOrder::Exchange;
  CHECK(order.exchanges() == std::vector{Exchange{{1, 3}, {2, 4}}, Exchange{{3, 5}, {4, 6}}});
  CHECK(order.first_alike() == std::vector<std::size_t>{0, 1, 2, 1, 2, 1, 2, 7});
  // The first expert is before the second by the order of symmetry alone.
  CHECK(order.descendants()[1].contains(3));
  CHECK_FALSE(order.tensor_descendants()[1].contains(3));
  CHECK(order.tensor_descendants()[1].contains(7));
  const KernelOrder plain(problem.workload.graph);
  CHECK(plain.exchanges().empty());
  CHECK(plain.descendants() == order.tensor_descendants());
  CHECK(plain.tensor_descendants() == order.tensor_descendants());
}

TEST_CASE("by orbits, ideals that exchanges make of each other have one representative") {
  const Problem problem = problem_of(expert_kernels(), expert_tensors());
  Symmetry symmetry = find_symmetry(problem, loop_sets(least_bytes_sharding(problem)));
  symmetry.order.clear();
  symmetry.by_orbits = true;
  const KernelOrder order(problem.workload.graph, symmetry);
  REQUIRE(order.by_orbits());
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
    for (const KernelOrder::Exchange& exchange : order.exchanges()) {
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

TEST_CASE("a window has the exchanges that move nothing beyond it") {
  const Problem problem = problem_of(expert_kernels(), expert_tensors());
  Symmetry symmetry = find_symmetry(problem, loop_sets(least_bytes_sharding(problem)));
  symmetry.order.clear();
  symmetry.by_orbits = true;
  const KernelOrder whole(problem.workload.graph, symmetry);
  const KernelOrder window(whole, {2, 3, 4, 5, 6});
  const std::vector<KernelOrder::Exchange> left{KernelOrder::Exchange{{1, 3}, {2, 4}}};
  CHECK(window.exchanges() == left);
  CHECK(window.first_alike() == std::vector<std::size_t>{0, 1, 2, 1, 2});
  CHECK(window.descendants()[1].contains(2));
  CHECK_FALSE(window.descendants()[1].contains(3));
}

TEST_CASE("twins are ordered, with and without neighbours") {
  CHECK(pairs_of(test::idle_problem(3)) == Pairs{{0, 1}, {1, 2}});
  const std::vector<Kernel> four{elementwise("a", 2, 2), elementwise("b", 3, 2),
                                 elementwise("c", 3, 2), elementwise("d", 2, 2)};
  CHECK(pairs_of(problem_of(four, {tensor(0, 1), tensor(0, 2)})) == Pairs{{1, 2}});
  CHECK(pairs_of(problem_of(four, {tensor(1, 3), tensor(2, 3)})) == Pairs{{1, 2}});
}

TEST_CASE("twins within exchangeable branches are ordered as well as the branches") {
  const std::vector<Kernel> kernels{elementwise("a", 2, 2),  elementwise("a1", 3, 2),
                                    elementwise("a2", 3, 2), elementwise("b", 2, 2),
                                    elementwise("b1", 3, 2), elementwise("b2", 3, 2)};
  const Pairs pairs =
      pairs_of(problem_of(kernels, {tensor(0, 1), tensor(0, 2), tensor(3, 4), tensor(3, 5)}));
  CHECK(pairs == Pairs{{0, 3}, {1, 2}, {4, 5}});
}

TEST_CASE("of two classes of branches each has its own order") {
  const std::vector<Kernel> kernels{elementwise("a", 2, 2), elementwise("b", 3, 2),
                                    elementwise("c", 2, 2), elementwise("d", 3, 2)};
  CHECK(pairs_of(problem_of(kernels, {})) == Pairs{{0, 2}, {1, 3}});
}

TEST_CASE("whatever makes a branch differ takes its exchanges away") {
  const Pairs without_last{{1, 3}};
  std::vector<Kernel> kernels = expert_kernels();
  std::vector<Tensor> tensors = expert_tensors();
  Kernel& last = kernels[6];
  Problem problem;
  SUBCASE("an extent") { last.m = 5; }
  SUBCASE("a loop that is tiled") { last.tiled = Loop::M; }
  SUBCASE("a mode") { last.mode = Mode::Simd; }
  SUBCASE("a kind") { last.kind = KernelKind::Gemm; }
  SUBCASE("an outer loop") {
    last.outer = 2;
    last.m = 2;
  }
  SUBCASE("a repeat") { last.repeat = 2; }
  SUBCASE("explicit memory") { last.memory = Bytes(1.0); }
  SUBCASE("a weight outside SRAM") { last.skip_weight = true; }
  SUBCASE("a communication of its own") { last.communication = Communication{}; }
  SUBCASE("an operand") { tensors.back().operand = 2; }
  SUBCASE("a tensor more") { tensors.push_back(tensor(5, 6)); }
  SUBCASE("a tensor past a kernel") { tensors.push_back(tensor(5, 7)); }
  SUBCASE("a neighbour that the others do not have") {
    kernels.push_back(elementwise("more", 9, 9));
    tensors.push_back(tensor(6, 8));
  }
  problem = problem_of(kernels, tensors);
  CHECK(pairs_of(problem) == without_last);
}

TEST_CASE("communications differ in type and in bytes") {
  std::vector<Kernel> kernels = expert_kernels();
  for (const std::size_t second : {2U, 4U, 6U}) {
    kernels[second].communication =
        Communication{.type = CommunicationType::AllReduce, .bytes = Bytes(8.0)};
  }
  CHECK(pairs_of(problem_of(kernels, expert_tensors())) == Pairs{{1, 3}, {3, 5}});
  SUBCASE("type") { kernels[6].communication->type = CommunicationType::AllGather; }
  SUBCASE("bytes") { kernels[6].communication->bytes = Bytes(9.0); }
  CHECK(pairs_of(problem_of(kernels, expert_tensors())) == Pairs{{1, 3}});
}

TEST_CASE("pins and sharding tell kernels apart, equal ones do not") {
  Problem problem = problem_of(expert_kernels(), expert_tensors());
  problem.execution.pins.resize(8);
  problem.execution.pins[4] = 1;
  CHECK(pairs_of(problem) == Pairs{{1, 5}});
  problem.execution.pins[2] = 1;
  CHECK(pairs_of(problem) == Pairs{{1, 3}});
  problem.execution.pins[6] = 1;
  CHECK(pairs_of(problem) == Pairs{{1, 3}, {3, 5}});
  problem.execution.pins[6] = 2;
  CHECK(pairs_of(problem) == Pairs{{1, 3}});

  problem.execution.pins.clear();
  std::vector<Loop> sharding(8, Loop::M);
  CHECK(pairs_of(problem, sharding) == Pairs{{1, 3}, {3, 5}});
  sharding[5] = Loop::K;
  CHECK(pairs_of(problem, sharding) == Pairs{{1, 3}});
}

TEST_CASE("phases tell kernels apart") {
  std::vector<Kernel> kernels{elementwise("a", 2, 2), elementwise("b", 2, 2),
                              elementwise("c", 2, 2), elementwise("d", 2, 2)};
  kernels[2].phase = Phase::Backward;
  kernels[3].phase = Phase::Backward;
  CHECK(pairs_of(problem_of(kernels, {})) == Pairs{{0, 1}, {2, 3}});
}

TEST_CASE("a pair never points against the topological order") {
  // The second branch comes first in the list but its tail before its head:
  //   0 tail of B, 1 head of A, 2 tail of A, 3 head of B.
  const std::vector<Kernel> kernels{elementwise("b2", 3, 2), elementwise("a1", 2, 2),
                                    elementwise("a2", 3, 2), elementwise("b1", 2, 2)};
  const Problem problem = problem_of(kernels, {tensor(1, 2), tensor(3, 0)});
  // The exchange is led by kernel 0, which follows 2 in the topological order.
  CHECK(pairs_of(problem) == Pairs{});

  // With the whole list backwards both orders agree again.
  const std::vector<Kernel> reversed{elementwise("b2", 3, 2), elementwise("b1", 2, 2),
                                     elementwise("a2", 3, 2), elementwise("a1", 2, 2)};
  CHECK(pairs_of(problem_of(reversed, {tensor(1, 0), tensor(3, 2)})) == Pairs{{0, 2}});
}

TEST_CASE("kernels that look alike at every distance are not exchanged unless they are") {
  // Producers 0, 2 and consumers 6, 7 make a ring of four, the others one of
  // eight; every producer has two consumers and every consumer two producers.
  std::vector<Kernel> kernels;
  for (int i = 0; i < 12; ++i) kernels.push_back(elementwise("k" + std::to_string(i), 2, 2));
  const std::vector<Tensor> rings{tensor(0, 6),  tensor(0, 7),  tensor(2, 6),  tensor(2, 7),
                                  tensor(1, 8),  tensor(3, 8),  tensor(3, 9),  tensor(4, 9),
                                  tensor(4, 10), tensor(5, 10), tensor(5, 11), tensor(1, 11)};
  const auto of_four = [](std::size_t k) { return k == 0 || k == 2 || k == 6 || k == 7; };
  const Pairs pairs = pairs_of(problem_of(kernels, rings));
  CHECK_FALSE(pairs.empty());
  for (const auto& [u, v] : pairs) {
    INFO(u, " ", v);
    CHECK(of_four(u) == of_four(v));
    CHECK((u < 6) == (v < 6));
  }
}

TEST_CASE("solve finds the first of the best mappings where branches can be exchanged" *
          doctest::test_suite("slow")) {
  const tbb::global_control eight(tbb::global_control::max_allowed_parallelism, 8);
  int symmetric = 0;
  int feasible = 0;
  for (std::uint64_t seed = 0; seed < 1200; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::symmetric_problem(seed);
    const bool pairs = !pairs_of(problem).empty();
    symmetric += pairs;
    const test::BruteForceResult best = test::brute_force(problem);
    feasible += pairs && best.mapping.has_value();
    for (const int threads : {1, 8}) {
      CAPTURE(threads);
      const SearchResult result = solve(problem, {.threads = threads});
      REQUIRE(result.mapping.has_value() == best.mapping.has_value());
      if (!best.mapping) continue;
      CHECK(result.status == SearchStatus::Optimal);
      CHECK(result.cost->objective == best.objective);
      CHECK(result.mapping->tile == best.mapping->tile);
      CHECK(result.mapping->partition == best.mapping->partition);
    }
  }
  CHECK(symmetric > 800);
  CHECK(feasible > 400);
}

}  // namespace dfsearch
