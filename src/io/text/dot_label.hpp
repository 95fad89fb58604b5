#pragma once
// Texts in graphs for Graphviz.

#include <initializer_list>
#include <string>
#include <string_view>

namespace dfsearch {

/// A string of dot, in quotes, of these lines one below the other.  Nothing in them ends it.
std::string dot_label(std::initializer_list<std::string_view> lines);

}  // namespace dfsearch
