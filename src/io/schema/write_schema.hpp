#pragma once
// The writer that walks the rows of schemas: from an object to its config.

#include <string>
#include <string_view>

#include "io/text/json_text.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

/// A value in the form of a config, exact; null for nothing, such as an unlimited value.  Objects
/// have the keys whose values differ from the default and that no code reads; none with a flag of
/// `left_out`.
Json written(const Type& type, const void* member, unsigned left_out = 0);

template <class T>
Json written(const T& object, unsigned left_out = 0) {
  return written(TypeOf<T>::type, &object, left_out);
}

/// The text of the schema of values of a type.  In addition to JSON Schema, a key has the word
/// `leftOut` for the meaning of its absence if that is no value, and `published` for its default
/// under that preset; docs/formats.md is made from them.
std::string json_schema(const Type& type, std::string_view title);

}  // namespace dfsearch
