#pragma once
// Dollars or watts of a chip by its peak (docs/model.md, section 8).

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace dfsearch {

/// Coefficients, the highest power first, of the polynomial of this degree with the least squares
/// of its differences at these points; they have more different x than the degree.
std::vector<double> least_squares(std::span<const std::pair<double, double>> points,
                                  std::size_t degree);

}  // namespace dfsearch
