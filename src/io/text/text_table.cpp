#include "io/text/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

bool is_numeric(std::string_view text) {
  try {
    parse_number(text);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// Whether a spreadsheet would run the text; the last four are wide forms of the first four.
bool looks_like_formula(std::string_view text) {
  for (const std::string_view first : {"=", "+", "-", "@", "\t", "\r", "\n", "\xef\xbc\x9d",
                                       "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"}) {
    if (text.starts_with(first)) return !is_numeric(text.substr(first == "+" ? 1 : 0));
  }
  return false;
}

}  // namespace

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

std::string csv_cell(const std::string& text) {
  const bool formula = looks_like_formula(text);
  if (!formula && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = formula ? "\"'" : "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string dot_label(std::initializer_list<std::string_view> lines) {
  std::string label = "\"";
  for (const std::string_view line : lines) {
    if (label.size() > 1) label += "\\n";
    for (const char c : escaped(line)) {
      if (c == '"' || c == '\\') label += '\\';
      label += c;
    }
  }
  return label + "\"";
}

}  // namespace dfsearch
