#pragma once
// A kernel in a partition of its own: its time, and the SRAM that it takes.

#include <cmath>

#include "base/units.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The compute time of a kernel on all cores, or the time of its slowest on-chip level if longer.
Ticks lone_compute(const Problem& problem, const LayerCosts& costs, KernelId kernel);

Ticks kernel_by_kernel_time(const Problem& problem, const LayerCosts& costs);

/// The SRAM of a kernel in a partition of its own, in bytes of one chip.
struct LoneKernel {
  Bytes inputs{};
  Bytes outputs{};
  Bytes weight{};
  bool has_pieces = false;
  bool streams = false;  ///< the kernel may run in pieces of any size that fits

  /// Whether the kernel overflows the SRAM, so that no other kernel can ever share its partition.
  [[nodiscard]] bool must_be_alone(Bytes sram) const { return inputs + outputs + weight > sram; }
  /// Whether the kernel fits in pieces: docs/model.md (32).
  [[nodiscard]] bool fits_in_pieces(Bytes sram) const {
    return must_be_alone(sram) && (streams || may_split_weight(sram));
  }
  /// Whether the kernel fits once its weight is cut, and its output with it.
  [[nodiscard]] bool may_split_weight(Bytes sram) const {
    return must_be_alone(sram) && has_pieces && inputs < sram;
  }
  /// The number of pieces of its weight, and of its output with it: docs/model.md (32).
  [[nodiscard]] double pieces(Bytes sram) const {
    return may_split_weight(sram) ? std::ceil((outputs + weight) / (sram - inputs)) : 1.0;
  }
  /// Bytes that must fit for any cut of the weight and the output, unless the kernel streams.
  [[nodiscard]] Bytes least() const { return has_pieces ? inputs : inputs + outputs; }
};

LoneKernel lone_kernel(const Problem& problem, const LayerCosts& costs, KernelId kernel);

}  // namespace dfsearch
