#pragma once
// A mixed-integer linear program as plain values, for io/lp/lp_text.hpp to write.  It is
// independent of mappings.

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace dfsearch {

/// Entry of a matrix with some known entries: a column, a constant, or the sum of both.
struct Affine {
  static constexpr std::int64_t kNone = -1;
  std::int64_t column = kNone;
  double constant = 0.0;
};

/// The left side of a row: a sum of terms coefficient x column, and a constant.
class LinearSum {
 public:
  struct Term {
    std::int64_t column;
    double coefficient;
  };

  LinearSum() = default;
  LinearSum(std::initializer_list<std::pair<double, Affine>> summands) {
    for (const auto& [coefficient, entry] : summands) add(coefficient, entry);
  }

  LinearSum& add(double coefficient, Affine entry) {
    if (entry.column != Affine::kNone && coefficient != 0.0) {
      terms_.push_back({entry.column, coefficient});
    }
    constant_ += coefficient * entry.constant;
    return *this;
  }

  [[nodiscard]] const std::vector<Term>& terms() const { return terms_; }
  [[nodiscard]] double constant() const { return constant_; }

 private:
  std::vector<Term> terms_;
  double constant_ = 0.0;
};

enum class Sense : std::uint8_t { AtMost, Equal, AtLeast };

/// A program that minimises the sum of cost x column.  Names hold letters, digits and
/// _ . ~ , and one pair of brackets at the end: `A[Q,2]`.
struct LinearModel {
  struct Column {
    std::string name;
    double lower = 0.0;
    double upper = std::numeric_limits<double>::infinity();
    bool integer = false;
    double cost = 0.0;
  };
  struct Row {
    std::string name;
    Sense sense;
    double right;
    std::vector<LinearSum::Term> terms;
  };

  std::vector<std::string> comments;  ///< one line each, at the head of the file
  std::string objective = "cost";     ///< name of the objective
  std::vector<Column> columns;
  std::vector<Row> rows;
  double unit = 1.0;  ///< base units (seconds, bytes) that the number 1 of the objective stands for

  Affine add_binary(std::string name);
  Affine add_fixed(std::string name, double value);
  Affine add_continuous(std::string name, double cost = 0.0);

  /// Adds a row that compares `left` with `right`; constants of `left` move to the right, and terms
  /// of one column are added up.  A row without terms is omitted if it holds and otherwise makes
  /// the model infeasible.
  void add_row(std::string name, const LinearSum& left, Sense sense, double right);
};

/// A unit for the bytes of some rows, with which summands are mostly whole numbers and capacities
/// at most about a million.
class ByteScale {
 public:
  /// `amounts` are the summands of the rows, `largest` is their largest capacity, which is finite.
  ByteScale(const std::vector<Bytes>& amounts, Bytes largest);

  [[nodiscard]] double amount(Bytes bytes) const { return bytes.in_base_units() / unit_; }
  /// The greatest sum of amounts within a capacity, in units.
  [[nodiscard]] double capacity(Bytes bytes) const;

 private:
  double divisor_;  // of all amounts
  double unit_;     // the divisor times a power of two
};

}  // namespace dfsearch
