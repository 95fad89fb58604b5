#pragma once
// How large the space is that a mapping is chosen from.

#include "model/problem.hpp"

namespace dfsearch {

/// Logarithms to base 10 of how many choices there are, rules between them not looked at: as the
/// DFModel paper (Ko et al.) counts its space of 10^295.
struct DesignSpace {
  double shardings = 0.0;         ///< loops of every kernel
  double partitions = 0.0;        ///< one of every kernel
  double stages = 0.0;            ///< one of every kernel, where they divide the graph
  double lanes_and_stages = 0.0;  ///< of the grid of cores of every kernel

  [[nodiscard]] double total() const { return shardings + partitions + stages + lanes_and_stages; }
};

/// Of one layer at one network, that with most stages, micro-batch and tile; what is pinned is no
/// choice.
DesignSpace design_space(const Problem& problem);

}  // namespace dfsearch
