#pragma once
// The content of an answer for people, as blocks: lines of text, facts, parts of a whole, tables.
// `text_of` prints the blocks as a report; a page shows the facts (io/html).

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/units_text.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {

/// Labels and values.  A value with an empty label continues the previous one.
struct Facts {
  std::vector<std::pair<std::string, std::string>> rows;
};

/// Parts of a whole, each a line with its share.
struct Parts {
  struct Row {
    std::string name, text;
    double share = 0.0;
  };
  std::string title;
  std::vector<Row> rows;
};

/// The parts that are not zero, with their shares of the whole.
template <class Quantity>
Parts parts_of(std::string title, Quantity whole,
               std::initializer_list<std::pair<std::string_view, Quantity>> all) {
  Parts parts{.title = std::move(title), .rows = {}};
  for (const auto& [name, part] : all) {
    if (part > Quantity{}) parts.rows.push_back({std::string(name), to_text(part), part / whole});
  }
  return parts;
}

/// A title, rows, and lines of notes below them.
struct TitledTable {
  std::string title;
  TextTable table;
  std::string notes{};
};

/// Blocks in order; text blocks are whole lines.
class Sheet {
 public:
  using Block = std::variant<std::string, Facts, Parts, TitledTable>;

  Sheet() = default;
  template <class Content>
  requires(!std::is_same_v<std::remove_cvref_t<Content>, Sheet> &&
           std::is_constructible_v<Block, Content&&>)
      Sheet(Content&& content) {  // NOLINT(google-explicit-constructor): a block is a sheet
    add(Block(std::forward<Content>(content)));
  }

  /// Facts that follow facts become one block.
  Sheet& operator+=(Sheet other);
  friend Sheet operator+(Sheet first, Sheet second) {
    return std::move(first += std::move(second));
  }

  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  [[nodiscard]] bool empty() const { return blocks_.empty(); }
  /// Inserts facts after the first block.
  void insert_after_title(Facts facts);

 private:
  void add(Block block);

  std::vector<Block> blocks_;
};

/// The report: columns of at most kReportWidth.
std::string text_of(const Sheet& sheet);

}  // namespace dfsearch
