#include "graph/names.hpp"

namespace dfsearch {

const std::array<std::string, kLoopPairs>& loop_pair_names() {
  static const auto kNames = [] {
    std::array<std::string, kLoopPairs> names;
    for (std::size_t i = 0; i < kLoopPairs; ++i) {
      const auto [first, second] = LoopPair::at(i).loops;
      names[i] = name_of(first);
      if (second != Loop::None) names[i] += std::string("/") + name_of(second);
    }
    return names;
  }();
  return kNames;
}

std::string name_of(LoopPair loops) { return loop_pair_names()[loops.index()]; }

}  // namespace dfsearch
