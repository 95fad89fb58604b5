#include "io/config/overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/error.hpp"

namespace dfsearch {
namespace {

std::string source_of(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  std::string source = "--set " + std::string(text.substr(0, kLongest));
  if (text.size() > kLongest) source += "...";
  return source;
}

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t dot = path.find('.');
    parts.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    path.remove_prefix(dot + 1);
  }
}

/// The value under one component of the path, or nothing and a message.
YamlNode* descend(YamlNode& node, const std::string& part, const Override& change,
                  std::string_view parent, InputMessages& messages) {
  if (node.type == YamlNode::Type::Null) {
    node.type = YamlNode::Type::Map;
    node.place = change.place();
  }
  if (node.type == YamlNode::Type::Map) {
    YamlEntry* entry = node.find(part);
    if (!entry) {
      YamlEntry created{.key = part, .place = change.place(), .value = {}};
      created.value.place = change.place();
      node.entries.push_back(std::move(created));
      entry = &node.entries.back();
    }
    return &entry->value;
  }
  if (node.type == YamlNode::Type::Sequence) {
    std::size_t index = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    if (error == std::errc() && rest == part.data() + part.size() && index < node.items.size()) {
      return &node.items[index];
    }
    messages.add(change.place(), parent,
                 node.items.empty()
                     ? fmt::format("the list is empty, there is no item {}", in_quotes(part))
                     : fmt::format("expected an index from 0 to {}, got {}", node.items.size() - 1,
                                   in_quotes(part)));
    return nullptr;
  }
  messages.add(change.place(), parent,
               fmt::format("is {}, which has no key {}", node.description(), in_quotes(part)));
  return nullptr;
}

void remove_key(YamlNode& node, const std::string& key) {
  std::erase_if(node.entries, [&](const YamlEntry& entry) { return entry.key == key; });
}

/// Puts the value at the rest of its path, from component `depth` on; `parent` is the component
/// before.
void apply_from(std::size_t depth, const Override& change, const std::string& parent,
                YamlNode& node, InputMessages& messages) {
  const std::string& part = change.path[depth];
  const bool is_last = depth + 1 == change.path.size();
  if (part == "*" && node.type == YamlNode::Type::Sequence && !node.items.empty()) {
    for (YamlNode& item : node.items) {
      if (is_last) {
        item = change.value;
      } else {
        apply_from(depth + 1, change, part, item, messages);
      }
    }
    return;
  }
  if (is_last && change.value.type == YamlNode::Type::Null &&
      node.type != YamlNode::Type::Sequence) {
    if (node.find(part)) {
      remove_key(node, part);
    } else {
      messages.add(change.place(), parent, "there is no key " + in_quotes(part));
    }
    return;
  }
  YamlNode* target = descend(node, part, change, parent, messages);
  if (!target) return;
  if (!is_last) return apply_from(depth + 1, change, part, *target, messages);
  *target = change.value;
  if (YamlEntry* entry = node.find(part)) entry->place = change.place();
}

}  // namespace

std::vector<std::string> components_of(std::string_view key) {
  // Deeper than any config; what is deeper is a mistake and not to be built.
  constexpr std::size_t kDeepestPath = 16;
  std::vector<std::string> path = split(key);
  const bool has_gap =
      std::any_of(path.begin(), path.end(), [](const std::string& part) { return part.empty(); });
  if (has_gap || path.size() > kDeepestPath) path.clear();
  return path;
}

Place Override::place() const {
  if (at) return *at;
  return {.source = std::make_shared<const std::string>(source_of(text))};
}

std::vector<Override> parse_overrides(const std::vector<std::string>& texts,
                                      InputMessages& messages) {
  std::vector<Override> overrides;
  for (const std::string& text : texts) {
    Override change{.text = text, .path = {}, .value = {}};
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      messages.add(change.place(), "", "expected KEY=VALUE");
      continue;
    }
    change.path = components_of(std::string_view(text).substr(0, equals));
    if (change.path.empty()) {
      messages.add(change.place(), "", "expected a key like system.network.0.degree");
      continue;
    }
    const std::string value = text.substr(equals + 1);
    // An empty shell variable must not take a key away.
    if (value.find_first_not_of(" \t\r\n") == std::string::npos) {
      messages.add(change.place(), "", "expected a value after '=' (null takes the key away)");
      continue;
    }
    try {
      change.value = parse_yaml(value, source_of(text), false);
      overrides.push_back(std::move(change));
    } catch (const InputError& error) {
      messages.add(error.messages());
    }
  }
  return overrides;
}

void apply_override(const Override& override_value, YamlNode& root, InputMessages& messages) {
  apply_from(0, override_value, "", root, messages);
}

}  // namespace dfsearch
