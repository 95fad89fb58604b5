#pragma once
// The writer that walks the rows of schemas: from an object to its config.

#include <string>
#include <string_view>

#include "io/text/json_text.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

/// A value in the form of a config, exact; null for no value, such as an unlimited one.  Objects
/// have the keys that rows read and whose values differ from the default, except keys with a flag
/// in `left_out`.
Json written(const Type& type, const void* member, unsigned left_out = 0);

template <class T>
Json written(const T& object, unsigned left_out = 0) {
  return written(TypeOf<T>::type, &object, left_out);
}

/// The JSON Schema of values of a type as text.  In addition to JSON Schema, a key has the word
/// `leftOut` for the meaning of its absence if that is no value, and `published` for its default
/// under that preset; docs/formats.md is made from them.
std::string json_schema(const Type& type, std::string_view title);

}  // namespace dfsearch
