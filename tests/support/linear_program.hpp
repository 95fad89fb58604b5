#pragma once
// A simplex method to be read, not to be fast: one dense tableau, Bland's rule.

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace dfsearch::test {

struct LinearProgram {
  std::vector<long double> gains;              ///< per variable
  std::vector<std::vector<long double>> rows;  ///< coefficients of each constraint
  std::vector<long double> most;               ///< of each row, not negative
};

/// The maximum of gains * x over rows * x <= most, x >= 0, which must be bounded.  The rows
/// are small whole numbers.
inline long double maximum(LinearProgram program) {
  constexpr long double kZero = 1e-9L;
  const std::size_t rows = program.rows.size();
  const std::size_t variables = program.gains.size();
  // One slack variable a row; they are the first basis.
  auto& table = program.rows;
  std::vector<std::size_t> basis(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    table[r].resize(variables + rows, 0.0L);
    table[r][variables + r] = 1.0L;
    basis[r] = variables + r;
  }
  std::vector<long double> gains = program.gains;
  gains.resize(variables + rows, 0.0L);
  long double value = 0.0L;
  for (int pivots = 0; pivots < 10'000; ++pivots) {
    std::size_t entering = 0;
    while (entering < gains.size() && gains[entering] <= kZero) ++entering;
    if (entering == gains.size()) return value;
    std::size_t leaving = rows;
    for (std::size_t r = 0; r < rows; ++r) {
      if (table[r][entering] <= kZero) continue;
      if (leaving == rows) {
        leaving = r;
        continue;
      }
      const long double ratio = program.most[r] / table[r][entering];
      const long double least = program.most[leaving] / table[leaving][entering];
      if (ratio < least || (ratio == least && basis[r] < basis[leaving])) leaving = r;
    }
    if (leaving == rows) throw std::logic_error("unbounded");
    const long double pivot = table[leaving][entering];
    for (long double& element : table[leaving]) element /= pivot;
    program.most[leaving] /= pivot;
    for (std::size_t r = 0; r < rows; ++r) {
      const long double times = table[r][entering];
      if (r == leaving || times == 0.0L) continue;
      for (std::size_t c = 0; c < gains.size(); ++c) table[r][c] -= times * table[leaving][c];
      program.most[r] -= times * program.most[leaving];
    }
    const long double times = gains[entering];
    for (std::size_t c = 0; c < gains.size(); ++c) gains[c] -= times * table[leaving][c];
    value += times * program.most[leaving];
    basis[leaving] = entering;
  }
  throw std::logic_error("too many pivots");
}

}  // namespace dfsearch::test
