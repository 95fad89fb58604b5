// The revised simplex method (Dantzig 1953) with a dense inverse of the basis: each class of
// kernels has a row, and columns come one by one.  It begins with a basis of single kernels, which
// covers everything and is its own inverse except for the rows of the limits.
//
// Covering programs are degenerate: most pivots would not change the solution, and the method could
// cycle.  So the right-hand side of each class is raised slightly, by a different amount for each.
// The duals of a basis do not depend on the right-hand side, so the duals of an optimal basis are
// exact.

#include "engine/duals/covering_lp.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch {
namespace {

// Cost of each set beyond the limit, as a share of the sum of the costs of all kernels alone.  A
// higher cost would make the duals huge.
constexpr double kBeyond = 1.0 / 16;
constexpr double kPivot = 1e-9;  // least element to pivot on
constexpr double kPerturbation = 1e-5;
constexpr std::size_t kNone = ~std::size_t{0};

/// The i-th of numbers that spread evenly over 0 to 1, without a pattern that rows could share.
double scattered(std::size_t i) {
  const double golden = 0.6180339887498949 * static_cast<double>(i + 1);
  return golden - std::floor(golden);
}

}  // namespace

CoveringLp::CoveringLp(const std::vector<Class>& classes, std::vector<double> limits)
    : size_(classes.size()),
      rows_(size_ + limits.size()),
      basis_(rows_),
      values_(rows_),
      inverse_(rows_ * rows_, 0.0),
      row_duals_(rows_),
      missing_(rows_),
      direction_(rows_),
      duals_(size_),
      charges_(limits.size()) {
  std::vector<double> sets(limits.size(), 0.0);
  for (std::size_t c = 0; c < size_; ++c) {
    const auto kernels = static_cast<double>(classes[c].kernels);
    limits[classes[c].group] += kPerturbation * kernels;
    basis_[c] = column(c);
    add({{.of = c, .kernels = 1}}, classes[c].group, classes[c].cost);
    values_[c] = kernels * (1.0 + kPerturbation * scattered(c));
    sets[classes[c].group] += values_[c];
    inverse(c, c) = 1.0;
    beyond_cost_ += kBeyond * classes[c].cost * kernels;
  }
  for (std::size_t g = 0; g < limits.size(); ++g) {
    // The row is limit = sets + room - beyond.  The limit was raised by the perturbation of each
    // kernel; otherwise a limit that allows all kernels to be alone would bind.
    const double sign = sets[g] <= limits[g] ? 1.0 : -1.0;
    const std::size_t row = size_ + g;
    basis_[row] = sets[g] <= limits[g] ? room(g) : beyond(g);
    values_[row] = std::abs(limits[g] - sets[g]);
    inverse(row, row) = sign;
    for (std::size_t c = 0; c < size_; ++c) {
      if (classes[c].group == g) inverse(row, c) = -sign;
    }
  }
}

void CoveringLp::add(const std::vector<Count>& counts, std::size_t group, double cost) {
  for (const Count& count : counts) {
    columns_.of.push_back(static_cast<std::uint32_t>(count.of));
    columns_.kernels.push_back(static_cast<double>(count.kernels));
  }
  columns_.begin.push_back(static_cast<std::uint32_t>(columns_.of.size()));
  columns_.group.push_back(static_cast<std::uint32_t>(group));
  columns_.cost.push_back(cost);
}

CoveringLp::Outcome CoveringLp::solve(Work& work) {
  refine_duals();
  bool exact = true;
  while (work > 0) {
    work -= static_cast<Work>(rows_ * rows_ + 12 * columns_.size() + 1);
    const std::size_t variable = entering();
    if (variable == kNone) {
      if (exact) return Outcome::Solved;
      refine_duals();
      exact = true;
      continue;
    }
    find_direction(variable);
    const std::size_t row = leaving();
    if (row == kNone) return Outcome::Failed;  // a rounding error, as costs are positive
    pivot(row, variable, reduced_cost(variable));
    exact = false;
  }
  return Outcome::OutOfWork;
}

long double CoveringLp::reduced_cost(std::size_t variable) const {
  if (variable < size_) return row_duals_[variable];
  if (variable < rows_) return -row_duals_[variable];
  if (variable < column(0))
    return static_cast<long double>(beyond_cost_) + row_duals_[variable - rows_ + size_];
  const std::size_t set = variable - column(0);
  long double reduced =
      static_cast<long double>(columns_.cost[set]) - row_duals_[size_ + columns_.group[set]];
  for (std::size_t i = columns_.begin[set]; i < columns_.begin[set + 1]; ++i) {
    reduced -= static_cast<long double>(columns_.kernels[i]) * row_duals_[columns_.of[i]];
  }
  return reduced;
}

/// Adds a multiple of a row of the inverse to the duals.
void CoveringLp::add_to_duals(std::size_t row, long double times) {
  for (std::size_t c = 0; c < rows_; ++c) {
    const double part = inverse(row, c);
    if (part != 0.0) row_duals_[c] += times * static_cast<long double>(part);
  }
}

/// Computes the duals at which every basic variable has reduced cost zero.  The inverse has
/// rounding errors, so a second pass corrects the duals by the reduced costs that are left.
void CoveringLp::refine_duals() {
  for (int refinement = 0; refinement < 2; ++refinement) {
    for (std::size_t row = 0; row < rows_; ++row) missing_[row] = reduced_cost(basis_[row]);
    for (std::size_t row = 0; row < rows_; ++row) {
      if (missing_[row] == 0.0L) continue;
      add_to_duals(row, missing_[row]);
    }
  }
  for (std::size_t c = 0; c < size_; ++c) duals_[c] = std::max(0.0L, row_duals_[c]);
  for (std::size_t g = 0; g < charges_.size(); ++g) {
    charges_[g] = std::max(0.0L, -row_duals_[size_ + g]);
  }
}

/// The variable of least reduced cost; kNone if that is no lower than -kNoise.
std::size_t CoveringLp::entering() const {
  std::size_t best = kNone;
  long double least = -kNoise;
  for (std::size_t variable = 0; variable < column(columns_.size()); ++variable) {
    const long double reduced = reduced_cost(variable);
    if (reduced >= least) continue;
    least = reduced;
    best = variable;
  }
  return best;
}

void CoveringLp::find_direction(std::size_t variable) {
  for (std::size_t row = 0; row < rows_; ++row) {
    double& falls = direction_[row];
    if (variable < size_) {
      falls = -inverse(row, variable);
    } else if (variable < rows_) {
      falls = inverse(row, variable);
    } else if (variable < column(0)) {
      falls = -inverse(row, variable - rows_ + size_);
    } else {
      const std::size_t set = variable - column(0);
      falls = inverse(row, size_ + columns_.group[set]);
      for (std::size_t i = columns_.begin[set]; i < columns_.begin[set + 1]; ++i) {
        falls += columns_.kernels[i] * inverse(row, columns_.of[i]);
      }
    }
  }
}

std::size_t CoveringLp::leaving() const {
  std::size_t best = kNone;
  double least = 0.0;
  for (std::size_t row = 0; row < rows_; ++row) {
    if (direction_[row] < kPivot) continue;
    const double ratio = values_[row] / direction_[row];
    // Among equal ratios the greatest element is chosen, for accuracy.
    if (best == kNone || ratio < least || (ratio == least && direction_[row] > direction_[best])) {
      best = row;
      least = ratio;
    }
  }
  return best;
}

void CoveringLp::pivot(std::size_t row, std::size_t variable, long double reduced) {
  const double step = values_[row] / direction_[row];
  double* const own = inverse_.data() + row * rows_;
  for (std::size_t c = 0; c < rows_; ++c) own[c] /= direction_[row];
  for (std::size_t r = 0; r < rows_; ++r) {
    const double falls = direction_[r];
    if (r == row || falls == 0.0) continue;
    values_[r] = std::max(0.0, values_[r] - step * falls);
    double* const other = inverse_.data() + r * rows_;
    for (std::size_t c = 0; c < rows_; ++c) other[c] -= falls * own[c];
  }
  add_to_duals(row, reduced);
  values_[row] = step;
  basis_[row] = variable;
}

}  // namespace dfsearch
