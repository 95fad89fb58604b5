#pragma once
// Columns and paragraphs of a report in fixed-width text.
// Cells of comma-separated values, and labels of graphs for Graphviz.

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace dfsearch {

/// Columns no report is wider than, as far as words can be wrapped.
inline constexpr std::size_t kReportWidth = 100;

/// Words with one space between them, wrapped at kReportWidth; every line but
/// the first is indented.  `column` is where the first line starts.  No newline
/// at the end.
std::string wrapped(const std::vector<std::string>& words, std::size_t column, std::size_t indent);

/// Right-aligned columns two spaces apart; the last one holds words, is aligned
/// to the left and wrapped.
class TextTable {
 public:
  /// The header of the wrapped column is the last.
  explicit TextTable(std::vector<std::string> header);

  /// One cell fewer than the header has, and the words of the last column.
  void add(std::vector<std::string> cells, std::vector<std::string> words);

  /// Lines with their newlines.
  [[nodiscard]] std::string text() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::vector<std::string> words;
  };
  std::vector<std::string> header_;
  std::vector<Row> rows_;
};

/// A text as one cell, quoted where it must be (RFC 4180).  What a spreadsheet would take for a
/// formula and run gets an apostrophe in front, the mark of a text; quotes alone do not keep it
/// from that.
std::string csv_cell(const std::string& text);

/// A quoted string of dot that shows the lines one below the other and that nothing in them ends.
std::string dot_label(std::initializer_list<std::string_view> lines);

}  // namespace dfsearch
