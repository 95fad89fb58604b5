#pragma once
// How bytes become numbers of a row.

#include <vector>

#include "base/units.hpp"

namespace dfsearch {

/// A unit for the bytes of some rows, such that the amounts that rows add up are whole
/// numbers as a rule and capacities at most about a million.
class ByteScale {
 public:
  /// `amounts` are the summands of the rows, `largest` is their largest capacity, which is finite.
  ByteScale(const std::vector<Bytes>& amounts, Bytes largest);

  [[nodiscard]] double amount(Bytes bytes) const { return bytes.in_base_units() / unit_; }
  /// The most that sums of amounts can use of a capacity.
  [[nodiscard]] double capacity(Bytes bytes) const;

 private:
  double divisor_;  // of all amounts
  double unit_;     // the divisor times a power of two
};

}  // namespace dfsearch
