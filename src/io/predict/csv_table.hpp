#pragma once
// Comma-separated values with a header, checked cell by cell.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/text/input_messages.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

struct CsvCell {
  std::string text;
  int line = 0, column = 0;
};

using CsvHeader = std::map<std::string, std::size_t, std::less<>>;

/// The cells of one row by the names of their columns; a wrong cell is reported with its place.
class RowReader {
 public:
  RowReader(const CsvHeader& header, const std::vector<CsvCell>& row,
            const std::shared_ptr<const std::string>& source, InputMessages& messages)
      : header_(header), row_(row), source_(source), messages_(messages) {}

  /// The text of a cell; empty if the column is missing or the cell is empty.
  [[nodiscard]] std::string_view text(std::string_view column) const;
  void complain(std::string_view column, const std::string& what) const;
  [[nodiscard]] Place place(std::string_view column) const;

  /// A number from 0 to below 1e15; nothing for an empty cell.
  [[nodiscard]] std::optional<double> number(std::string_view column) const;
  /// A whole number; `preset` for an empty cell.
  [[nodiscard]] std::int64_t count(std::string_view column, std::int64_t preset,
                                   std::int64_t least = 1,
                                   std::int64_t most = 1'000'000'000'000) const;
  /// The index of the word, 0 for an empty cell.
  [[nodiscard]] std::size_t choice(std::string_view column,
                                   const std::vector<std::string_view>& words) const;
  /// Sets the member that a row of a schema has in the object, unless the cell with its key is
  /// empty: words of a set are joined by `+`, flags are 0 or 1.
  void read(const Field& field, void* object) const;

 private:
  [[nodiscard]] const CsvCell* find(std::string_view column) const;

  const CsvHeader& header_;
  const std::vector<CsvCell>& row_;
  const std::shared_ptr<const std::string>& source_;
  InputMessages& messages_;
};

/// A table in memory.  Cells in double quotes may hold commas, lines and doubled quotes.
class CsvTable {
 public:
  /// `source` is for messages; throws InputError without a header.
  CsvTable(const std::string& text, const std::string& source, InputMessages& messages);

  [[nodiscard]] bool has(std::string_view column) const { return header_.contains(column); }
  void need(std::span<const std::string_view> columns, InputMessages& messages) const;
  /// A line for each unknown column whose name is similar to that of a missing one, and one line
  /// for all others; empty if all columns are known.
  [[nodiscard]] std::string unknown_columns(std::span<const std::string_view> known) const;
  /// All rows; each has a cell for each column of the header.
  void each_row(InputMessages& messages, const std::function<void(const RowReader&)>& read) const;

 private:
  const std::shared_ptr<const std::string> source_;
  std::vector<std::vector<CsvCell>> rows_;
  CsvHeader header_;
};

}  // namespace dfsearch
