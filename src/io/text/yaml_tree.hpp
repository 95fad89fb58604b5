#pragma once
// YAML text -> a tree of plain values with their places.
//
// The tree is built from the events of yaml-cpp's parser and not from its
// YAML::Node, because Node silently keeps two values for a key that occurs
// twice, loses the places of keys, expands aliases, ignores a second document
// and cannot be changed without losing the places of the other values.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/text/input_messages.hpp"

namespace dfsearch {

struct YamlEntry;

struct YamlNode {
  enum class Type { Null, Scalar, Sequence, Map };

  Type type = Type::Null;
  Place place;
  std::string scalar;              ///< of a Scalar, without quotes
  std::vector<YamlNode> items;     ///< of a Sequence
  std::vector<YamlEntry> entries;  ///< of a Map, in the order of the text

  [[nodiscard]] const YamlEntry* find(std::string_view key) const;
  [[nodiscard]] YamlEntry* find(std::string_view key);
  /// For messages: the scalar in quotes, "a list", "a map" or "nothing".
  [[nodiscard]] std::string description() const;
};

struct YamlEntry {
  std::string key;
  Place place;  ///< of the key
  YamlNode value;
};

/// The single document in a text.  `source` names it in places; with
/// `has_lines` false the places have no line and column.  Throws InputError for
/// a syntax error, a key that occurs twice or is no plain word, an alias, an
/// explicit tag, a second document, nesting deeper than 100 levels, and bytes
/// that are not text.  A text without content is Null.
YamlNode parse_yaml(const std::string& text, const std::string& source, bool has_lines);

/// Reads and parses a file of at most 16 MiB; throws InputError.
YamlNode load_yaml(const std::filesystem::path& file);

/// Merges `over` onto `base`: maps are merged key by key, all else is replaced.
void merge_into(YamlNode& base, YamlNode over);

/// The tree as YAML in block style, indented by two blanks; it reads back to the same tree, except
/// for places.
std::string yaml_text(const YamlNode& root);

}  // namespace dfsearch
