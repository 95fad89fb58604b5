// The duals of a program that knows few sets leap to and fro, and sets that these overpay by much are
// of little use to the next one.  Between its duals and those before (Neame 1999) fewer programs are
// solved until none is overpaid.  What is found there is a set like any other: whether it is overpaid
// matters to nobody, as the last duals are those of the program itself.

#include "engine/duals/dual_smoothing.hpp"

namespace dfsearch {

const Duals& DualSmoothing::towards(const Duals& duals) {
  if (given_.kernels.empty() || wanted_ == duals) {
    given_ = duals;
  } else {
    const auto half_way = [](FineTicks a, FineTicks b) { return a + (b - a) / 2; };
    for (std::size_t p = 0; p < duals.kernels.size(); ++p) {
      given_.kernels[p] = half_way(given_.kernels[p], duals.kernels[p]);
    }
    for (std::size_t g = 0; g < duals.charge.size(); ++g) {
      given_.charge[g] = half_way(given_.charge[g], duals.charge[g]);
    }
  }
  wanted_ = duals;
  return given_;
}

}  // namespace dfsearch
