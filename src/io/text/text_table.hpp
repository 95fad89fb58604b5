#pragma once
// Columns and paragraphs of a report in fixed-width text.

#include <string>
#include <vector>

namespace dfsearch {

/// Greatest width of a report in columns, unless a single word is longer.
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

  /// Adds a row: one cell fewer than the header has, and the words of the last column.
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

}  // namespace dfsearch
