#include "io/schema/write_schema.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace dfsearch {
namespace {

/// Whole numbers without an exponent.
Json number_of(double value) {
  constexpr double kExact = 9007199254740992.0;
  if (value == std::floor(value) && std::abs(value) <= kExact) {
    return static_cast<std::int64_t>(value);
  }
  return json_number(value);
}

Json quantity_of(double value, const Unit& unit) {
  if (!std::isfinite(value)) return {};
  std::array<char, 32> text{};
  char* const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return std::string(text.data(), end) + " " + std::string(unit.base);
}

Json range_of(const CountSet& set) {
  if (!set.values.empty()) return set.values;
  if (set.least == 1 && set.most >= kLargestCount) return {};
  return std::to_string(set.least) + ".." + std::to_string(set.most);
}

Json words_of(const Type& type, const void* member) {
  Json words = Json::array();
  for (const Choice& choice : type.choices()) {
    if ((type.get(member) >> choice.value & 1) != 0) words.push_back(choice.name);
  }
  return words;
}

/// Adds the keys of an object to `map`, with the keys of inlined members.
void put_keys(const Schema& schema, const void* object, const void* fresh, unsigned left_out,
              Json& map) {
  for (const Field& field : schema.fields) {
    if (!field.in || (field.flags & left_out) != 0) continue;
    const Type& type = *field.type;
    void* member = field.in(const_cast<void*>(object));
    const void* usual = field.in(const_cast<void*>(fresh));
    if (field.key.empty() && type.form == Form::Object) {
      put_keys(type.schema(), member, usual, left_out, map);
    } else if (field.key.empty()) {
      const Schema& inner = type.inner->schema();
      if (type.size(member) > 0) {
        put_keys(inner, type.at(member, 0), inner.fresh(), left_out, map);
      }
    } else {
      Json value = written(type, member, left_out);
      if (value.is_null()) continue;
      if (!field.required() && value == written(type, usual, left_out)) continue;
      append(map, std::string(field.key), std::move(value));
    }
  }
}

}  // namespace

Json written(const Type& type, const void* member, unsigned left_out) {
  const auto inside = [&](const Type& inner, std::size_t index) {
    return written(inner, type.at(const_cast<void*>(member), index), left_out);
  };
  switch (type.form) {
    case Form::Flag:
      return type.get(member) != 0;
    case Form::Count:
      return type.get(member);
    case Form::Number:
      return number_of(type.get_real(member));
    case Form::Quantity:
      if (type.inner && type.get(member) == 0) return written(*type.inner, member, left_out);
      return quantity_of(type.get_real(member), *type.unit);
    case Form::Choice:
      for (const Choice& choice : type.choices()) {
        if (choice.value == type.get(member)) return choice.name;
      }
      return type.inner ? written(*type.inner, member, left_out) : Json();
    case Form::Word: {
      const auto& word = *static_cast<const std::string*>(member);
      return word.empty() ? Json() : Json(word);
    }
    case Form::Object: {
      Json map = Json::object();
      put_keys(type.schema(), member, type.schema().fresh(), left_out, map);
      return map;
    }
    case Form::Optional:
      return type.size(member) > 0 ? inside(*type.inner, 0) : Json();
    case Form::Each:
    case Form::Values:
    case Form::List: {
      Json list = Json::array();
      for (std::size_t i = 0; i < type.size(member); ++i) list.push_back(inside(*type.inner, i));
      if (list.empty() && type.form != Form::List) return {};
      return type.form == Form::Values && list.size() == 1 ? list.front() : list;
    }
    case Form::Range:
      return range_of(type.get_set(member));
    case Form::Pair:
      return Json::array({inside(*type.inner, 0), inside(*type.other, 1)});
    case Form::Words:
      return words_of(type, member);
    case Form::Variant: {
      Json map = Json::object();
      const Schema& schema = type.schema_for(type.get(member));
      put_keys(schema, member, schema.fresh(), left_out, map);
      return map;
    }
    case Form::Either:
      return written(type.other->size && type.other->size(member) == 0 ? *type.inner : *type.other,
                     member, left_out);
    case Form::Map:
    case Form::Any:
      break;
  }
  return {};
}

}  // namespace dfsearch
