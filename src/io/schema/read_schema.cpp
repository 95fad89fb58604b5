#include "io/schema/read_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "schema/report.hpp"

namespace dfsearch {
namespace {

// More than there are values worth trying, and no count has more divisors.
constexpr std::size_t kMostValues = 1000;
constexpr std::size_t kMostCounts = 10'000;

YamlEntry item_of(const YamlEntry& list, const YamlNode& value) {
  return {.key = list.key, .place = value.place, .value = value};
}

CountRange range_of(const Interval& limits) {
  if (!limits.given()) return {};
  return {.least = static_cast<std::int64_t>(limits.least),
          .most = static_cast<std::int64_t>(limits.most)};
}

/// One value of one type.
class ValueReader {
 public:
  ValueReader(const Field& field, InputMessages& messages) : field_(field), messages_(messages) {}

  bool read(const YamlEntry& entry, const Type& type, void* member) const {
    switch (type.form) {
      case Form::Flag:
        return put(type, member, read_flag(entry, messages_));
      case Form::Count:
        return put(type, member, read_count(entry, range_of(limits(type)), messages_));
      case Form::Number:
        return put_real(type, member,
                        read_number(entry, {limits(type).least, limits(type).most}, messages_));
      case Form::Quantity:
        if (type.inner && is_number(entry.value)) return read(entry, *type.inner, member);
        return put_real(type, member, quantity(entry, *type.unit));
      case Form::Choice:
        return choice(entry, type, member);
      case Form::Word: {
        const std::optional<std::string> word = read_word(entry, messages_);
        if (word) *static_cast<std::string*>(member) = *word;
        return word.has_value();
      }
      case Form::Object: {
        MapReader reader(entry, messages_);
        const std::size_t before = messages_.count();
        read_keys(reader, type.schema(), member);
        reader.finish();
        return messages_.count() == before;
      }
      case Form::Optional:
        type.resize(member, 1);
        if (read(entry, *type.inner, type.at(member, 0))) return true;
        if (type.inner->form != Form::Object) type.resize(member, 0);
        return false;
      case Form::Each:
        return each(entry, type, member);
      case Form::Values:
        return values(entry, type, member);
      case Form::Range:
        return counts(entry, type, member);
      case Form::List:
      case Form::Map:
      case Form::Either:
      case Form::Any:
        break;
    }
    throw InternalError("a row that the reader cannot read");
  }

 private:
  template <class T>
  static bool put(const Type& type, void* member, const std::optional<T>& value) {
    if (value) type.put(member, static_cast<std::int64_t>(*value));
    return value.has_value();
  }
  static bool put_real(const Type& type, void* member, const std::optional<double>& value) {
    if (value) type.put_real(member, *value);
    return value.has_value();
  }

  const Interval& limits(const Type& type) const {
    return type.limits.given() ? type.limits : field_.limits;
  }

  static bool is_number(const YamlNode& value) {
    if (value.type != YamlNode::Type::Scalar) return false;
    try {
      parse_number(value.scalar);
      return true;
    } catch (const InputError&) {
      return false;
    }
  }

  std::optional<double> quantity(const YamlEntry& entry, const Unit& unit) const {
    const std::string text =
        entry.value.type == YamlNode::Type::Scalar ? entry.value.scalar : entry.value.description();
    try {
      const double value = unit.parse(text);
      const Interval& limits = field_.limits;
      if (value >= limits.least && value <= limits.most) return value;
      messages_.add(entry.value.place, entry.key,
                    fmt::format("expected a quantity from {} to {}, got {}",
                                unit.text(limits.least), unit.text(limits.most), in_quotes(text)));
    } catch (const InputError& error) {
      messages_.add(entry.value.place, entry.key, error.messages().front());
    }
    return std::nullopt;
  }

  bool choice(const YamlEntry& entry, const Type& type, void* member) const {
    const std::vector<Choice> choices = type.choices();
    std::vector<std::string_view> names;
    for (const Choice& choice : choices) names.push_back(choice.name);
    if (type.inner) {
      const std::string& text = entry.value.scalar;
      const bool digits =
          !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
      if (digits) return read(entry, *type.inner, member);
      if (std::find(names.begin(), names.end(), text) == names.end()) {
        names.emplace_back("a number");
        messages_.add(
            entry.value.place, entry.key,
            fmt::format("expected {}, got {}", joined_choices(names), entry.value.description()));
        return false;
      }
    }
    const std::optional<std::size_t> index = read_choice(entry, names, messages_);
    if (index) type.put(member, choices[*index].value);
    return index.has_value();
  }

  bool each(const YamlEntry& entry, const Type& type, void* member) const {
    const std::size_t size = type.size(member);
    const bool is_list = entry.value.type == YamlNode::Type::Sequence;
    const std::vector<YamlNode>& items = entry.value.items;
    if (is_list && items.size() != size) {
      messages_.add(entry.value.place, entry.key,
                    fmt::format("expected a number, or a list of one for each of the {} {}, got {}",
                                size, type.name, items.size()));
      return false;
    }
    if (!is_list) {  // read once, and told once
      type.resize(member, std::max<std::size_t>(size, 1));
      bool right = true;
      for (std::size_t i = 0; right && i < type.size(member); ++i) {
        right = read(entry, *type.inner, type.at(member, i));
      }
      type.resize(member, size);
      return right;
    }
    bool right = true;
    for (std::size_t i = 0; i < size; ++i) {
      right = read(item_of(entry, items[i]), *type.inner, type.at(member, i)) && right;
    }
    return right;
  }

  bool values(const YamlEntry& entry, const Type& type, void* member) const {
    const bool is_list = entry.value.type == YamlNode::Type::Sequence;
    const std::size_t size = is_list ? entry.value.items.size() : 1;
    if (size == 0 || size > kMostValues) {
      messages_.add(entry.value.place, entry.key,
                    fmt::format("expected 1 to {} values, got {}", kMostValues, size));
      return false;
    }
    type.resize(member, size);
    bool right = true;
    for (std::size_t i = 0; i < size; ++i) {
      right = read(is_list ? item_of(entry, entry.value.items[i]) : entry, *type.inner,
                   type.at(member, i)) &&
              right;
    }
    if (!right) type.resize(member, 0);
    return right;
  }

  bool counts(const YamlEntry& entry, const Type& type, void* member) const {
    const std::optional<CountSet> set = count_set(entry);
    if (set) type.put_set(member, *set);
    return set.has_value();
  }

  std::optional<CountSet> count_set(const YamlEntry& entry) const {
    const std::size_t before = messages_.count();
    CountSet set;
    const auto add = [&](const YamlEntry& one) {
      if (const auto value = read_count(one, {}, messages_)) set.values.push_back(*value);
    };
    const std::vector<YamlNode>& items = entry.value.items;
    const std::string& text = entry.value.scalar;
    const std::size_t dots = text.find("..");
    if (entry.value.type == YamlNode::Type::Sequence) {
      if (items.empty()) {
        messages_.add(entry.value.place, entry.key, "expected at least one degree, got none");
      }
      if (items.size() > kMostCounts) {
        messages_.add(
            entry.value.place, entry.key,
            fmt::format("expected at most {} degrees, got {}", kMostCounts, items.size()));
        return std::nullopt;
      }
      for (const YamlNode& item : items) add(item_of(entry, item));
    } else if (entry.value.type != YamlNode::Type::Scalar || dots == std::string::npos) {
      add(entry);
    } else {
      const auto end = [&](const std::string& digits, std::int64_t open) {
        YamlEntry bound = entry;
        bound.value.scalar = digits;
        return digits.empty() ? open : read_count(bound, {}, messages_).value_or(open);
      };
      set.least = end(text.substr(0, dots), 1);
      set.most = end(text.substr(dots + 2), kLargestCount);
      if (set.least > set.most) {
        messages_.add(entry.value.place, entry.key,
                      fmt::format("expected a range like '2..8', got {}", in_quotes(text)));
      }
    }
    return messages_.count() == before ? std::optional(set) : std::nullopt;
  }

  const Field& field_;
  InputMessages& messages_;
};

/// Messages of the rules of one struct, whose keys are in one map.
class MapReport final : public Report {
 public:
  MapReport(MapReader& reader, const Schema& schema, void* object)
      : reader_(reader), schema_(schema), object_(object) {}

  [[nodiscard]] bool given(const void* member) const override { return entry(member) != nullptr; }

  void at(std::initializer_list<const void*> members, const std::string& what) override {
    const YamlEntry* first = nullptr;
    for (const void* member : members) {
      const YamlEntry* found = entry(member);
      if (!found) continue;
      const bool over = found->value.place.is_override();
      if (!first || (over && !first->value.place.is_override())) first = found;
    }
    reader_.messages().add(first ? first->value.place : reader_.place(), row(*members.begin()).key,
                           what);
  }

 private:
  [[nodiscard]] const Field& row(const void* member) const {
    for (const Field& field : schema_.fields) {
      if (field.in && field.in(object_) == member && !field.key.empty()) return field;
    }
    throw InternalError("a rule of a member without a key");
  }
  [[nodiscard]] const YamlEntry* entry(const void* member) const {
    return reader_.optional(row(member).key);
  }

  MapReader& reader_;
  const Schema& schema_;
  void* object_;
};

enum class Required : bool { No, Yes };

/// The entry of a row; it is reported if it must be there and is not.
const YamlEntry* entry_of(MapReader& reader, const Field& field, Required required) {
  if (!field.with.empty() && reader.has(field.with)) {
    return reader.required(field.key, fmt::format("it goes with '{}'", field.with));
  }
  const bool needed = (field.required() && required == Required::Yes) ||
                      (!field.unless.empty() && !reader.has(field.unless));
  return needed ? reader.required(field.key, field.why) : reader.optional(field.key);
}

void read_embedded(MapReader& reader, const Type& type, void* member);

bool read_rows(MapReader& reader, const Schema& schema, void* object, Required required) {
  const std::size_t before = reader.messages().count();
  for (const Field& field : schema.fields) {
    if (field.key.empty()) {
      read_embedded(reader, *field.type, field.in(object));
      continue;
    }
    if (!field.in) {
      reader.optional(field.key);
      continue;
    }
    const YamlEntry* entry = entry_of(reader, field, required);
    if (entry) read_value(*entry, field, field.in(object), reader.messages());
  }
  const bool right = reader.is_map() && reader.messages().count() == before;
  if (right && schema.check) {
    MapReport report(reader, schema, object);
    schema.check(object, report);
  }
  return reader.messages().count() == before;
}

void read_embedded(MapReader& reader, const Type& type, void* member) {
  if (type.form != Form::Optional) {
    read_keys(reader, type.schema(), member);
    return;
  }
  const Schema& schema = type.inner->schema();
  type.resize(member, 1);
  read_rows(reader, schema, type.at(member, 0), Required::No);
  const bool there = std::all_of(schema.fields.begin(), schema.fields.end(), [&](const Field& row) {
    return !row.required() || reader.has(row.key);
  });
  if (!there) type.resize(member, 0);
}

}  // namespace

bool read_value(const YamlEntry& entry, const Field& field, void* member, InputMessages& messages) {
  const bool none = !field.none.empty() && entry.value.type == YamlNode::Type::Scalar &&
                    entry.value.scalar == field.none;
  if (none) {
    field.type->resize(member, 0);
    return true;
  }
  return ValueReader(field, messages).read(entry, *field.type, member);
}

bool read_keys(MapReader& reader, const Schema& schema, void* object) {
  return read_rows(reader, schema, object, Required::Yes);
}

}  // namespace dfsearch
