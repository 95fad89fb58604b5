#pragma once
// The rows of schemas as a JSON Schema (draft-07), for editors and for whoever makes configs.

#include <string>
#include <string_view>

#include "schema/schema.hpp"

namespace dfsearch {

/// The text of the schema of values of a type.  Beside what JSON Schema has, a key has the word
/// `leftOut` for what holds without it where that is no value, and `published` for its default
/// under that preset: docs/formats.md is made of them.
std::string json_schema(const Type& type, std::string_view title);

}  // namespace dfsearch
