#include "io/config/tree_fingerprint.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace dfsearch {
namespace {

/// A map's entries in the order of their keys; lengths first, so that different trees differ.
std::string canonical(const YamlNode& node) {
  switch (node.type) {
    case YamlNode::Type::Null:
      return "~";
    case YamlNode::Type::Scalar:
      return std::to_string(node.scalar.size()) + ':' + node.scalar;
    case YamlNode::Type::Sequence: {
      std::string text = "[" + std::to_string(node.items.size());
      for (const YamlNode& item : node.items) text += ' ' + canonical(item);
      return text;
    }
    case YamlNode::Type::Map:
      break;
  }
  std::vector<std::string> entries;
  for (const YamlEntry& entry : node.entries) {
    entries.push_back(entry.key + '=' + canonical(entry.value));
  }
  std::sort(entries.begin(), entries.end());
  std::string text = "{" + std::to_string(entries.size());
  for (const std::string& entry : entries) text += ' ' + entry;
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> fingerprint_of(const YamlNode& config) {
  std::vector<std::pair<std::string, std::uint64_t>> sections;
  for (const YamlEntry& section : config.entries) {
    if (section.key == "search") continue;
    sections.emplace_back(section.key, hash_of(canonical(section.value)));
  }
  std::sort(sections.begin(), sections.end());
  return sections;
}

}  // namespace dfsearch
