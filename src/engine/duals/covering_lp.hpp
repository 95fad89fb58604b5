#pragma once
// The least cost of covering kernels of some classes with sets or fractions of sets, and the duals
// that prove it.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/tree/effort.hpp"

namespace dfsearch {

/// The linear program
///
///     min sum cost(S) x(S),   sum count(S, c) x(S) >= kernels(c) for every class c,
///                             sum x(S) <= limit(g) over the sets of every group g,   x >= 0
///
/// over sets that are added as they are found.  Costs are whole numbers, up to 2^53.  The program
/// is solved in floating point: the solution is accurate but not exact.  Used by one thread.
class CoveringLp {
 public:
  struct Class {
    double cost = 0.0;  ///< the cost of one of its kernels alone; finite, not negative
    std::size_t group = 0;
    std::int64_t kernels = 1;
  };
  /// The program begins with the sets of one kernel.
  CoveringLp(const std::vector<Class>& classes, std::vector<double> limits);

  /// Number of kernels of one class in a set.
  struct Count {
    std::size_t of = 0;  ///< the class
    std::int64_t kernels = 0;
  };
  void add(const std::vector<Count>& counts, std::size_t group, double cost);

  enum class Outcome : std::uint8_t { Solved, OutOfWork, Failed };
  /// Solves the program with the sets added so far, from the basis of the last call.  Counts `work`
  /// down.  Failed: rounding errors are too large.
  Outcome solve(Work& work);

  /// The dual of a kernel of each class in the last solution, in the unit of the costs.  No set
  /// costs less than the duals of its kernels minus the charge of its group, except for about
  /// kNoise.
  [[nodiscard]] const std::vector<long double>& duals() const { return duals_; }
  [[nodiscard]] const std::vector<long double>& charges() const { return charges_; }

  static constexpr long double kNoise = 1.0L / 64;

 private:
  /// The columns in flat arrays, so that pricing reads memory in sequence.
  struct Columns {
    std::vector<double> cost;
    std::vector<std::uint32_t> group;
    std::vector<std::uint32_t> begin{0};  // first count of each column, and the end
    std::vector<std::uint32_t> of;        // the class
    std::vector<double> kernels;
    [[nodiscard]] std::size_t size() const { return cost.size(); }
  };
  // Rows: one per class, then one per group.  Variables, in this order: the surplus of each class,
  // the room of each group below its limit, its sets beyond the limit, and the columns.
  [[nodiscard]] std::size_t room(std::size_t group) const { return size_ + group; }
  [[nodiscard]] std::size_t beyond(std::size_t group) const { return rows_ + group; }
  [[nodiscard]] std::size_t column(std::size_t place) const { return 2 * rows_ - size_ + place; }

  [[nodiscard]] long double reduced_cost(std::size_t variable) const;
  void refine_duals();
  void add_to_duals(std::size_t row, long double times);
  [[nodiscard]] std::size_t entering() const;
  void find_direction(std::size_t variable);
  [[nodiscard]] std::size_t leaving() const;
  void pivot(std::size_t row, std::size_t variable, long double reduced);
  [[nodiscard]] double& inverse(std::size_t row, std::size_t column) {
    return inverse_[row * rows_ + column];
  }
  [[nodiscard]] double inverse(std::size_t row, std::size_t column) const {
    return inverse_[row * rows_ + column];
  }

  std::size_t size_;  // classes
  std::size_t rows_;
  double beyond_cost_ = 0.0;
  Columns columns_;
  std::vector<std::size_t> basis_;      // variable per row
  std::vector<double> values_;          // of the basic variables
  std::vector<double> inverse_;         // of the basis, rows x rows
  std::vector<long double> row_duals_;  // dual values
  std::vector<long double> missing_;    // scratch of refine_duals
  std::vector<double> direction_;       // how the basic variables fall as the entering one rises
  std::vector<long double> duals_;
  std::vector<long double> charges_;
};

}  // namespace dfsearch
