#include "engine/duals/colour_refinement.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

namespace dfsearch {
namespace {

constexpr std::size_t kMostColours = 48;
constexpr std::size_t kKernelsOfColour = 4;  // in the mean, at least
constexpr int kRoundsOfColours = 3;          // neighbours of neighbours

}  // namespace

std::vector<std::uint32_t> kernel_colours(const FusionTables& tables) {
  std::vector<std::uint32_t> classes(tables.size(), 0);
  for (int round = 0; round < kRoundsOfColours; ++round) {
    using End = std::tuple<bool, std::uint32_t, Ticks, Ticks, Bytes>;
    using Signature = std::tuple<Ticks, Ticks, Ticks, Bytes, bool, bool, bool, bool, std::uint32_t,
                                 std::vector<End>>;
    std::map<Signature, std::uint32_t> colours;
    std::vector<std::uint32_t> next;
    for (std::size_t p = 0; p < tables.size(); ++p) {
      const KernelCosts& kernel = tables.kernel(p);
      std::vector<End> ends;
      const auto add = [&](std::span<const Arc> arcs, bool is_input) {
        for (const Arc& arc : arcs) {
          ends.emplace_back(is_input, classes[arc.other], arc.transfer, arc.opposite, arc.streamed);
        }
      };
      add(tables.inputs(p), true);
      add(tables.outputs(p), false);
      std::sort(ends.begin(), ends.end());
      const auto number = static_cast<std::uint32_t>(colours.size());
      next.push_back(colours
                         .try_emplace({kernel.compute, kernel.network, kernel.explicit_memory,
                                       kernel.weight, kernel.backward, kernel.repeats,
                                       kernel.lonely, kernel.escapes, classes[p], std::move(ends)},
                                      number)
                         .first->second);
    }
    if (round > 0 && colours.size() > kMostColours) break;
    classes = std::move(next);
  }
  return classes;
}

KernelClasses kernels_by(const std::vector<std::uint32_t>& classes) {
  KernelClasses kernels;
  for (std::size_t p = 0; p < classes.size(); ++p) {
    if (classes[p] >= kernels.size()) kernels.resize(classes[p] + std::size_t{1});
    kernels[classes[p]].push_back(p);
  }
  return kernels;
}

bool are_mostly_alike(const FusionTables& tables) {
  return kernels_by(kernel_colours(tables)).size() * kKernelsOfColour <= tables.size();
}

}  // namespace dfsearch
