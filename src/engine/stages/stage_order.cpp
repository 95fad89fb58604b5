#include "engine/stages/stage_order.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "base/error.hpp"

namespace dfsearch {

Before come_before(std::size_t kernels,
                   const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
                   const Deadline& deadline) {
  Before before(kernels, KernelSet(kernels));
  for (std::size_t k = 0; k < kernels; ++k) before[k].insert(k);
  for (const auto& [first, second] : pairs) before[second].insert(first);
  // Warshall: paths over the kernels up to `via`.
  for (std::size_t via = 0; via < kernels; ++via) {
    deadline.check();
    for (KernelSet& own : before) {
      if (own.contains(via)) own |= before[via];
    }
  }
  return before;
}

std::optional<std::vector<KernelSet>> order_ideals(const Before& before, const KernelSet& kernels,
                                                   std::size_t most, const Deadline& deadline) {
  PacedDeadline paced(deadline, 10'000);
  std::vector<KernelSet> ideals{KernelSet(before.size())};
  std::unordered_set<KernelSet, KernelSetHash> known{ideals.front()};
  for (std::size_t i = 0; i < ideals.size(); ++i) {
    kernels.for_each([&](std::size_t k) {
      paced.check();
      if (ideals[i].contains(k)) return;
      // Adds the kernel with its class, the kernels that come both before and after it, if the
      // ideal has all other kernels that come before it.
      KernelSet next = ideals[i];
      before[k].for_each_common(kernels, [&](std::size_t other) {
        if (before[other].contains(k)) next.insert(other);
      });
      if (!next.contains_common(before[k], kernels) || !known.insert(next).second) return;
      if (ideals.size() <= most) ideals.push_back(std::move(next));
    });
    if (ideals.size() > most) return std::nullopt;
  }
  std::stable_sort(ideals.begin(), ideals.end(),
                   [](const KernelSet& a, const KernelSet& b) { return a.size() < b.size(); });
  return ideals;
}

namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// A backward kernel is in the stage of its forward one, so each comes before the other.  Backward
/// tensors go from later stages to earlier ones: the consumer comes before the producer.
Pairs pairs_of_borders(const DataflowGraph& graph) {
  Pairs pairs;
  for (const Tensor& tensor : graph.tensors()) {
    const bool back = graph.kernel(tensor.from).phase == Phase::Backward;
    const auto& [first, second] =
        back ? std::pair(tensor.to, tensor.from) : std::pair(tensor.from, tensor.to);
    pairs.emplace_back(first.index(), second.index());
  }
  const auto keep_together = [&pairs](std::size_t a, std::size_t b) {
    pairs.emplace_back(a, b);
    pairs.emplace_back(b, a);
  };
  // Kernels joined by a seam to the next step are in one stage.
  for (const Tensor& seam : graph.seams()) {
    if (seam.next_step) keep_together(seam.from.index(), seam.to.index());
  }
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    if (graph.kernels()[k].phase == Phase::Forward) continue;
    const std::size_t forward = graph.kernels()[k].forward()->index();
    keep_together(forward, k);
  }
  return pairs;
}

Pairs pairs_of_partitions(const DataflowGraph& graph) {
  Pairs pairs;
  for (const Tensor& tensor : graph.tensors()) {
    pairs.emplace_back(tensor.from.index(), tensor.to.index());
  }
  return pairs;
}

std::vector<KernelSet> ideals_within_limit(const Before& before, const KernelSet& kernels,
                                           const Deadline& deadline) {
  auto ideals = order_ideals(before, kernels, kMostStageIdeals, deadline);
  if (ideals) return *std::move(ideals);
  throw InputError("execution.stages: the kernels can be cut in two in more than " +
                   std::to_string(kMostStageIdeals) +
                   " ways that tensors allow, expected fewer: a graph with fewer parallel "
                   "branches, or `layers`");
}

}  // namespace

StageOrder::StageOrder(const DataflowGraph& graph, const Deadline& deadline)
    : before(come_before(graph.kernel_count(), pairs_of_partitions(graph), deadline)),
      backward(graph.kernel_count()) {
  const std::size_t kernels = graph.kernel_count();
  KernelSet all(kernels);
  KernelSet forward(kernels);
  for (std::size_t k = 0; k < kernels; ++k) {
    all.insert(k);
    (graph.kernels()[k].phase == Phase::Forward ? forward : backward).insert(k);
  }
  ideals_within_limit(before, forward, deadline);
  ideals_within_limit(before, backward, deadline);
  const Before of_borders = come_before(kernels, pairs_of_borders(graph), deadline);
  borders = ideals_within_limit(of_borders, all, deadline);
  // Counts the classes of kernels: a longest chain of ideals adds one class at a time.
  for (std::size_t k = 0; k < kernels; ++k) {
    bool is_first = true;
    for (std::size_t other = 0; other < k; ++other) {
      is_first = is_first && !(of_borders[k].contains(other) && of_borders[other].contains(k));
    }
    most_stages += is_first ? 1 : 0;
  }
}

}  // namespace dfsearch
