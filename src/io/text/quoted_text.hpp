#pragma once
// Texts as cells of comma-separated values, and in graphs for Graphviz.

#include <initializer_list>
#include <string>
#include <string_view>

namespace dfsearch {

/// A text as one cell, quoted if necessary (RFC 4180).  Text that a spreadsheet would run as a
/// formula gets an apostrophe in front, which marks a text; quotes would not stop it.
std::string csv_cell(const std::string& text);

/// A quoted string of dot that shows the lines one below the other, with quotes in them escaped.
std::string dot_label(std::initializer_list<std::string_view> lines);

}  // namespace dfsearch
