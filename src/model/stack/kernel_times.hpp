#pragma once
// How long one kernel takes on a measured chip (docs/truth.md, section 1).

#include <cstdint>

#include "base/units.hpp"
#include "model/stack/stack.hpp"

namespace dfsearch::stack {

/// Scores of attention without a fused kernel, of one pass.
struct UnfusedAttention {
  Seconds products{};
  Seconds passes{};      ///< softmax and dropout, over the scores
  bool is_slow = false;  ///< the fused softmax cannot be used
};

/// Refers to the setup, which outlives it.  All times are those of its scenario.
class KernelTimes {
 public:
  explicit KernelTimes(const Setup& setup) : setup_(setup) {}

  /// A pass over so many bytes; none is free, and none takes less than 3 us.
  /// docs/truth.md (2)
  [[nodiscard]] Seconds pass(double bytes) const;
  /// A product of FLOP and bytes on one chip; `rate` is of the curve.
  /// docs/truth.md (3)
  [[nodiscard]] Seconds product(double flop, double bytes, Bits bits, double rate = 1.0) const;
  /// Fused attention of so many FLOP over samples of so many tokens.
  [[nodiscard]] Seconds attention(double flop, std::int64_t tokens, std::int64_t head_dim,
                                  bool backward, bool ring) const;
  /// `rows` of scores, samples times heads of the chip, each of `scores` elements and of so many
  /// rows of `head_dim`.
  [[nodiscard]] UnfusedAttention unfused(double rows, double scores, std::int64_t head_dim,
                                         bool backward) const;

 private:
  /// A memory-bound kernel without the factor of the scenario.
  [[nodiscard]] Seconds memory(double bytes) const;
  [[nodiscard]] double sustained(Bits bits) const;

  const Setup& setup_;
};

}  // namespace dfsearch::stack
