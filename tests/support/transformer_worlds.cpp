#include "support/transformer_worlds.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/workloads/llm/transformer_graph.hpp"
#include "support/random_models.hpp"

namespace dfsearch::test {
namespace {

/// `count` kernels from `first` on, with the tensors between them.  Whose weight is elsewhere
/// has one of its own.
DataflowGraph piece(const DataflowGraph& whole, std::size_t first, std::size_t count) {
  std::vector<Kernel> kernels(whole.kernels().begin() + static_cast<std::ptrdiff_t>(first),
                              whole.kernels().begin() + static_cast<std::ptrdiff_t>(first + count));
  const auto is_inside = [&](KernelId id) {
    return id.index() >= first && id.index() < first + count;
  };
  for (Kernel& kernel : kernels) {
    if (!kernel.weight_of) continue;
    const KernelId owner = *kernel.weight_of;
    kernel.weight_of.reset();
    if (is_inside(owner)) kernel.weight_of = KernelId(owner.index() - first);
  }
  std::vector<Tensor> tensors;
  for (Tensor t : whole.tensors()) {
    if (!is_inside(t.from) || !is_inside(t.to)) continue;
    t.from = KernelId(t.from.index() - first);
    t.to = KernelId(t.to.index() - first);
    tensors.push_back(t);
  }
  // The piece stands for a layer where its ends are of one phase.
  std::vector<Tensor> seams;
  if (kernels.front().phase == kernels.back().phase) {
    seams.push_back({.from = KernelId(count - 1), .to = KernelId(0)});
  }
  return {std::move(kernels), std::move(tensors), std::move(seams)};
}

DataflowGraph random_layer(RandomModels& random, std::int64_t tokens, std::int64_t kind) {
  const Transformer model = random.model();
  TransformerPass pass{.tokens = tokens, .word = Bytes(static_cast<double>(random.pick(1, 2)))};
  pass.fused = model.latent.has_value() || random.chance();
  pass.causal = pass.fused && random.chance();
  if (kind == 0) return transformer_forward_graph(model, pass);
  if (kind == 1) return transformer_training_graph(model, pass);
  pass.context = random.pick(1, 9);
  return transformer_decode_graph(model, pass);
}

}  // namespace

Problem random_transformer_problem(std::uint64_t seed, const WorldLimits& limits) {
  RandomModels random(seed + 7'000'003);
  Problem problem;
  const std::int64_t tokens = random.pick(1, 4);
  const auto kind = static_cast<std::int64_t>(seed % 3);
  const DataflowGraph whole = random_layer(random, tokens, kind);
  if (kind != 2) problem.workload.sequence = tokens;
  const auto count =
      std::min(static_cast<std::size_t>(random.pick(
                   3, static_cast<std::int64_t>(std::min<std::size_t>(limits.kernels, 7)))),
               whole.kernel_count());
  const auto first = static_cast<std::size_t>(
      random.pick(0, static_cast<std::int64_t>(whole.kernel_count() - count)));
  problem.workload.graph = piece(whole, first, count);
  std::mt19937_64 machine(seed + 11);
  random_surroundings(machine, problem, limits);
  return problem;
}

}  // namespace dfsearch::test
