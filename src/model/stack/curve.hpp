#pragma once
// A measured share of a peak rate by the work of one kernel (docs/truth.md, section 1).

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.hpp"

namespace dfsearch::stack {

inline double amount(std::int64_t count) { return static_cast<double>(count); }
template <int... exponents>
double amount(Quantity<exponents...> quantity) {
  return quantity.in_base_units();
}

/// Shares at some amounts of work (FLOP, bytes or tokens of a sample), which rise; linear in the
/// logarithm of the work between them and level beyond them.  `low` and `high` are empty or around
/// `share`.
template <class Work>
struct Curve {
  std::vector<Work> work;
  std::vector<double> share, low, high;

  [[nodiscard]] bool given() const { return !work.empty(); }

  /// docs/truth.md (1)
  [[nodiscard]] double at(double work_of_one) const {
    if (!(work_of_one > amount(work.front()))) return share.front();
    std::size_t i = 1;
    while (i < work.size() && amount(work[i]) < work_of_one) ++i;
    if (i == work.size()) return share.back();
    const double from = amount(work[i - 1]), to = amount(work[i]);
    return share[i - 1] +
           (share[i] - share[i - 1]) * (std::log(work_of_one / from) / std::log(to / from));
  }
};

}  // namespace dfsearch::stack
