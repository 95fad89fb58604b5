#pragma once
// Modules that a quantized checkpoint keeps in 16 bits.

#include <string>
#include <string_view>
#include <vector>

#include "model/serving/task.hpp"

namespace dfsearch {

/// Whether a pattern of a list of modules names this module or one around it: the words of a part of
/// the name, a shell pattern of all of it, or after "re:" a regular expression, of which ".*", "\\.",
/// "^", "$" and one choice "(a|b)" are understood.
bool keeps(std::string_view pattern, const std::string& module);

/// The modules of which `patterns` name all matrices, of attention all but its projection, in one of
/// the layers that they mention: the middle one.
std::vector<serving::Module> kept_modules(const std::vector<std::string>& patterns);

}  // namespace dfsearch
