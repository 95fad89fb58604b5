#pragma once
// A small problem for the tests of files and reports: two GEMMs and what stands
// between them, on four chips.

#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// A -> B -> C and A -> C; A and C have weights, C contracts over what tensor
/// parallelism splits.  Micro-batch and tile are given.
inline Problem example_problem() {
  const auto kernel = [](const char* name, KernelKind kind, std::int64_t m, std::int64_t k) {
    return Kernel{.name = name,
                  .kind = kind,
                  .mode = k == 1 ? Mode::Simd : Mode::Systolic,
                  .m = m,
                  .k = k,
                  .n = 64};
  };
  const auto tensor = [](std::size_t from, std::size_t to, int operand) {
    return Tensor{.from = KernelId(from), .to = KernelId(to), .operand = operand};
  };
  Problem problem;
  problem.workload.graph = DataflowGraph(
      {kernel("A", KernelKind::WeightGemm, 256, 128), kernel("B", KernelKind::Elementwise, 256, 1),
       kernel("C", KernelKind::WeightGemm, 128, 256)},
      {tensor(0, 1, 1), tensor(1, 2, 1), tensor(0, 2, 2)});
  problem.workload.layers = 4;
  problem.workload.global_batch = 8;
  problem.workload.sequence = 64;
  problem.workload.micro_batch = 2;
  problem.workload.tile = 16;
  problem.system.chips = 4;
  problem.system.accelerator = {
      .cores = 16, .lanes = 8, .stages = 4, .frequency = Hertz(1e9), .sram = Bytes(1048576.0)};
  problem.system.memory[0] = {.capacity = Bytes(1e9), .bandwidth = BytesPerSecond(1e9)};
  problem.system.network = {{.topology = Topology::Ring,
                             .degree = 2,
                             .bandwidth = BytesPerSecond(1e9),
                             .strategy = Strategy::Tensor},
                            {.topology = Topology::Switch,
                             .degree = 2,
                             .bandwidth = BytesPerSecond(1e8),
                             .strategy = Strategy::Pipeline}};
  problem.system.price = {.accelerator = Dollars(1000.0),
                          .memory = DollarsPerBandwidth(1e-9),
                          .link = {DollarsPerBandwidth(2e-9), DollarsPerBandwidth(2e-9)},
                          .switch_port = DollarsPerBandwidth(2.4e-8)};
  return problem;
}

/// A alone in partition 0, B and C in partition 2; partition 1 is empty.
inline Mapping example_mapping() {
  return {.network = {{.degree = 2, .strategy = Strategy::Tensor},
                      {.degree = 2, .strategy = Strategy::Pipeline}},
          .micro_batch = 2,
          .tile = 16,
          .sharding = {Loop::M, Loop::M, Loop::K},
          .partition = {0, 2, 2},
          .cores = {}};
}

}  // namespace dfsearch
