#pragma once
// Results that came from outside, before anything is made of them.

#include <string>

#include "io/text/json_text.hpp"

namespace dfsearch {

/// Throws InputError, with its place in the text, for each string of a plan or a deployment that is
/// none of the words it may be, and for each count that is none.  `name` stands for the text in
/// messages, and `result` is its content.
void check_result(const Json& result, const std::string& text, const std::string& name);

}  // namespace dfsearch
