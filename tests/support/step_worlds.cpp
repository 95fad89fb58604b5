#include "support/step_worlds.hpp"

#include <random>
#include <utility>
#include <vector>

#include "support/random_problem.hpp"

namespace dfsearch::test {

Problem with_steps(Problem problem, std::uint64_t seed, bool all) {
  std::mt19937_64 random(seed * 9176 + 3);
  const std::int64_t steps = pick(random, 2, 4);
  DataflowGraph& graph = problem.workload.graph;
  std::vector<Kernel> kernels = graph.kernels();
  for (Kernel& kernel : kernels) {
    const bool is_fit = kernel.spread == Spread::Tensor && kernel.repeat == 1;
    if (all || (is_fit && pick(random, 0, 2) > 0)) kernel.steps = steps;
  }
  std::vector<Tensor> seams = graph.seams();
  for (const Tensor& tensor : graph.tensors()) {
    const Kernel& from = kernels[tensor.from.index()];
    const Kernel& to = kernels[tensor.to.index()];
    const bool may_wait = from.phase == to.phase && from.steps > 1 && from.steps == to.steps;
    if (!may_wait || pick(random, 0, 2) == 0) continue;
    Tensor seam{.from = tensor.to, .to = tensor.from, .next_step = true};
    if (pick(random, 0, 3) == 0) std::swap(seam.from, seam.to);
    seams.push_back(seam);
  }
  graph = DataflowGraph(std::move(kernels), graph.tensors(), std::move(seams));
  // Weights are read whether all of them fit or not, or where they do not.
  problem.equations.weight_traffic =
      pick(random, 0, 2) == 0 ? WeightTraffic::PerSample : WeightTraffic::PerStep;
  const auto some = [&] { return Seconds(static_cast<double>(pick(random, 0, 4)) / 8.0); };
  for (NetworkDimension& dimension : problem.system.network) dimension.latency = some();
  if (pick(random, 0, 1) == 0) problem.system.memory[0].latency = some();
  return problem;
}

}  // namespace dfsearch::test
