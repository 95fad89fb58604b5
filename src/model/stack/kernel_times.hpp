#pragma once

// The time of one kernel on a measured chip (docs/truth.md, section 1).

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/units.hpp"
#include "model/stack/stack.hpp"

namespace dfsearch::stack {

/// Attention without a fused kernel, in one direction.
struct UnfusedAttention {
  Seconds products{};
  Seconds passes{};      ///< softmax and dropout, over the scores
  double flop = 0.0;     ///< FLOP of the products
  double moved = 0.0;    ///< bytes of the passes
  bool is_slow = false;  ///< the fused softmax cannot be used
};

/// Refers to the setup, which outlives it.  All times belong to its scenario.
class KernelTimes {
 public:
  explicit KernelTimes(const Setup& setup) : setup_(setup) {}

  /// A pass over `bytes`: at least 3 us, but no time for zero bytes.
  /// docs/truth.md (2)
  [[nodiscard]] Seconds pass(double bytes) const;
  /// A product with these FLOP and bytes on one chip; `rate` is a factor on the rate of the curve.
  /// docs/truth.md (3)
  [[nodiscard]] Seconds product(double flop, double bytes, Bits bits, double rate = 1.0) const;
  /// Fused attention of `flop` over samples of `tokens`.
  [[nodiscard]] Seconds attention(double flop, std::int64_t tokens, std::int64_t head_dim,
                                  bool backward, bool ring) const;
  /// Attention that is not fused: `rows` (samples times heads of the chip) of `scores` scores each,
  /// with queries and keys of `head_dim` words.
  [[nodiscard]] UnfusedAttention unfused(double rows, double scores, std::int64_t head_dim,
                                         bool backward) const;
  /// The kernels of a scan by their FLOP in products, in a delta rule, and in elementwise work.
  /// docs/truth.md, section 1
  [[nodiscard]] Seconds scan(double products, double delta_rule, double elementwise) const;
  [[nodiscard]] Seconds index(double flop) const;

 private:
  /// The time of a memory-bound kernel without the factor of the scenario.
  [[nodiscard]] Seconds memory(double bytes) const;
  [[nodiscard]] double sustained(Bits bits) const;

  const Setup& setup_;
};

/// Bytes that move to update a weight from its gradient, its copy of 32 bits and two moments; and
/// the share of the bandwidth at which they move.
inline constexpr double kOptimizerBytes = 34.0, kOptimizerShare = 0.7;
/// The exposed share of the hops of a micro-batch; while the pipeline fills, hops are exposed in
/// full.
inline constexpr double kExposedHops = 0.3;
/// The least share of the exchanges of replicas that is exposed.
inline constexpr double kLeastExposed = 0.1;

/// The time of device and host that work side by side.  It is between the greater of both times and
/// their sum, and never falls if one of them rises.  The greater the exponent, the more each hides
/// the other.
/// docs/truth.md (7)
inline Seconds side_by_side(Seconds device, Seconds host, double exponent) {
  const Seconds more = std::max(device, host), less = std::min(device, host);
  if (!(less > Seconds{})) return more;
  return more * std::pow(1.0 + std::pow(less / more, exponent), 1.0 / exponent);
}

}  // namespace dfsearch::stack
