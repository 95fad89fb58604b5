#include "io/predict/csv_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/counts.hpp"

namespace dfsearch {
namespace {

std::vector<std::vector<CsvCell>> cells_of(const std::string& text) {
  std::vector<std::vector<CsvCell>> rows;
  std::vector<CsvCell> row;
  int line = 1, column = 1;
  CsvCell cell{.line = 1, .column = 1};
  bool quoted = false;
  const auto end_cell = [&] {
    row.push_back(std::move(cell));
    cell = {.line = line, .column = column + 1};
  };
  const auto end_row = [&] {
    end_cell();
    if (row.size() > 1 || !row.front().text.empty()) rows.push_back(std::move(row));
    row.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      if (quoted && i + 1 < text.size() && text[i + 1] == '"') {
        cell.text += '"';
        ++i;
        ++column;
      } else {
        quoted = !quoted;
      }
    } else if (c == ',' && !quoted) {
      end_cell();
    } else if (c == '\n' && !quoted) {
      end_row();
      cell = {.line = line + 1, .column = 1};
    } else if (c != '\r') {
      cell.text += c;
    }
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  if (!cell.text.empty() || !row.empty()) end_row();
  return rows;
}

/// Reads a cell into the member of a row of a schema.
class CellReader {
 public:
  CellReader(const RowReader& row, const Field& field) : row_(row), field_(field) {}

  void read(const Type& type, void* member, std::string_view text) const {
    switch (type.form) {
      case Form::Optional:
        type.resize(member, 1);
        return read(*type.inner, type.at(member, 0), text);
      case Form::Values:
        return words(type, member, text);
      case Form::Choice:
        return word(type, member, text);
      case Form::Flag:
        return type.put(member, row_.count(field_.key, 0, 0, 1));
      default:
        return type.put(member,
                        row_.count(field_.key, 0, static_cast<std::int64_t>(field_.limits.least),
                                   static_cast<std::int64_t>(field_.limits.most)));
    }
  }

 private:
  void words(const Type& type, void* member, std::string_view text) const {
    const auto marks = std::count(text.begin(), text.end(), '+');
    type.resize(member, static_cast<std::size_t>(marks) + 1);
    for (std::size_t i = 0; i < type.size(member); ++i) {
      const std::size_t end = std::min(text.find('+'), text.size());
      word(*type.inner, type.at(member, i), text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void word(const Type& type, void* member, std::string_view text) const {
    std::vector<std::string_view> names;
    for (const Choice& choice : type.choices()) {
      names.push_back(choice.name);
      if (choice.name == text) return type.put(member, choice.value);
    }
    row_.complain(field_.key,
                  fmt::format("expected {}, got {}", joined_choices(names), in_quotes(text)));
  }

  const RowReader& row_;
  const Field& field_;
};

}  // namespace

std::string_view RowReader::text(std::string_view column) const {
  const CsvCell* cell = find(column);
  return cell ? std::string_view(cell->text) : std::string_view();
}

void RowReader::complain(std::string_view column, const std::string& what) const {
  messages_.add(place(column), column, what);
}

Place RowReader::place(std::string_view column) const {
  const CsvCell* cell = find(column);
  if (!cell) cell = &row_.front();
  return {.source = source_, .line = cell->line, .column = cell->column};
}

std::optional<double> RowReader::number(std::string_view column) const {
  const std::string_view cell = text(column);
  if (cell.empty()) return std::nullopt;
  double value = 0.0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error == std::errc() && end == cell.data() + cell.size() && value >= 0.0 && value < 1e15) {
    return value;
  }
  complain(column, "expected a number from 0, got " + in_quotes(cell));
  return std::nullopt;
}

std::int64_t RowReader::count(std::string_view column, std::int64_t preset, std::int64_t least,
                              std::int64_t most) const {
  const std::optional<double> value = number(column);
  if (!value) return preset;
  if (*value >= dfsearch::number(least) && *value <= dfsearch::number(most) &&
      *value == std::floor(*value)) {
    return static_cast<std::int64_t>(*value);
  }
  complain(column, fmt::format("expected a whole number from {} to {}, got {}", least, most,
                               in_quotes(text(column))));
  return preset;
}

std::size_t RowReader::choice(std::string_view column,
                              const std::vector<std::string_view>& words) const {
  const std::string_view cell = text(column);
  if (cell.empty()) return 0;
  const auto found = std::find(words.begin(), words.end(), cell);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  complain(column, fmt::format("expected {}, got {}", joined_choices(words), in_quotes(cell)));
  return 0;
}

void RowReader::read(const Field& field, void* object) const {
  const std::string_view cell = text(field.key);
  if (!cell.empty()) CellReader(*this, field).read(*field.type, field.in(object), cell);
}

const CsvCell* RowReader::find(std::string_view column) const {
  const auto found = header_.find(column);
  return found == header_.end() || found->second >= row_.size() ? nullptr : &row_[found->second];
}

CsvTable::CsvTable(const std::string& text, const std::string& source, InputMessages& messages)
    : source_(std::make_shared<const std::string>(source)), rows_(cells_of(text)) {
  if (rows_.empty()) {
    messages.add({.source = source_, .line = 1, .column = 1}, "",
                 "expected a line with the names of columns, got none");
  }
  messages.throw_if_any();
  for (std::size_t i = 0; i < rows_.front().size(); ++i) {
    const CsvCell& cell = rows_.front()[i];
    if (header_.emplace(cell.text, i).second) continue;
    messages.add({.source = source_, .line = cell.line, .column = cell.column}, cell.text,
                 "this column occurs twice");
  }
}

void CsvTable::need(std::span<const std::string_view> columns, InputMessages& messages) const {
  for (const std::string_view column : columns) {
    if (has(column)) continue;
    messages.add({.source = source_, .line = 1, .column = 1}, column, "this column is missing");
  }
}

std::string CsvTable::unknown_columns(std::span<const std::string_view> known) const {
  std::vector<std::string_view> missing;
  for (const std::string_view name : known) {
    if (!has(name)) missing.push_back(name);
  }
  std::string near, others;
  for (const CsvCell& cell : rows_.front()) {
    if (std::find(known.begin(), known.end(), cell.text) != known.end()) continue;
    const std::string meant = suggestion(cell.text, missing);
    if (meant.empty()) {
      others += (others.empty() ? "" : ", ") + in_quotes(cell.text);
      continue;
    }
    const Place place{.source = source_, .line = cell.line, .column = cell.column};
    near += fmt::format("{}: the column {} is unknown and ignored{}\n", place.to_text(),
                        in_quotes(cell.text), meant);
  }
  return others.empty()
             ? near
             : near + escaped(*source_) + ": unknown columns, which are ignored: " + others + "\n";
}

void CsvTable::each_row(InputMessages& messages,
                        const std::function<void(const RowReader&)>& read) const {
  for (std::size_t i = 1; i < rows_.size(); ++i) {
    const std::vector<CsvCell>& row = rows_[i];
    if (row.size() != rows_.front().size()) {
      messages.add({.source = source_, .line = row.front().line, .column = 1}, "",
                   fmt::format("expected {} cells, got {}", rows_.front().size(), row.size()));
      continue;
    }
    read(RowReader(header_, row, source_, messages));
  }
}

}  // namespace dfsearch
