#pragma once
// The names of the values of an enumeration in configs and results: one array beside it,
//
//   constexpr auto words(Mode) { return named<Mode>("systolic", "simd"); }
//
// It has the names of the first values in their order, or pairs of name and value in any order.

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dfsearch {

template <class E>
struct Word {
  const char* name;
  E value;
};

template <class E, std::size_t n>
constexpr std::array<Word<E>, n> named(const Word<E> (&list)[n]) {
  return std::to_array(list);
}

template <class E, std::convertible_to<const char*>... Names>
constexpr std::array<Word<E>, sizeof...(Names)> named(Names... names) {
  std::size_t value = 0;
  return {Word<E>{names, static_cast<E>(value++)}...};
}

/// The names of rows, each with its `value` and `name`.
template <class Row, std::size_t n>
constexpr auto words_of(const std::array<Row, n>& rows) {
  std::array<Word<decltype(Row::value)>, n> all{};
  for (std::size_t i = 0; i < n; ++i) all[i] = {rows[i].name, rows[i].value};
  return all;
}

/// The row of a value; at compile time a value without a row is an error.
template <class Row, std::size_t n>
constexpr const Row& row_with(const std::array<Row, n>& rows, decltype(Row::value) value) {
  std::size_t i = 0;
  while (rows.at(i).value != value) ++i;
  return rows.at(i);
}

template <class E>
concept HasWords = std::is_enum_v<E> && requires(E value) {
  words(value);
};

template <HasWords E>
const char* name_of(E value) {
  for (const auto& word : words(E{})) {
    if (word.value == value) return word.name;
  }
  return "";  // no value of the enumeration
}

/// The value with this name, or nothing.
template <HasWords E>
std::optional<E> value_named(std::string_view name) {
  for (const auto& word : words(E{})) {
    if (word.name == name) return word.value;
  }
  return std::nullopt;
}

/// The names of all values, in the order of their words.
template <HasWords E>
std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names;
  for (const auto& word : words(E{})) names.emplace_back(word.name);
  return names;
}

}  // namespace dfsearch
