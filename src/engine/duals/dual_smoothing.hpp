#pragma once
// Duals that do not leap from one solution of a program to the next.

#include "engine/duals/duals.hpp"

namespace dfsearch {

/// Where overpaid sets are looked for.  Used by one thread.
class DualSmoothing {
 public:
  /// Half way from those that it gave last to these duals of a program; just these at first, and when
  /// they are asked for again: then no set, or none that changes the program, was found half way.
  [[nodiscard]] const Duals& towards(const Duals& duals);

 private:
  Duals given_;
  Duals wanted_;
};

}  // namespace dfsearch
