#pragma once
// How the host that issues kernels and the chip that runs them go side by side (docs/truth.md,
// section 3).

#include <algorithm>
#include <cmath>

#include "base/units.hpp"

namespace dfsearch::stack {

/// A weight is updated from its gradient, its copy of 32 bits and two moments: bytes that move, at
/// this share of the bandwidth.
inline constexpr double kOptimizerBytes = 34.0, kOptimizerShare = 0.7;
/// Of the hops of every micro-batch; as the pipeline fills all are.
inline constexpr double kExposedHops = 0.3;
/// Of a distributed optimizer: what of a pass hides its exchanges, and what at least is exposed.
inline constexpr double kHidingPass = 0.8, kLeastExposed = 0.1;
/// Of dispatch across domains: the share of the pass of a layer that hides it.
inline constexpr double kHidingDispatch = 0.7;

/// At least the greater of both, at most their sum, and never less if one of them is more.  The
/// greater the exponent, the better each hides the other.
/// docs/truth.md (7)
inline Seconds side_by_side(Seconds device, Seconds host, double exponent) {
  const Seconds more = std::max(device, host), less = std::min(device, host);
  if (!(less > Seconds{})) return more;
  return more * std::pow(1.0 + std::pow(less / more, exponent), 1.0 / exponent);
}

}  // namespace dfsearch::stack
