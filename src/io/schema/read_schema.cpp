#include "io/schema/read_schema.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "schema/report.hpp"

namespace dfsearch {
namespace {

// No count has more divisors.
constexpr std::size_t kMostCounts = 10'000;

YamlEntry item_of(const YamlEntry& list, const YamlNode& value) {
  return {.key = list.key, .place = value.place, .value = value};
}

CountRange range_of(const Interval& limits) {
  if (!limits.given()) return {};
  return {.least = static_cast<std::int64_t>(limits.least),
          .most = static_cast<std::int64_t>(limits.most)};
}

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
        return put_real(type, member, read_number(entry, limits(type), messages_));
      case Form::Quantity:
        if (type.inner && is_number(entry.value)) return read(entry, *type.inner, member);
        return put_real(type, member, quantity(entry, *type.unit, limits(type)));
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
        return list(entry, type, member);
      case Form::Variant:
        return variant(entry, type, member);
      case Form::Words:
        return words(entry, type, member);
      case Form::Pair:
        return pair(entry, type, member);
      case Form::Either:
        return read(entry, entry.value.type == YamlNode::Type::Map ? *type.other : *type.inner,
                    member);
      case Form::Map:
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

  std::optional<double> quantity(const YamlEntry& entry, const Unit& unit,
                                 const Interval& limits) const {
    const std::string text =
        entry.value.type == YamlNode::Type::Scalar ? entry.value.scalar : entry.value.description();
    try {
      const double value = unit.parse(text);
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
    auto names = names_of(choices, &Choice::name);
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
    if (!is_list) {  // a single value is read and reported once
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
    if (size == 0 || size > type.most) {
      messages_.add(entry.value.place, entry.key,
                    fmt::format("expected 1 to {} values, got {}", type.most, size));
      return false;
    }
    return is_list ? list(entry, type, member) : each_of(entry, &entry, type, member);
  }

  bool list(const YamlEntry& entry, const Type& type, void* member) const {
    const bool is_list = entry.value.type == YamlNode::Type::Sequence;
    if (is_list && entry.value.items.size() <= type.most) {
      return each_of(entry, nullptr, type, member);
    }
    messages_.add(
        entry.value.place, entry.key,
        is_list
            ? fmt::format("expected at most {} values, got {}", type.most, entry.value.items.size())
            : fmt::format("expected a list{}{}, got {}", type.name.empty() ? "" : " of ", type.name,
                          entry.value.description()));
    return false;
  }

  /// Reads the elements of a list, or the single value `one` in its place.
  bool each_of(const YamlEntry& entry, const YamlEntry* one, const Type& type, void* member) const {
    type.resize(member, one ? 1 : entry.value.items.size());
    bool right = true;
    for (std::size_t i = 0; i < type.size(member); ++i) {
      right = read(one ? *one : item_of(entry, entry.value.items[i]), *type.inner,
                   type.at(member, i)) &&
              right;
    }
    if (!right) type.resize(member, 0);
    return right;
  }

  bool pair(const YamlEntry& entry, const Type& type, void* member) const {
    const std::vector<YamlNode>& items = entry.value.items;
    if (items.size() != 2) {
      messages_.add(
          entry.value.place, entry.key,
          fmt::format("expected a pair of {}, got {}", type.name, entry.value.description()));
      return false;
    }
    const bool right = read(item_of(entry, items[0]), *type.inner, type.at(member, 0));
    return read(item_of(entry, items[1]), *type.other, type.at(member, 1)) && right;
  }

  bool words(const YamlEntry& entry, const Type& type, void* member) const {
    const std::vector<Choice> choices = type.choices();
    const auto names = names_of(choices, &Choice::name);
    const bool is_list = entry.value.type == YamlNode::Type::Sequence;
    if (!is_list && entry.value.scalar != "none") {
      std::string list = joined_choices(names);
      if (const std::size_t last = list.rfind(" or "); last != std::string::npos) {
        list.replace(last, 4, " and ");
      }
      messages_.add(
          entry.value.place, entry.key,
          fmt::format("expected none or a list of {}, got {}", list, entry.value.description()));
      return false;
    }
    bool right = true;
    for (const YamlNode& item : entry.value.items) {
      const auto index = read_choice(item_of(entry, item), names, messages_);
      const bool twice = index && (type.get(member) >> choices[*index].value & 1) != 0;
      if (twice) messages_.add(item.place, entry.key, "expected different values, got one twice");
      if (index) type.put(member, choices[*index].value);
      right = right && index && !twice;
    }
    return right;
  }

  bool variant(const YamlEntry& entry, const Type& type, void* member) const {
    MapReader reader(entry, messages_);
    const std::size_t before = messages_.count();
    const YamlEntry* word = reader.required(type.name);
    std::int64_t value = 0;
    const Type key{.form = Form::Choice,
                   .put = [](void* to, std::int64_t of) { *static_cast<std::int64_t*>(to) = of; },
                   .choices = type.choices};
    // The word determines the keys of the map.
    if (!word || !read(*word, key, &value)) return false;
    read_keys(reader, type.schema_for(value), member);
    reader.finish();
    return messages_.count() == before;
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
    const YamlEntry* first = entry.value.find("from");
    const YamlEntry* last = entry.value.find("to");
    if (first && last && entry.value.entries.size() == 2) {
      set.least = read_count(*first, {}, messages_).value_or(1);
      set.most = read_count(*last, {}, messages_).value_or(kLargestCount);
      if (set.least > set.most) {
        messages_.add(last->value.place, "to", "expected no less than 'from'");
      }
    } else if (entry.value.type == YamlNode::Type::Sequence) {
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
      : reader_(reader), schema_(schema), object_(object), before_(reader.messages().count()) {}

  [[nodiscard]] bool given(const void* member) const override { return entry(member) != nullptr; }
  [[nodiscard]] bool given_any(unsigned flag) const override {
    return find(schema_, object_, [&](const Field& field, const void*) {
      return (field.flags & flag) != 0 && reader_.has(field.key);
    });
  }
  [[nodiscard]] std::size_t count() const override { return reader_.messages().count() - before_; }
  [[nodiscard]] bool wants_more() const override { return reader_.messages().wants_more(); }

  void at(std::initializer_list<const void*> members, const std::string& what) override {
    const YamlEntry* first = nullptr;
    for (const void* member : members) {
      const YamlEntry* found = entry(member);
      if (!found) continue;
      const bool is_override = found->value.place.is_override();
      if (!first || (is_override && !first->value.place.is_override())) first = found;
    }
    reader_.messages().add(first ? first->value.place : reader_.place(), row(*members.begin()).key,
                           what);
  }
  void at_key(const void* member, const std::string& what) override {
    const YamlEntry* found = entry(member);
    reader_.messages().add(found ? found->place : reader_.place(), row(member).key, what);
  }
  void inside(const void* member, std::size_t index, const void* inner,
              const std::string& what) override {
    const Field& outer = row(member);
    const YamlNode& value = entry(member)->value;
    const YamlNode& map = value.type == YamlNode::Type::Sequence ? value.items[index] : value;
    if (!inner) return reader_.messages().add(map.place, outer.key, what);
    const std::string_view key =
        row(outer.type->inner->schema(), outer.type->at(const_cast<void*>(member), index), inner)
            .key;
    const YamlEntry* found = map.find(key);
    reader_.messages().add(found ? found->value.place : map.place, key, what);
  }
  void at_map(const std::string& what) override {
    reader_.messages().add(reader_.place(), reader_.name(), what);
  }

 private:
  /// The row that `is` selects, here or in an object whose keys are in the same map.
  template <class Is>
  static const Field* find(const Schema& schema, void* object, const Is& is) {
    for (const Field& field : schema.fields) {
      void* member = field.in ? field.in(object) : nullptr;
      if (!field.key.empty()) {
        if (is(field, member)) return &field;
      } else if (field.type->form == Form::Object) {
        if (const Field* inner = find(field.type->schema(), member, is)) return inner;
      }
    }
    return nullptr;
  }
  static const Field& row(const Schema& schema, void* object, const void* member) {
    const Field* found = find(schema, object, [&](const Field& field, const void* of) {
      return field.in != nullptr && of == member;
    });
    if (found) return *found;
    throw InternalError("a rule of a member without a key");
  }
  [[nodiscard]] const Field& row(const void* member) const { return row(schema_, object_, member); }
  [[nodiscard]] const YamlEntry* entry(const void* member) const {
    return reader_.optional(row(member).key);
  }

  MapReader& reader_;
  const Schema& schema_;
  void* object_;
  std::size_t before_;
};

enum class Required : bool { No, Yes };

/// The entry of a row; a missing required one is reported.
const YamlEntry* entry_of(MapReader& reader, const Field& field, Required required) {
  if (!field.with.empty() && reader.has(field.with)) {
    return reader.required(field.key, fmt::format("required with '{}'", field.with));
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
