#pragma once
// Small worlds with many kernels that are alike.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/random_problem.hpp"

namespace dfsearch::test {

/// Equal chains side by side, or two layers in which each kernel of the first feeds the same number
/// of kernels of the second: 8 to 12 kernels of two or three colours, or `times` that number.
inline Problem alike_problem(std::uint64_t seed, std::size_t times = 1) {
  std::mt19937_64 random(seed);
  Problem problem;
  const std::int64_t sequence = problem.workload.sequence = pick(random, 1, 4);
  const auto length = static_cast<std::size_t>(pick(random, 2, 3));
  const bool layers = length == 2 && pick(random, 0, 1) == 0;
  const std::size_t copies =
      times * (length == 3 ? 4 : static_cast<std::size_t>(pick(random, 4, 5)));
  const auto fed = static_cast<std::size_t>(layers ? pick(random, 2, 3) : 1);
  std::vector<Kernel> looks;
  for (std::size_t i = 0; i < length; ++i) {
    Kernel kernel;
    kernel.kind = pick(random, 0, 1) == 0 ? KernelKind::WeightGemm : KernelKind::Elementwise;
    const bool product = kernel.kind == KernelKind::WeightGemm;
    kernel.mode = product ? Mode::Systolic : Mode::Simd;
    kernel.m = pick(random, 1, 6);
    kernel.k = product ? pick(random, 1, 6) : 1;
    kernel.n = sequence;
    looks.push_back(std::move(kernel));
  }
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t c = 0; c < copies; ++c) {
      kernels.push_back(looks[i]);
      kernels.back().name = "k" + std::to_string(kernels.size());
      for (std::size_t f = 0; i > 0 && f < fed; ++f) {
        tensors.push_back({.from = KernelId((i - 1) * copies + (c + f) % copies),
                           .to = KernelId(kernels.size() - 1),
                           .operand = 1});
      }
    }
  }
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  random_surroundings(random, problem, {.assignments = 1e9});
  problem.execution.style = Style::Dataflow;
  problem.execution.pins.clear();
  return problem;
}

}  // namespace dfsearch::test
