#include "io/text/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/text/input_messages.hpp"

namespace dfsearch {

std::string wrapped(const std::vector<std::string>& words, std::size_t column, std::size_t indent) {
  std::string out;
  bool line_is_empty = true;
  for (const std::string& given : words) {
    const std::string word = escaped(given);
    if (!line_is_empty && column + 1 + word.size() > kReportWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
      line_is_empty = true;
    }
    if (!std::exchange(line_is_empty, false)) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

TextTable::TextTable(std::vector<std::string> header) : header_(std::move(header)) {}

void TextTable::add(std::vector<std::string> cells, std::vector<std::string> words) {
  for (std::string& cell : cells) cell = escaped(cell);
  rows_.push_back({std::move(cells), std::move(words)});
}

std::string TextTable::text() const {
  const std::size_t columns = header_.size() - 1;
  std::vector<std::size_t> widths(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    widths[c] = header_[c].size();
    for (const Row& row : rows_) widths[c] = std::max(widths[c], row.cells[c].size());
  }
  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells,
                            const std::vector<std::string>& words) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      line += fmt::format("{:>{}}  ", cells[c], widths[c]);
    }
    const std::size_t indent = line.size();
    line += wrapped(words, indent, indent);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + '\n';
  };
  add_line(header_, {header_.back()});
  for (const Row& row : rows_) add_line(row.cells, row.words);
  return out;
}

}  // namespace dfsearch
