#pragma once
// The share of one chip in each kernel of a block, and the time of this share, for one micro-batch
// (docs/training.md, section 5).  Profiles are sums of these shares, and graphs of a chip consist
// of them.

#include <cstddef>
#include <cstdint>

#include "base/units.hpp"
#include "model/training/block.hpp"
#include "model/training/profile.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// The extents of a kernel on one chip.
struct Extents {
  std::int64_t outer, m, k, n;

  explicit Extents(const Kernel& kernel)
      : outer(kernel.outer), m(kernel.m), k(kernel.k), n(kernel.n) {}
  void divide(Loop loop, std::int64_t chips);
};

/// Shares of the kernels of a block.  Refers to the task, the block and the layouts.
class KernelShares {
 public:
  KernelShares(const Task& task, const Block& block, const BlockLayouts& layouts,
               const Degrees& degrees, std::int64_t micro_batch);

  [[nodiscard]] bool is_of_experts(KernelId kernel) const;
  [[nodiscard]] Extents extents(KernelId kernel) const;
  [[nodiscard]] Bytes read(KernelId kernel, std::size_t input) const;
  /// Bytes of a value in the layout in which it is produced.
  [[nodiscard]] Bytes produced(std::size_t value) const;
  /// Bytes of an output that no kernel of the block reads (the result of the block, or the gradient
  /// of a weight); 0 if some kernel reads the output.
  [[nodiscard]] Bytes results(KernelId kernel, const Extents& extents) const;
  [[nodiscard]] Bytes weight(KernelId kernel, const Extents& extents) const;
  [[nodiscard]] Flops flops(KernelId kernel, const Extents& extents) const;
  /// Compute time, at the rate that this amount of work reaches.
  [[nodiscard]] Seconds compute(KernelId kernel, const Extents& extents) const;
  [[nodiscard]] Bytes kept(std::size_t value) const;
  /// Elements of the weight that a chip stores, and of the parameters beside it.
  [[nodiscard]] double parameters(KernelId kernel) const;
  [[nodiscard]] const ValueShares& values() const { return shares_; }

 private:
  [[nodiscard]] Flops work(const Kernel& kernel, const Extents& e, double rows_of_experts) const;

  const Task& task_;
  const Block& block_;
  const DataflowGraph& graph_;
  const BlockLayouts layouts_;
  const std::int64_t tensor_, context_, expert_;
  const double samples_;
  const ValueShares shares_;
  const Bytes word_;
};

}  // namespace dfsearch::training
