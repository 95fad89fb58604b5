#pragma once
// Texts as cells of comma-separated values, and in graphs for Graphviz.

#include <initializer_list>
#include <string>
#include <string_view>

namespace dfsearch {

/// A text as one cell, quoted where it must be (RFC 4180).  What a spreadsheet would take for a
/// formula and run gets an apostrophe in front, the mark of a text; quotes alone do not keep it
/// from that.
std::string csv_cell(const std::string& text);

/// A quoted string of dot that shows the lines one below the other and that nothing in them ends.
std::string dot_label(std::initializer_list<std::string_view> lines);

}  // namespace dfsearch
