#pragma once
// What a file is that is none of those that were expected.

#include <string>

namespace dfsearch {

/// "a config of dfsearch" and the like; empty for a text that says nothing of what it is.
std::string kind_of_text(const std::string& text);

}  // namespace dfsearch
