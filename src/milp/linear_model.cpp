#include "milp/linear_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dfsearch {
namespace {

bool holds(double left, Sense sense, double right) {
  switch (sense) {
    case Sense::AtMost:
      return left <= right;
    case Sense::Equal:
      return left == right;
    case Sense::AtLeast:
      return left >= right;
  }
  return false;
}

/// The terms by column: equal columns are added up, zeros left out.
std::vector<LinearSum::Term> combined(std::vector<LinearSum::Term> terms) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return a.column < b.column; });
  std::vector<LinearSum::Term> sums;
  for (const LinearSum::Term& term : terms) {
    if (!sums.empty() && sums.back().column == term.column) {
      sums.back().coefficient += term.coefficient;
    } else {
      sums.push_back(term);
    }
  }
  std::erase_if(sums, [](const auto& term) { return term.coefficient == 0.0; });
  return sums;
}

}  // namespace

Affine LinearModel::add_binary(std::string name) {
  columns.push_back({.name = std::move(name), .upper = 1.0, .integer = true});
  return {.column = static_cast<std::int64_t>(columns.size()) - 1};
}

Affine LinearModel::add_fixed(std::string name, double value) {
  columns.push_back({.name = std::move(name), .lower = value, .upper = value});
  return {.column = static_cast<std::int64_t>(columns.size()) - 1};
}

Affine LinearModel::add_continuous(std::string name, double cost) {
  columns.push_back({.name = std::move(name), .cost = cost});
  return {.column = static_cast<std::int64_t>(columns.size()) - 1};
}

void LinearModel::add_row(std::string name, const LinearSum& left, Sense sense, double right) {
  right -= left.constant();
  std::vector<LinearSum::Term> terms = combined(left.terms());
  if (terms.empty()) {
    if (holds(0.0, sense, right)) return;
    // No format can write a row without columns: 0 = 1 becomes never = 1 for a column fixed at 0.
    const Affine never = add_fixed("never[" + std::to_string(rows.size()) + "]", 0.0);
    terms.push_back({.column = never.column, .coefficient = 1.0});
    sense = Sense::Equal;
    right = 1.0;
  }
  rows.push_back({.name = std::move(name), .sense = sense, .right = right, .terms = terms});
}

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
