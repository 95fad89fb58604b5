#include "milp/scale.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace dfsearch {

ByteScale::ByteScale(const std::vector<Bytes>& amounts, Bytes largest) {
  // A word is a whole number of bits, so all amounts are eighths.
  std::int64_t divisor = 0;
  for (const Bytes bytes : amounts) {
    const double eighths = 8.0 * bytes.in_base_units();
    if (!(eighths < 0x1p53) || eighths != std::floor(eighths)) {
      divisor = 1;
      break;
    }
    divisor = std::gcd(divisor, static_cast<std::int64_t>(eighths));
  }
  unit_ = divisor_ = static_cast<double>(std::max<std::int64_t>(divisor, 1)) / 8.0;
  while (std::abs(capacity(largest)) > 0x1p20) unit_ *= 2.0;
}

double ByteScale::capacity(Bytes bytes) const {
  return std::floor(bytes.in_base_units() / divisor_) * (divisor_ / unit_);
}

}  // namespace dfsearch
