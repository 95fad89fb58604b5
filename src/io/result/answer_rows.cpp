#include "io/result/answer_rows.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace dfsearch {
namespace {

/// Keys of numbers that may be negative: differences (changes by more of a budget, gains of a
/// framework) and coefficients of polynomials.
bool may_be_negative(const std::string& key) {
  return key == "change" || key == "gain" || key == "price_of_peak" || key == "power_of_peak";
}

/// The path to a negative number in the value, and the number; empty if there is none.
std::string negative_in(const Json& value) {
  if (value.is_number() && value.get<double>() < 0.0) return " " + value.dump();
  if (!value.is_structured()) return "";
  std::size_t place = 0;
  for (auto inner = value.begin(); inner != value.end(); ++inner, ++place) {
    if (value.is_object() && may_be_negative(inner.key())) continue;
    const std::string found = negative_in(*inner);
    if (found.empty()) continue;
    return "." + (value.is_object() ? inner.key() : std::to_string(place)) + found;
  }
  return "";
}

}  // namespace

void put(Json& map, AnswerRows rows, const void* object) {
  for (const AnswerRow& row : rows) {
    Json value = object != nullptr ? row.json(object) : Json();
    if (row.only_above_zero && (value.is_null() || value == 0)) continue;
    append(map, std::string(row.key), std::move(value));
  }
}

Json object_json(AnswerRows rows, const void* object) {
  Json map = Json::object();
  put(map, rows, object);
  return map;
}

void check_signs(const Json& answer) {
  const std::string found = negative_in(answer);
  if (!found.empty()) {
    throw InternalError("the answer has a negative number: " + found.substr(1));
  }
}

}  // namespace dfsearch
