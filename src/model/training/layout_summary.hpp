#pragma once
// What a layout of the front keeps and what it gathers again, in names of kernels.

#include <string>
#include <vector>

#include "model/training/block.hpp"
#include "model/training/layouts.hpp"

namespace dfsearch::training {

/// Names of the kernels that compute the values meant, in the order of the graph.
struct LayoutSummary {
  std::vector<std::string> whole;  ///< kept for the backward pass by every chip
  std::vector<std::string> again;  ///< kept split, and exchanged again for the backward pass
};

/// `layout` is one of the block.
LayoutSummary summary_of(const Block& block, const AxisLayout& layout);

}  // namespace dfsearch::training
