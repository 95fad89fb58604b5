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

void check_at(const Json& value, const std::string& path) {
  if (value.is_number() && value.get<double>() < 0.0) {
    throw InternalError(fmt::format("the answer has a negative number: {} {}", path, value.dump()));
  }
  if (!value.is_structured()) return;
  for (const auto& [key, inner] : value.items()) {
    if (!may_be_negative(key))
      check_at(inner, path.empty() ? key : fmt::format("{}.{}", path, key));
  }
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

void check_signs(const Json& answer) { check_at(answer, ""); }

}  // namespace dfsearch
