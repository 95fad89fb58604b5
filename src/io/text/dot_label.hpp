#pragma once
// Texts in graphs for Graphviz.

#include <initializer_list>
#include <string>
#include <string_view>

namespace dfsearch {

/// A quoted string of dot that shows the lines one below the other and that nothing in them ends.
std::string dot_label(std::initializer_list<std::string_view> lines);

}  // namespace dfsearch
