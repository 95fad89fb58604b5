// Each reason why nothing fits, with its numbers.

#include "engine/answer/explanations.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/solve.hpp"
#include "support/brute_force.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using test::elementwise;
using test::tensor;
using test::weight_gemm;

void check_reason(const Problem& problem, Resource resource, double needed, double available,
                  const std::string& where) {
  const SearchResult result = solve(problem, {});
  REQUIRE(result.status == SearchStatus::Infeasible);
  REQUIRE(result.infeasible.has_value());
  CHECK(std::string(name_of(result.infeasible->resource)) == name_of(resource));
  CHECK(result.infeasible->needed == needed);
  CHECK(result.infeasible->available == available);
  CHECK(result.infeasible->where == where);
  CHECK(result.stopped_by == StopReason::None);
}

/// a -> b -> c of 8 x 4 elements of 1 B, b with a weight of 8 x 6; one chip.  Tiled by
/// rows of N the tensors are 6 B and 8 B a tile, double buffered 12 B and 16 B.
Problem chain() {
  Problem problem = test::idle_problem(1);
  problem.workload.graph =
      DataflowGraph({elementwise("a", 6, 4), weight_gemm("b", 8, 6, 4), elementwise("c", 8, 4)},
                    {tensor(0, 1), tensor(1, 2)});
  problem.workload.word = Bytes(1.0);
  problem.workload.sequence = 4;
  problem.workload.layers = 3;
  return problem;
}

/// Kernels without tensors, the last ones backward.
Problem phases(std::size_t forward, std::size_t backward) {
  Problem problem = test::idle_problem(forward + backward);
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  for (std::size_t k = forward; k < kernels.size(); ++k) kernels[k].phase = Phase::Backward;
  problem.workload.graph = DataflowGraph(kernels, {});
  return problem;
}

/// SRAM for one weight of 4 B at a time.
Problem lone_weights(std::size_t forward, std::size_t backward) {
  Problem problem = phases(forward, backward);
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  for (Kernel& kernel : kernels) {
    const Phase phase = kernel.phase;
    kernel = weight_gemm(kernel.name, 2, 2, 1);
    kernel.phase = phase;
  }
  problem.workload.graph = DataflowGraph(kernels, {});
  problem.workload.word = Bytes(1.0);
  problem.system.accelerator.sram = Bytes(4.0);
  return problem;
}

}  // namespace

TEST_CASE("weights alone exceed the memory") {
  Problem problem = chain();
  problem.system.memory[0].capacity = Bytes(143.0);  // three layers of 48 B are 144 B
  check_reason(problem, Resource::Memory, 144.0, 143.0, "weights");
}

TEST_CASE("the buffers of a single kernel exceed SRAM at the smallest tile") {
  Problem problem = chain();
  problem.equations.lone_kernels = LoneKernels::Whole;
  problem.system.accelerator.sram = Bytes(11.0);  // a needs 12 B for its output
  check_reason(problem, Resource::Sram, 12.0, 11.0, "a");
  problem.workload.tile = 4;
  problem.system.accelerator.sram = Bytes(47.0);  // 48 B with the whole sequence in a tile
  check_reason(problem, Resource::Sram, 48.0, 47.0, "a");
}

TEST_CASE("a weight may be cut into pieces, its inputs may not") {
  Problem problem = chain();
  problem.equations.lone_kernels = LoneKernels::Whole;
  // b takes 12 + 16 + 48 B; alone it needs more than its inputs.  a takes 12 B.
  problem.workload.graph = DataflowGraph({elementwise("a", 2, 4), elementwise("b", 2, 4),
                                          elementwise("c", 2, 4), weight_gemm("d", 8, 6, 4)},
                                         {tensor(0, 3), tensor(1, 3), tensor(2, 3)});
  problem.system.accelerator.sram = Bytes(11.0);  // three inputs of 4 B
  check_reason(problem, Resource::Sram, 12.0, 11.0, "d");
}

TEST_CASE("there are more kernels than all partitions have cores") {
  Problem problem = test::idle_problem(7);
  problem.system.accelerator.cores = 3;
  problem.execution.partitions = 2;
  check_reason(problem, Resource::Cores, 7.0, 6.0, "all partitions");
}

TEST_CASE("partitions are too few for SRAM, for cores or for the phases") {
  const std::string where = "SRAM, cores and phases";
  Problem problem = lone_weights(5, 0);
  problem.execution.partitions = 4;
  check_reason(problem, Resource::Partitions, 5.0, 4.0, where);

  problem = phases(3, 3);
  problem.system.accelerator.cores = 2;
  problem.execution.partitions = 3;
  check_reason(problem, Resource::Partitions, 4.0, 3.0, where);

  problem = phases(1, 1);
  problem.execution.partitions = 1;
  check_reason(problem, Resource::Partitions, 2.0, 1.0, where);
}

TEST_CASE("partitions are too few for what no sum over kernels shows") {
  const std::string where = "SRAM, phases and order of the kernels";
  // Weights of 4 B where 7 B fit: no two together, though four are 16 < 3 x 7.
  Problem problem = lone_weights(4, 0);
  problem.system.accelerator.sram = Bytes(7.0);
  problem.execution.partitions = 3;
  check_reason(problem, Resource::Partitions, 4.0, 3.0, where);

  // Halves: three forward ones in the two partitions of the first half.
  problem = lone_weights(3, 1);
  problem.equations.phases = SplitPhases::Halves;
  for (const std::int64_t partitions : {4, 5}) {
    problem.execution.partitions = partitions;
    const bool fits = partitions == 5;  // 0..2 and 2..4
    if (!fits) check_reason(problem, Resource::Partitions, 6.0, 4.0, where);
    CHECK((solve(problem, {}).status == SearchStatus::Optimal) == fits);
  }
  // One partition per kernel, and yet too few.
  problem.execution.partitions = std::nullopt;
  check_reason(problem, Resource::Partitions, 6.0, 4.0, where);

  // Kernels that repeat stay apart from those that do not.
  problem = test::idle_problem(3);
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[1].repeat = 2;
  problem.workload.graph = DataflowGraph(kernels, {tensor(0, 1), tensor(1, 2)});
  problem.execution.partitions = 2;
  check_reason(problem, Resource::Partitions, 3.0, 2.0, where);
}

TEST_CASE("weights fit the memory but not what waits between partitions") {
  Problem problem = chain();
  problem.system.accelerator.sram = Bytes(70.0);  // b is alone with its weight, cut
  // While b runs, four tiles of 6 B are read and four of 8 B written: 56 B beside
  // 144 B of weights.
  problem.system.memory[0].capacity = Bytes(199.0);
  check_reason(problem, Resource::Memory, 200.0, 199.0, "weights and activations");
  problem.system.memory[0].capacity = Bytes(200.0);
  CHECK(solve(problem, {}).status == SearchStatus::Optimal);
}

TEST_CASE("partitions are the reason where more memory would not help") {
  Problem problem = lone_weights(4, 0);
  problem.system.accelerator.sram = Bytes(7.0);
  problem.execution.partitions = 3;
  problem.system.memory[0].capacity = Bytes(16.0);
  check_reason(problem, Resource::Partitions, 4.0, 3.0, "SRAM, phases and order of the kernels");
}

TEST_CASE("pins leave no mapping") {
  Problem problem = chain();
  problem.execution.pins = {1, 0, std::nullopt};
  check_reason(problem, Resource::Pin, 0.0, 0.0, "pinned partitions");
  problem.execution.style = Style::KernelByKernel;
  check_reason(problem, Resource::Pin, 0.0, 0.0, "pinned partitions");
}

TEST_CASE("pins are named only where there are some, and what is named is exceeded") {
  int reasons[16] = {};
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed);
    const SearchResult result = solve(problem, {});
    if (!result.infeasible) continue;
    const Infeasible& reason = *result.infeasible;
    ++reasons[static_cast<int>(reason.resource)];
    if (reason.resource == Resource::Pin) {
      CHECK_FALSE(problem.execution.pins.empty());
    } else {
      INFO(name_of(reason.resource), " ", reason.where);
      CHECK(reason.needed >= reason.available);
    }
  }
  CHECK(reasons[static_cast<int>(Resource::Sram)] > 50);
  CHECK(reasons[static_cast<int>(Resource::Memory)] > 50);
  CHECK(reasons[static_cast<int>(Resource::Cores)] > 20);
  CHECK(reasons[static_cast<int>(Resource::Partitions)] > 50);
  CHECK(reasons[static_cast<int>(Resource::Pin)] > 10);
}

}  // namespace dfsearch
