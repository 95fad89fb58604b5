// Where overpaid sets are looked for, step by step.

#include "engine/duals/dual_smoothing.hpp"

#include <doctest/doctest.h>

namespace dfsearch {
namespace {

Duals duals_of(FineTicks first, FineTicks second, FineTicks charge) {
  Duals duals;
  duals.kernels = {first, second};
  duals.charge = {charge, 0};
  return duals;
}

}  // namespace

TEST_CASE("duals go half way to those of the program, and all the way when asked again") {
  DualSmoothing smoothing;
  CHECK(smoothing.towards(duals_of(100, 0, 8)) == duals_of(100, 0, 8));
  CHECK(smoothing.towards(duals_of(0, 40, 0)) == duals_of(50, 20, 4));
  CHECK(smoothing.towards(duals_of(10, 20, 4)) == duals_of(30, 20, 4));
  CHECK(smoothing.towards(duals_of(10, 20, 4)) == duals_of(10, 20, 4));
  CHECK(smoothing.towards(duals_of(10, 20, 4)) == duals_of(10, 20, 4));
  CHECK(smoothing.towards(duals_of(20, 0, 4)) == duals_of(15, 10, 4));
}

}  // namespace dfsearch
