// Two machines have the same chips if their sections, with files, have the same accelerator and
// bandwidth of the memory.

#include "io/config/replaced_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "io/config/config_tree.hpp"

namespace dfsearch {
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

/// A machine, and rates of its chips.
struct Rated {
  const YamlEntry* machine = nullptr;
  std::vector<const YamlEntry*> rates;
  std::string path;  ///< of the map of rates, as overrides have it
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

/// Whether an override replaces a key, or a map that it is in.
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
  // Whoever reads the sections reports what is wrong with them.
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
        fmt::format("has other chips than the config's, whose rates '{0}' gives at {1}; "
                    "expected --set {0}=... of these chips as well, or --set {2}=null for "
                    "their peaks",
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
