#pragma once
// A kernel in a partition of its own, and the SRAM.

#include <cmath>

#include "base/units.hpp"
#include "graph/dataflow_graph.hpp"
#include "model/layer/layer_costs.hpp"

namespace dfsearch {

/// What a kernel takes of the SRAM in a partition of its own, in bytes of one chip.
struct LoneKernel {
  Bytes inputs{};
  Bytes outputs{};
  Bytes weight{};
  bool has_pieces = false;

  /// Whether it overflows the SRAM, so that no other kernel can ever share its partition.
  [[nodiscard]] bool is_lonely(Bytes sram) const { return inputs + outputs + weight > sram; }
  /// Whether it fits all the same, its weight cut into pieces: docs/model.md (32).
  [[nodiscard]] bool escapes(Bytes sram) const {
    return is_lonely(sram) && has_pieces && inputs < sram;
  }
  /// In how many pieces its weight is cut, and its output with it: docs/model.md (32).
  [[nodiscard]] double pieces(Bytes sram) const {
    return escapes(sram) ? std::ceil((outputs + weight) / (sram - inputs)) : 1.0;
  }
  /// What must fit however the weight is cut, and the output with it.
  [[nodiscard]] Bytes least() const { return has_pieces ? inputs : inputs + outputs; }
};

LoneKernel lone_kernel(const DataflowGraph& graph, const LayerCosts& costs, KernelId kernel);

}  // namespace dfsearch
