#include "engine/stages/order_ideals.hpp"

#include <algorithm>
#include <unordered_set>

namespace dfsearch {

Before come_before(std::size_t kernels,
                   const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  Before before(kernels, KernelSet(kernels));
  for (std::size_t k = 0; k < kernels; ++k) before[k].insert(k);
  for (const auto& [first, second] : pairs) before[second].insert(first);
  // Warshall: paths over the kernels up to `via`.
  for (std::size_t via = 0; via < kernels; ++via) {
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
  std::unordered_set<KernelSet, KernelSetHash> met{ideals.front()};
  for (std::size_t i = 0; i < ideals.size(); ++i) {
    kernels.for_each([&](std::size_t k) {
      paced.check();
      if (ideals[i].contains(k)) return;
      // With those that come before it and after it, too, it is next if all others are there.
      KernelSet next = ideals[i];
      before[k].for_each_common(kernels, [&](std::size_t other) {
        if (before[other].contains(k)) next.insert(other);
      });
      if (!next.contains_common(before[k], kernels) || !met.insert(next).second) return;
      if (ideals.size() <= most) ideals.push_back(std::move(next));
    });
    if (ideals.size() > most) return std::nullopt;
  }
  std::stable_sort(ideals.begin(), ideals.end(),
                   [](const KernelSet& a, const KernelSet& b) { return a.size() < b.size(); });
  return ideals;
}

}  // namespace dfsearch
