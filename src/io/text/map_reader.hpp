#pragma once
// Typed access to the keys of one YAML map.
//
// A reader records the keys that were read; finish() reports all others.  A wrong value is reported
// at its place and read as nothing, so that reading continues and finds the next mistake.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "io/text/yaml_tree.hpp"
#include "schema/types.hpp"

namespace dfsearch {

struct CountRange {
  std::int64_t least = 1;
  std::int64_t most = kLargestCount;
};

/// Place of a message about values that disagree: the first value from the command line, since the
/// others agreed without it, or else the first one that exists.
Place place_of_conflict(std::initializer_list<const YamlEntry*> entries);

/// Whether a value is a list, or a map; else adds a message with the expectation.
bool holds_list(const YamlEntry& entry, std::string_view what, InputMessages& messages);
bool holds_map(const YamlEntry& entry, std::string_view what, InputMessages& messages);
/// Whether a value is a list, or a map, that is not empty; else adds a message.
bool holds_some_list(const YamlEntry& entry, std::string_view what, InputMessages& messages);
bool holds_some_map(const YamlEntry& entry, std::string_view what, InputMessages& messages);

// Readers of single values: they return nothing, and add a message, if the value is wrong.

std::optional<std::string> read_word(const YamlEntry& entry, InputMessages& messages);
std::optional<std::int64_t> read_count(const YamlEntry& entry, CountRange range,
                                       InputMessages& messages);
std::optional<double> read_number(const YamlEntry& entry, const Interval& range,
                                  InputMessages& messages);
std::optional<bool> read_flag(const YamlEntry& entry, InputMessages& messages);
/// The index of the word among the choices.
std::optional<std::size_t> read_choice(const YamlEntry& entry,
                                       const std::vector<std::string_view>& choices,
                                       InputMessages& messages);

/// The words that a key may have, and their values.
template <class E>
using Choices = std::vector<std::pair<std::string_view, E>>;

/// The values of an enumeration by their names in results.
template <class E>
Choices<E> named(std::initializer_list<E> values) {
  Choices<E> choices;
  for (const E value : values) choices.emplace_back(name_of(value), value);
  return choices;
}

template <class E>
std::optional<E> read_choice(const YamlEntry& entry, const Choices<E>& choices,
                             InputMessages& messages) {
  const auto names = names_of(choices, [](const auto& choice) { return choice.first; });
  const std::optional<std::size_t> index = read_choice(entry, names, messages);
  if (!index) return std::nullopt;
  return choices[*index].second;
}

class MapReader {
 public:
  /// `name` and `place` describe the map in messages.  A value that is not a map is reported and
  /// read as an empty one, without complaints about missing keys.
  MapReader(const YamlNode& node, std::string name, Place place, InputMessages& messages);
  MapReader(const YamlEntry& entry, InputMessages& messages)
      : MapReader(entry.value, entry.key, entry.place, messages) {}

  [[nodiscard]] bool is_map() const { return is_map_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] InputMessages& messages() const { return messages_; }

  /// Whether the key exists, without marking it as known.
  [[nodiscard]] bool has(std::string_view key) const { return node_.find(key) != nullptr; }
  /// The entry of a key, or nothing; the key counts as known from now on.
  const YamlEntry* optional(std::string_view key);
  /// The entry of a key; a missing key is reported, with `why` after it.
  const YamlEntry* required(std::string_view key, std::string_view why = {});

  std::optional<std::int64_t> required_count(std::string_view key, CountRange range = {});
  std::optional<std::int64_t> optional_count(std::string_view key, CountRange range = {});
  template <class E>
  std::optional<E> required_choice(std::string_view key, const Choices<E>& choices,
                                   std::string_view why = {}) {
    const YamlEntry* entry = required(key, why);
    return entry ? read_choice(*entry, choices, messages_) : std::nullopt;
  }
  template <class E>
  std::optional<E> optional_choice(std::string_view key, const Choices<E>& choices) {
    const YamlEntry* entry = optional(key);
    return entry ? read_choice(*entry, choices, messages_) : std::nullopt;
  }

  /// Reports every key that was not read, with the nearest one that exists.
  void finish();

 private:
  const YamlNode& node_;
  std::string name_;
  Place place_;
  InputMessages& messages_;
  bool is_map_;
  std::vector<std::string_view> known_;
};

}  // namespace dfsearch
