#pragma once
// JSON as text that people can read too: a value that fits stays on one line.  Parsing of JSON from
// users.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>

namespace dfsearch {

using Json = nlohmann::ordered_json;

/// Objects and arrays that fit in 100 columns on one line, longer ones broken
/// and indented by two; ends in a newline.  Doubles are the shortest text that
/// reads back to the same value, infinities and NaN are null.
std::string json_text(const Json& value);

std::string json_line(const Json& value);

/// The text of a JSON string, with its quotes; YAML and dot read it as well.
std::string json_string(const std::string& text);

/// Null for numbers that JSON cannot express: infinity (unlimited) and NaN.
Json json_number(double value);

/// A quantity in SI base units.
template <class Quantity>
requires requires(Quantity quantity) { quantity.in_base_units(); }
Json number(Quantity quantity) { return json_number(quantity.in_base_units()); }

/// The JSON of an optional value; null for nothing.
template <class T>
Json or_null(const std::optional<T>& value) {
  if (!value) return {};
  if constexpr (requires { value->in_base_units(); }) {
    return number(*value);
  } else if constexpr (std::is_same_v<T, double>) {
    return json_number(*value);
  } else {
    return Json(*value);
  }
}

/// A list of the elements, each converted by `json_of`.
template <class Range, class JsonOf>
Json json_list(const Range& range, const JsonOf& json_of) {
  Json list = Json::array();
  for (const auto& element : range) list.push_back(json_of(element));
  return list;
}

/// Appends without searching the key: ordered_json searches linearly, which is quadratic for the
/// thousands of kernels of a whole model.
void append(Json& object, const std::string& key, Json value);

/// Parses a JSON object; throws InputError, with `name` for the text, if it is none or is nested
/// deeper than any result.
Json parse_json_object(const std::string& text, const std::string& name);

/// The message of the library without its number.
std::string what_is_wrong(const Json::exception& error);

}  // namespace dfsearch
