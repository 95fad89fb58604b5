#pragma once
// The root of a function that never falls.

namespace dfsearch::serving {

/// Returns a root of `excess`, which is `below` at `low` and `above` at `high`, of opposite signs,
/// by regula falsi (Illinois).  There the value of `excess` is at most `tolerance` away from 0, or
/// it is the high end of an interval without numbers inside.
template <class Excess>
double rising_root(double low, double below, double high, double above, double tolerance,
                   const Excess& excess) {
  for (int step = 0; step < 200; ++step) {
    double middle = (low * above - high * below) / (above - below);
    if (!(low < middle && middle < high)) middle = (low + high) / 2.0;
    if (!(low < middle && middle < high)) break;
    const double rest = excess(middle);
    if (rest <= tolerance && rest >= -tolerance) return middle;
    if (rest > 0.0) {
      if (high - middle < (high - low) / 2.0) below /= 2.0;
      high = middle;
      above = rest;
    } else {
      if (middle - low < (high - low) / 2.0) above /= 2.0;
      low = middle;
      below = rest;
    }
  }
  return high;
}

}  // namespace dfsearch::serving
