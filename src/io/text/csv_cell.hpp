#pragma once
// Cells of comma-separated values.

#include <string>

namespace dfsearch {

/// A text as one cell, quoted where it must be (RFC 4180).  What a spreadsheet would take for a
/// formula and run gets an apostrophe in front, the mark of a text; quotes alone do not keep it from
/// that.
std::string csv_cell(const std::string& text);

}  // namespace dfsearch
