#include "io/lp/lp_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

namespace dfsearch {
namespace {

/// Any text as a comment of one line.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

bool is_fixed(const LinearModel::Column& column) { return column.lower == column.upper; }

/// Writes an LP file, broken into lines.
class LpWriter {
 public:
  explicit LpWriter(const LinearModel& model) : model_(model) {}

  std::string text() && {
    for (const std::string& comment : model_.comments) line("\\ " + one_line(comment));
    line("Minimize");
    start(" " + name(model_.objective) + ":");
    for (std::size_t c = 0; c < model_.columns.size(); ++c) {
      if (model_.columns[c].cost != 0.0) {
        term({.column = static_cast<std::int64_t>(c), .coefficient = model_.columns[c].cost});
      }
    }
    end();
    line("Subject To");
    for (const LinearModel::Row& row : model_.rows) write_row(row);
    line("Bounds");
    write_bounds();
    line("Binaries");
    start("");
    for (const LinearModel::Column& column : model_.columns) {
      if (column.integer) word(name(column.name));
    }
    end();
    line("End");
    return std::move(text_);
  }

 private:
  // The readers of LP files stop at lines of 255 to 1024 characters.
  static constexpr std::size_t kWidth = 80;

  static std::string name(std::string text) {
    std::replace(text.begin(), text.end(), '[', '(');
    std::replace(text.begin(), text.end(), ']', ')');
    return text;
  }

  void line(std::string_view text) {
    text_ += text;
    text_ += '\n';
  }
  void start(std::string_view text) {
    text_ += text;
    width_ = text.size();
  }
  void word(std::string_view text) {
    if (width_ > 0 && width_ + 1 + text.size() > kWidth) {
      text_ += '\n';
      width_ = 0;
    }
    text_ += ' ';
    text_ += text;
    width_ += 1 + text.size();
  }
  void end() { text_ += '\n'; }

  /// Sign, number and name stay on one line.
  void term(LinearSum::Term term) {
    const auto column = name(model_.columns[static_cast<std::size_t>(term.column)].name);
    const char sign = term.coefficient < 0.0 ? '-' : '+';
    const double size = std::abs(term.coefficient);
    word(size == 1.0 ? fmt::format("{} {}", sign, column)
                     : fmt::format("{} {} {}", sign, size, column));
  }

  void write_row(const LinearModel::Row& row) {
    start(" " + name(row.name) + ":");
    for (const LinearSum::Term& t : row.terms) term(t);
    const char* sense = "=";
    if (row.sense == Sense::AtMost) sense = "<=";
    if (row.sense == Sense::AtLeast) sense = ">=";
    word(fmt::format("{} {}", sense, row.right));
    end();
  }

  /// Writes only bounds that differ from the default, 0 to infinity; binaries have their own.
  void write_bounds() {
    for (const LinearModel::Column& column : model_.columns) {
      if (column.integer) continue;
      if (is_fixed(column)) line(fmt::format(" {} = {}", name(column.name), column.lower));
    }
  }

  const LinearModel& model_;
  std::string text_;
  std::size_t width_ = 0;
};

char mps_sense(Sense sense) {
  switch (sense) {
    case Sense::AtMost:
      return 'L';
    case Sense::Equal:
      return 'E';
    case Sense::AtLeast:
      return 'G';
  }
  return 'N';
}

class MpsWriter {
 public:
  explicit MpsWriter(const LinearModel& model) : model_(model) {
    entries_.resize(model.columns.size());
    for (std::size_t r = 0; r < model.rows.size(); ++r) {
      for (const LinearSum::Term& term : model.rows[r].terms) {
        entries_[static_cast<std::size_t>(term.column)].push_back({r, term.coefficient});
      }
    }
  }

  std::string text() && {
    for (const std::string& comment : model_.comments) put("* {}\n", one_line(comment));
    put("NAME dfsearch FREE\nROWS\n N {}\n", model_.objective);
    for (const LinearModel::Row& row : model_.rows) put(" {} {}\n", mps_sense(row.sense), row.name);
    put("COLUMNS\n");
    write_columns();
    put("RHS\n");
    for (const LinearModel::Row& row : model_.rows) {
      if (row.right != 0.0) put(" RHS {} {}\n", row.name, row.right);
    }
    put("BOUNDS\n");
    for (const LinearModel::Column& column : model_.columns) {
      if (column.integer) {
        put(" UP BND {} {}\n", column.name, column.upper);
      } else if (is_fixed(column)) {
        put(" FX BND {} {}\n", column.name, column.lower);
      }
    }
    put("ENDATA\n");
    return std::move(text_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void write_columns() {
    bool integer = false;
    int markers = 0;
    const auto mark = [&](const char* which) {
      put(" MARKER{} 'MARKER' '{}'\n", markers++, which);
    };
    for (std::size_t c = 0; c < model_.columns.size(); ++c) {
      const LinearModel::Column& column = model_.columns[c];
      if (column.integer != integer) mark(column.integer ? "INTORG" : "INTEND");
      integer = column.integer;
      // A column without entries must still be named.
      if (column.cost != 0.0 || entries_[c].empty()) {
        put(" {} {} {}\n", column.name, model_.objective, column.cost);
      }
      for (const auto& [row, coefficient] : entries_[c]) {
        put(" {} {} {}\n", column.name, model_.rows[row].name, coefficient);
      }
    }
    if (integer) mark("INTEND");
  }

  const LinearModel& model_;
  std::vector<std::vector<std::pair<std::size_t, double>>> entries_;  // by column: row, number
  std::string text_;
};

}  // namespace

std::string lp_text(const LinearModel& model) { return LpWriter(model).text(); }
std::string mps_text(const LinearModel& model) { return MpsWriter(model).text(); }

}  // namespace dfsearch
