#pragma once

// The time of one kernel on a measured chip (docs/truth.md, section 1).

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/units.hpp"
#include "model/stack/stack.hpp"

namespace dfsearch::stack {

/// Scores of attention without a fused kernel, of one pass.
struct UnfusedAttention {
  Seconds products{};
  Seconds passes{};      ///< softmax and dropout, over the scores
  double flop = 0.0;     ///< of the products
  double moved = 0.0;    ///< bytes of the passes
  bool is_slow = false;  ///< the fused softmax cannot be used
};

/// Refers to the setup, which outlives it.  All times belong to its scenario.
class KernelTimes {
 public:
  explicit KernelTimes(const Setup& setup) : setup_(setup) {}

  /// A pass over `bytes`; none is free, and none takes less than 3 us.
  /// docs/truth.md (2)
  [[nodiscard]] Seconds pass(double bytes) const;
  /// A product of FLOP and bytes on one chip; `rate` is of the curve.
  /// docs/truth.md (3)
  [[nodiscard]] Seconds product(double flop, double bytes, Bits bits, double rate = 1.0) const;
  /// Fused attention of `flop` over samples of `tokens`.
  [[nodiscard]] Seconds attention(double flop, std::int64_t tokens, std::int64_t head_dim,
                                  bool backward, bool ring) const;
  /// `rows` of scores, samples times heads of the chip, each of `scores` elements; `head_dim` gives
  /// the words of a row of queries or keys.
  [[nodiscard]] UnfusedAttention unfused(double rows, double scores, std::int64_t head_dim,
                                         bool backward) const;
  /// The kernels of a scan by their FLOP: of products, of a delta rule, and of no products.
  /// docs/truth.md, section 1
  [[nodiscard]] Seconds scan(double products, double delta_rule, double elementwise) const;
  [[nodiscard]] Seconds index(double flop) const;

 private:
  /// A memory-bound kernel without the factor of the scenario.
  [[nodiscard]] Seconds memory(double bytes) const;
  [[nodiscard]] double sustained(Bits bits) const;

  const Setup& setup_;
};

/// A weight is updated from its gradient, its copy of 32 bits and two moments: bytes that move, at
/// this share of the bandwidth.
inline constexpr double kOptimizerBytes = 34.0, kOptimizerShare = 0.7;
/// The exposed share of the hops of every micro-batch; as the pipeline fills all are.
inline constexpr double kExposedHops = 0.3;
/// The least share of the exchanges of replicas that is exposed.
inline constexpr double kLeastExposed = 0.1;

/// At least the greater of both, at most their sum, and never falls if one of them rises.  The
/// greater the exponent, the more each hides the other.
/// docs/truth.md (7)
inline Seconds side_by_side(Seconds device, Seconds host, double exponent) {
  const Seconds more = std::max(device, host), less = std::min(device, host);
  if (!(less > Seconds{})) return more;
  return more * std::pow(1.0 + std::pow(less / more, exponent), 1.0 / exponent);
}

}  // namespace dfsearch::stack
