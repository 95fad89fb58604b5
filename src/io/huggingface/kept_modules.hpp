#pragma once
// Modules that a quantized checkpoint keeps in 16 bits.

#include <string>
#include <string_view>
#include <vector>

#include "model/serving/task.hpp"

namespace dfsearch {

/// Returns whether a pattern of a list of modules names this module or one around it: the words of
/// a part of the name, a shell pattern of all of it, or after "re:" a regular expression with ".*",
/// "\\.", "^", "$" and one choice "(a|b)" at most.
bool keeps(std::string_view pattern, const std::string& module);

/// Returns the modules whose matrices are all named by `patterns` (attention: all but its
/// projection) in the middle one of the layers that the patterns mention.
std::vector<serving::Module> kept_modules(const std::vector<std::string>& patterns);

}  // namespace dfsearch
