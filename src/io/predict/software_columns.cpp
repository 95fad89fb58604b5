#include "io/predict/software_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "io/text/input_messages.hpp"
#include "model/stack/stack.hpp"

namespace dfsearch {
namespace {

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

std::vector<std::string_view> software_columns() {
  std::vector<std::string_view> columns;
  for (const Field& field : schema_of<stack::Software>().fields) columns.push_back(field.key);
  return columns;
}

void read_software(const RowReader& row, stack::Software& software) {
  for (const Field& field : schema_of<stack::Software>().fields) {
    const std::string_view text = row.text(field.key);
    if (!text.empty()) CellReader(row, field).read(*field.type, field.in(&software), text);
  }
}

}  // namespace dfsearch
