#include "io/config/overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.hpp"
#include "io/config/config_tree.hpp"

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
  messages.add(
      change.place(), parent,
      fmt::format("expected a map with the key {1}, got {0}", node.description(), in_quotes(part)));
  return nullptr;
}

void remove_key(YamlNode& node, const std::string& key) {
  std::erase_if(node.entries, [&](const YamlEntry& entry) { return entry.key == key; });
}

/// Puts the value at its path, of which the components from `depth` on remain; `parent` is the
/// component before them.
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
  // No config is deeper; a longer path is a mistake and must not create maps.
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
    // An empty shell variable must not remove a key.
    if (value.find_first_not_of(" \t\r\n") == std::string::npos) {
      messages.add(change.place(), "", "expected a value after '=' (null removes the key)");
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

// Two machines have the same chips if their sections, with files merged, agree in the accelerator,
// the technology, the budget and the bandwidth of the memory.

namespace {

namespace fs = std::filesystem;

bool same(const YamlNode& a, const YamlNode& b) {
  const auto alike = [](const YamlEntry& x, const YamlEntry& y) {
    return x.key == y.key && same(x.value, y.value);
  };
  return a.type == b.type && a.scalar == b.scalar &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), &same) &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(), alike);
}

bool same(const YamlEntry* a, const YamlEntry* b) {
  return a == nullptr || b == nullptr ? a == b : same(a->value, b->value);
}

const YamlEntry* inside(const YamlEntry* map, std::string_view key) {
  return map == nullptr ? nullptr : map->value.find(key);
}

bool have_same_chips(const YamlNode& a, const YamlNode& b) {
  for (const std::string_view key : {"accelerator", "technology", "budget"}) {
    if (!same(a.find(key), b.find(key))) return false;
  }
  return same(inside(a.find("memory"), "bandwidth"), inside(b.find("memory"), "bandwidth"));
}

struct Rated {
  const YamlEntry* machine = nullptr;
  std::vector<const YamlEntry*> rates;
  std::string path;  ///< path of the map of rates, as in overrides
};

std::vector<Rated> rated_machines(const YamlNode& root) {
  const YamlEntry* execution = root.find("execution");
  std::vector<Rated> all = {{.machine = root.find("system"),
                             .rates = {inside(execution, "efficiency"), inside(execution, "chip")},
                             .path = "execution"}};
  const YamlEntry* pools = inside(root.find("serving"), "pools");
  if (pools == nullptr) return all;
  for (std::size_t p = 0; p < pools->value.items.size(); ++p) {
    const YamlEntry* machine = pools->value.items[p].find("system");
    all.push_back(
        {.machine = machine,
         .rates = {inside(machine, "engine"), inside(machine, "peak"), inside(machine, "chip")},
         .path = fmt::format("serving.pools.{}.system", p)});
  }
  return all;
}

/// The override that names the machine, or null.
const Place* replaced_at(const YamlEntry& machine) {
  if (machine.value.place.is_override()) return &machine.value.place;
  const YamlEntry* from = machine.value.find("from");
  return from != nullptr && from->value.place.is_override() ? &from->value.place : nullptr;
}

/// Whether an override replaces the key, or a map around it.
bool is_replaced(const std::string& key, const std::vector<Override>& changes) {
  const std::vector<std::string> path = components_of(key);
  const auto alike = [](const std::string& given, const std::string& part) {
    return given == part || given == "*";
  };
  return std::any_of(changes.begin(), changes.end(), [&](const Override& change) {
    return change.path.size() <= path.size() &&
           std::equal(change.path.begin(), change.path.end(), path.begin(), alike);
  });
}

void check_replaced(const Rated& own, const Rated& now, const fs::path& folder,
                    const std::vector<Override>& changes, InputMessages& messages) {
  if (own.machine == nullptr || now.machine == nullptr) return;
  const Place* place = replaced_at(*now.machine);
  if (place == nullptr) return;
  // Mistakes in the sections are reported by their readers.
  InputMessages others;
  const YamlNode before = with_files(own.machine->value, folder, ShelfKind::Systems, others);
  const YamlNode after = with_files(now.machine->value, folder, ShelfKind::Systems, others);
  if (others.count() > 0 || have_same_chips(before, after)) return;
  for (const YamlEntry* rate : now.rates) {
    if (rate == nullptr) continue;
    const std::string key = fmt::format("{}.{}", now.path, rate->key);
    if (is_replaced(key, changes)) continue;
    messages.add(
        *place, "system",
        fmt::format(
            "these are other chips than those of the config, whose rates are in '{0}' at {1}; "
            "expected --set {0}=... with rates of the new chips, or --set {2}=null for their peaks",
            key, rate->value.place.to_text(), key == "execution.chip" ? "execution" : key));
  }
}

}  // namespace

void check_replaced_machines(const YamlNode& own, const YamlNode& root, const fs::path& folder,
                             const std::vector<Override>& changes, InputMessages& messages) {
  const std::vector<Rated> before = rated_machines(own), after = rated_machines(root);
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    check_replaced(before[i], after[i], folder, changes, messages);
  }
}

void keep_chips(const YamlNode& own, const fs::path& folder, YamlNode& system) {
  const YamlEntry* before = own.find("system");
  if (before == nullptr || system.find("chips") != nullptr) return;
  InputMessages others;
  const YamlNode machine = with_files(before->value, folder, ShelfKind::Systems, others);
  const YamlEntry* chips = machine.find("chips");
  if (chips != nullptr) system.entries.push_back(*chips);
}

}  // namespace dfsearch
