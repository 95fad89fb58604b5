#pragma once
// The writer that walks the rows of schemas: what a config says of an object.

#include <string>
#include <string_view>

#include "io/text/json_text.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

/// A value as a config has it, exact; null for nothing, such as what is unlimited.  Of objects those
/// keys that do not just say what holds without them and that code does not read; none with a
/// flag of `left_out`.
Json written(const Type& type, const void* member, unsigned left_out = 0);

template <class T>
Json written(const T& object, unsigned left_out = 0) {
  return written(TypeOf<T>::type, &object, left_out);
}

/// The text of the schema of values of a type.  Beside what JSON Schema has, a key has the word
/// `leftOut` for what holds without it where that is no value, and `published` for its default
/// under that preset: docs/formats.md is made of them.
std::string json_schema(const Type& type, std::string_view title);

}  // namespace dfsearch
