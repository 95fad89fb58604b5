#pragma once
// Worlds of one value that many kernels read.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/random_problem.hpp"

namespace dfsearch::test {

/// A kernel whose output `readers` kernels read, as one value, and a kernel that joins these; one
/// of them may read the value as another operand.  The readers are alike in half of the worlds.
inline Problem fan_problem(std::uint64_t seed, std::size_t readers,
                           WorldLimits limits = {.assignments = 1e9, .joint = true}) {
  std::mt19937_64 random(seed);
  Problem problem;
  const std::int64_t sequence = problem.workload.sequence = pick(random, 1, 4);
  const std::int64_t rows = pick(random, 2, 8);
  std::vector<Kernel> kernels;
  const auto add = [&](KernelKind kind, std::int64_t m, std::int64_t k) {
    Kernel kernel;
    kernel.kind = kind;
    kernel.mode = kind == KernelKind::WeightGemm ? Mode::Systolic : Mode::Simd;
    kernel.m = m;
    kernel.k = kernel.has_weight() ? k : 1;
    kernel.n = sequence;
    kernel.name = "k" + std::to_string(kernels.size());
    kernels.push_back(std::move(kernel));
  };
  add(KernelKind::Elementwise, rows, 1);
  const bool alike = pick(random, 0, 1) == 0;
  const std::int64_t wide = pick(random, 1, 8);
  for (std::size_t r = 0; r < readers; ++r) {
    const bool product = alike || pick(random, 0, 2) > 0;
    add(product ? KernelKind::WeightGemm : KernelKind::Elementwise,
        product ? (alike ? wide : pick(random, 1, 8)) : rows, rows);
  }
  add(KernelKind::Elementwise, pick(random, 2, 8), 1);
  std::vector<Tensor> tensors;
  for (std::size_t r = 1; r <= readers; ++r) {
    const int operand = r == readers && pick(random, 0, 3) == 0 ? 2 : 1;
    tensors.push_back({.from = KernelId(0), .to = KernelId(r), .operand = operand, .value = 0});
    tensors.push_back({.from = KernelId(r), .to = KernelId(readers + 1), .operand = 1});
  }
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  random_surroundings(random, problem, limits);
  problem.equations.layout_conversion_bytes = ConversionBytes::Full;
  problem.execution.pins.clear();
  return problem;
}

}  // namespace dfsearch::test
