#pragma once
// How much of the exchanges beside a pass is waited for (docs/truth.md, section 11).

#include <algorithm>

#include "base/units.hpp"

namespace dfsearch::stack {

/// The part of exchanges that a share of a pass, `hiding`, does not hide: at least the share
/// `least` of them. docs/truth.md (21)
inline Seconds exposed_beside(Seconds exchanges, Seconds pass, double hiding, double least) {
  return std::max(exchanges - pass * hiding, exchanges * least);
}

}  // namespace dfsearch::stack
