#pragma once
// JSON that came from outside.

#include <string>

#include "io/text/json_text.hpp"

namespace dfsearch {

/// `name` stands for the text in the InputError that is thrown for text that is no JSON object, or
/// is nested too deep to be one of ours.
Json parse_json_object(const std::string& text, const std::string& name);

/// The message of the library without the number it gives it.
std::string what_is_wrong(const Json::exception& error);

}  // namespace dfsearch
