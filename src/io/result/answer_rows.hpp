#pragma once
// Rows of answers: a key of a result is declared once, beside the other keys of its struct.
//
//   template <>
//   inline constexpr auto kKeys<MemoryUse> = DFSEARCH_KEYS(MemoryUse, weights, gradients, total);
//
// A key is the name of its member, or of a function of the struct without arguments, unless the row
// gives another one.  Values are plain numbers in SI base units, words of enumerations, lists and
// objects, or null for no value.

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "io/schema/write_schema.hpp"
#include "io/text/json_text.hpp"
#include "model/machine/machine_schema.hpp"

namespace dfsearch {

struct AnswerRow {
  std::string_view key;
  Json (*json)(const void* object) = nullptr;
  bool only_above_zero = false;  ///< whether the key is omitted unless the value is above zero
};
using AnswerRows = std::span<const AnswerRow>;

/// The rows of a struct; other types have none.
template <class T>
inline constexpr std::array<AnswerRow, 0> kKeys{};

/// Puts the keys of an object into a map; null for each if the object is missing.
void put(Json& map, AnswerRows rows, const void* object);
Json object_json(AnswerRows rows, const void* object);

/// The last check of an answer of any kind: sizes, times, shares, rates and counts must not be
/// negative, differences may be.  Throws InternalError with the path of a wrong number.
void check_signs(const Json& answer);

inline Json value_json(Json&& value) { return std::move(value); }
/// The JSON of a value of an answer.
template <class T>
Json value_json(const T& value) {
  if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T> ||
                std::is_convertible_v<T, std::string_view>) {
    return value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return json_number(value);
  } else if constexpr (std::is_enum_v<T>) {
    const std::string name(name_of(value));
    return name.empty() ? Json() : Json(name);
  } else if constexpr (requires { value.in_base_units(); }) {
    return number(value);
  } else if constexpr (std::is_same_v<T, Offload>) {
    return written(value);
  } else if constexpr (!kKeys<T>.empty()) {
    return object_json(kKeys<T>, &value);
  } else if constexpr (requires { value ? *value : *value; }) {
    return value ? value_json(*value) : Json();
  } else {
    return json_list(value, [](const auto& element) { return value_json(element); });
  }
}

namespace detail {

template <auto member>
constexpr std::string_view pretty_name() {
  return __PRETTY_FUNCTION__;
}
/// The last name in "... [with auto member = &S::name; ...]" or "... [member = &ns::S::name]".
template <auto member>
constexpr std::string_view name_of_member() {
  const std::string_view text = pretty_name<member>();
  std::size_t end = std::min(text.find("; std::string_view"), text.rfind(']'));
  while (text[end - 1] == ')') --end;
  const std::size_t begin = text.find_last_of(":& ", end - 1) + 1;
  return text.substr(begin, end - begin);
}

}  // namespace detail

template <class Object, auto... members>
constexpr std::array<AnswerRow, sizeof...(members)> keys() {
  return {AnswerRow{.key = detail::name_of_member<members>(), .json = [](const void* object) {
                      return value_json(std::invoke(members, *static_cast<const Object*>(object)));
                    }}...};
}

/// A key whose value is a function of the object, or a member under another key.
template <class Object, auto value>
constexpr std::array<AnswerRow, 1> key(std::string_view name, bool only_above_zero = false) {
  AnswerRow row = keys<Object, value>()[0];
  row.key = name;
  row.only_above_zero = only_above_zero;
  return {row};
}

/// A nested JSON object with some keys of the same object.
template <class Object, const auto& rows>
constexpr std::array<AnswerRow, 1> nested(std::string_view name) {
  return {
      AnswerRow{.key = name, .json = [](const void* object) { return object_json(rows, object); }}};
}

/// Lists of rows, one after the other.
template <std::size_t... sizes>
constexpr auto join(const std::array<AnswerRow, sizes>&... parts) {
  std::array<AnswerRow, (sizes + ...)> all{};
  auto at = all.begin();
  ((at = std::copy(parts.begin(), parts.end(), at)), ...);
  return all;
}

// DFSEARCH_KEYS(Object, a, b) is keys<Object, &Object::a, &Object::b>().
#define DFSEARCH_KEYS(Object, ...) \
  keys<Object DFSEARCH_EXPAND(DFSEARCH_EACH(Object, __VA_ARGS__))>()
#define DFSEARCH_NOTHING ()
#define DFSEARCH_EACH(Object, name, ...) \
  , &Object::name __VA_OPT__(DFSEARCH_AGAIN DFSEARCH_NOTHING(Object, __VA_ARGS__))
#define DFSEARCH_AGAIN() DFSEARCH_EACH
#define DFSEARCH_EXPAND(...) DFSEARCH_TWICE(DFSEARCH_TWICE(DFSEARCH_TWICE(__VA_ARGS__)))
#define DFSEARCH_TWICE(...) DFSEARCH_ONCE(DFSEARCH_ONCE(DFSEARCH_ONCE(DFSEARCH_ONCE(__VA_ARGS__))))
#define DFSEARCH_ONCE(...) __VA_ARGS__

}  // namespace dfsearch
