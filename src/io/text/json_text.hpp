#pragma once
// JSON as text that people can read too: what fits stays on one line.

#include <nlohmann/json.hpp>
#include <string>

namespace dfsearch {

using Json = nlohmann::ordered_json;

/// Objects and arrays that fit in 100 columns on one line, longer ones broken
/// and indented by two; ends in a newline.  Doubles are the shortest text that
/// reads back to the same value, infinities and NaN are null.
std::string json_text(const Json& value);

/// The same on one line, without the newline.
std::string json_line(const Json& value);

/// The text of a JSON string, with its quotes; YAML and dot read it as well.
std::string json_string(const std::string& text);

/// Null for what JSON cannot say: infinity (unlimited) and NaN.
Json json_number(double value);

/// A quantity in SI base units.
template <class Quantity>
requires requires(Quantity quantity) { quantity.in_base_units(); }
Json number(Quantity quantity) { return json_number(quantity.in_base_units()); }

/// Appends without looking whether the key is there: ordered_json searches it
/// in a list, which is quadratic for the thousands of kernels of a whole model.
void append(Json& object, const std::string& key, Json value);

}  // namespace dfsearch
