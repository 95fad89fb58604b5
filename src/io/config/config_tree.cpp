// Each section is merged onto the file that it names; the maps of a technology and the rates may
// come from files as well.  Overrides are applied on top.

#include "io/config/config_tree.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "io/config/config_readers.hpp"
#include "io/config/foreign_file.hpp"
#include "io/config/from_file.hpp"
#include "io/huggingface/import_huggingface.hpp"
#include "io/text/files.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kSectionsWithFrom = {"workload", "system"};

/// The keys of `execution` whose values may be files of the shelf.
constexpr std::array<std::pair<std::string_view, ShelfKind>, 3> kRates = {
    {{"efficiency", ShelfKind::Efficiencies},
     {"stack", ShelfKind::Stacks},
     {"chip", ShelfKind::Curves}}};

/// Replaces a single word by the map that it abbreviates: `from:` the file of this name, or
/// `preset:` in `equations: published`, to which an override may add a switch.
YamlEntry* spelled_out(YamlEntry* entry, const char* key = "from") {
  if (!entry || entry->value.type != YamlNode::Type::Scalar) return entry;
  YamlNode& node = entry->value;
  if (node.scalar.empty()) return entry;  // its reader reports what was expected
  YamlNode map;
  map.type = YamlNode::Type::Map;
  map.place = node.place;
  map.entries.push_back({.key = key, .place = node.place, .value = std::move(node)});
  node = std::move(map);
  return entry;
}

YamlEntry* rates_of(YamlNode& root, std::string_view key) {
  YamlEntry* execution = root.find("execution");
  return spelled_out(execution ? execution->value.find(key) : nullptr);
}

/// Removes the keys of a training run from a model of the shelf.
void strip_run_keys(YamlNode& model) {
  constexpr std::array<std::string_view, 10> kOthers = {
      "kind",      "sequence", "encoder_sequence", "global_batch", "micro_batch", "word",
      "attention", "mask",     "context",          "dropout"};
  std::erase_if(model.entries, [&](const YamlEntry& entry) {
    return std::find(kOthers.begin(), kOthers.end(), entry.key) != kOthers.end();
  });
}

/// Drops keys of a machine's file that a pool does not use: the number of chips, which the pool has
/// itself, strategies, as groups fill from the inside, and keys without equations for deployments.
/// In the config itself these keys are errors.
void strip_pool_keys(YamlEntry& system) {
  const auto leave_out = [&](YamlNode& map, std::initializer_list<std::string_view> keys) {
    std::erase_if(map.entries, [&](const YamlEntry& entry) {
      const Place& place = entry.value.place;
      const bool is_own = place.is_override() || !place.source || !system.place.source ||
                          *place.source == *system.place.source;
      return !is_own && std::find(keys.begin(), keys.end(), entry.key) != keys.end();
    });
  };
  leave_out(system.value, {"chips"});
  if (YamlEntry* memory = system.value.find("memory")) {
    leave_out(memory->value, {"second", "latency"});
  }
  YamlEntry* network = system.value.find("network");
  if (!network) return;
  for (YamlNode& dimension : network->value.items) leave_out(dimension, {"strategy"});
}

/// Calls `visit` with each workload of a config: its own, and the workloads of its fleet.
template <class Visit>
void for_each_workload(YamlNode& root, const Visit& visit) {
  if (YamlEntry* workload = root.find("workload")) visit(workload->value);
  YamlEntry* fleet = root.find("fleet");
  YamlEntry* models = fleet ? fleet->value.find("models") : nullptr;
  if (!models) return;
  for (YamlNode& model : models->value.items) {
    if (YamlEntry* workload = model.find("workload")) visit(workload->value);
  }
}

/// Calls `visit` with the map and the key of each model that a workload serves.
template <class Visit>
void for_each_served_model(YamlNode& workload, const Visit& visit) {
  visit(workload, "model");
  if (YamlEntry* speculation = workload.find("speculation")) visit(speculation->value, "draft");
}

/// Replaces the families of the workload, or of the models that are served, by their keys.
void resolve_families(YamlNode& root, InputMessages& messages) {
  for_each_workload(root, [&](YamlNode& workload) {
    resolve_family(workload, messages);
    for_each_served_model(workload, [&](YamlNode& map, const char* key) {
      YamlEntry* model = map.find(key);
      if (!model) return;
      const bool has_family = model->value.find("family") != nullptr;
      resolve_family(model->value, messages);
      if (has_family) strip_run_keys(model->value);
    });
  });
}

/// Puts the files of a served workload, of its fleet and of its pools into the tree.  A file
/// replaces the node that names it, so an entry is looked up only after the file of the enclosing
/// node is merged: the file of a system may name the engine of a pool.
void resolve_served(YamlNode& root, const fs::path& folder, FileChain& chain,
                    InputMessages& messages) {
  const auto resolve = [&](YamlNode& map, const char* key, ShelfKind kind) {
    YamlEntry* entry = spelled_out(map.find(key));
    if (!entry) return entry;
    const bool from_file = entry->value.find("from") != nullptr;
    resolve_from(entry->value, folder_of(*entry, folder), kind, chain, messages);
    if (from_file && kind == ShelfKind::Workloads) strip_run_keys(entry->value);
    if (from_file && kind == ShelfKind::Systems) strip_pool_keys(*entry);
    return entry;
  };
  for_each_workload(root, [&](YamlNode& workload) {
    for_each_served_model(
        workload, [&](YamlNode& map, const char* key) { resolve(map, key, ShelfKind::Workloads); });
  });
  YamlEntry* serving = root.find("serving");
  YamlEntry* pools = serving ? serving->value.find("pools") : nullptr;
  if (!pools) return;
  for (YamlNode& pool : pools->value.items) {
    YamlEntry* system = resolve(pool, "system", ShelfKind::Systems);
    if (system) resolve(system->value, "engine", ShelfKind::Engines);
  }
}

void check_is_config(const YamlNode& root, const fs::path& file, InputMessages& messages) {
  if (root.find("study") && root.find("axes") && !root.find("workload")) {
    throw InputError(fmt::format(
        "{0}: is a study, which 'dfsearch study {0}' runs; expected a config", file.string()));
  }
  if (root.find("memory") && root.find("network") && !root.find("system")) {
    throw InputError(
        fmt::format("{0}: is a machine; expected a config with 'system: {{from: {0}, chips: N}}'",
                    file.string()));
  }
  if (root.type == YamlNode::Type::Map) return;
  const Place place{.source = std::make_shared<const std::string>(file.string())};
  const bool empty = root.type == YamlNode::Type::Null;
  messages.add(empty ? place : root.place, "",
               empty ? "the file is empty, expected a config with a workload and a system"
                     : "expected a map with a workload and a system, got " + root.description());
  messages.throw_if_any();
}

/// The file if it is a model of the shelf, or null.
const ShelfFile* model_of(const fs::path& file) {
  const ShelfFile* found = find_on_shelf(file);
  return found != nullptr && found->is_model() ? found : nullptr;
}

/// Refuses a model without a machine.
void check_has_machine(const YamlNode& root, const fs::path& file) {
  if (root.find("system")) return;
  if (const ShelfFile* model = model_of(file)) {
    const std::vector<std::string_view> configs = configs_of_model(model->name);
    throw InputError(fmt::format(
        "{0}: this file has a model but no machine; expected --system NAME ('dfsearch list "
        "systems') and --chips N, as in 'dfsearch {0} --system h100_dgx --chips 1024'{1}{2}",
        model->name, configs.empty() ? "" : ", or a config with it: ", fmt::join(configs, ", ")));
  }
  if (!root.place.source || !root.place.source->ends_with(kAsImported)) return;
  std::string name = file.string();
  if (name.ends_with(kAsImported)) name.resize(name.size() - kAsImported.size());
  throw InputError(
      fmt::format("{0}: this file has a model but no machine; expected --system NAME ('dfsearch "
                  "list systems'), and --chips N if that system does not fix them; 'dfsearch "
                  "import {0} -o FILE' makes a config to edit",
                  name));
}

}  // namespace

SourceFile read_config_text(const fs::path& file) {
  const std::string name = file.string();
  if (const ShelfFile* shelf = find_on_shelf(file)) return {std::string(shelf->text), name};
  const std::string imported = name + std::string(kAsImported);
  if (!foreign_kind(name, "").empty()) return {imported_file(file), imported};
  std::string text = read_file(file);
  if (foreign_kind(name, text).empty()) return {std::move(text), name};
  return {imported_text(text, name), imported};
}

SourceFile config_text(const fs::path& file) {
  const ShelfFile* model = model_of(file);
  if (model == nullptr) return read_config_text(file);
  return {fmt::format("workload: {{model: {}}}\ntraining: {{}}\n", model->name), file.string()};
}

YamlNode load_config_tree(const fs::path& file) {
  const SourceFile read = config_text(file);
  return parse_yaml(read.text, read.source, true);
}

bool chooses_file(const Override& change) {
  const auto& path = change.path;
  if (path.size() > 2 && path.front() == "system" && path.back() == "from") return true;
  const auto is_named = [&](const auto& rates) { return rates.first == path[1]; };
  if (path.size() > 1 && path[0] == "execution" &&
      std::any_of(kRates.begin(), kRates.end(), is_named)) {
    return path.size() == 2 || (path.size() == 3 && path[2] == "from");
  }
  // Parts of a deployment that may be files.
  if (path[0] == "serving" || path[0] == "fleet") {
    constexpr std::array<std::string_view, 7> kParts = {"from",   "pools", "system", "engine",
                                                        "models", "model", "draft"};
    return path.size() == 1 || std::find(kParts.begin(), kParts.end(), path.back()) != kParts.end();
  }
  if (path.size() > 1 && path[0] == "workload" && path[1] == "speculation") {
    return path.size() == 2 || path[2] == "draft";
  }
  const bool whole = path.size() == 1 && path[0] == "execution";
  if (whole) return true;
  const bool section = std::find(kSectionsWithFrom.begin(), kSectionsWithFrom.end(),
                                 path.front()) != kSectionsWithFrom.end();
  const bool model = path.size() == 2 && path[0] == "workload" && path[1] == "model";
  return section && (path.size() == 1 || (path.size() == 2 && path[1] == "from") || model);
}

YamlNode tree_with_files(YamlNode root, const fs::path& file, const std::vector<Override>& changes,
                         InputMessages& messages, bool keeps_shelf) {
  check_is_config(root, file, messages);
  for (const auto& [key, kind] : kRates) rates_of(root, key);  // so that an override may set `from`
  std::optional<YamlNode> own;  // the tree before overrides choose other files
  for (const Override& change : changes) {
    if (!chooses_file(change)) continue;
    if (!own) own = root;
    apply_override(change, root, messages);
  }
  if (own) check_replaced_machines(*own, root, file.parent_path(), changes, messages);
  std::error_code error;
  FileChain chain{.open = {is_on_shelf(file) ? file : fs::weakly_canonical(file, error)},
                  .keeps_shelf = keeps_shelf};
  const bool served = is_serving_config(root);
  if (served) resolve_served(root, file.parent_path(), chain, messages);
  for (const std::string_view name : kSectionsWithFrom) {
    YamlEntry* section = root.find(name);
    const ShelfKind kind = name == "system" ? ShelfKind::Systems : ShelfKind::Workloads;
    if (section) resolve_from(section->value, file.parent_path(), kind, chain, messages);
    if (section && name == "workload" && !served && !keeps_shelf)
      resolve_model(section->value, messages);
    if (section && name == "system") {
      resolve_technology(section->value, file.parent_path(), chain, messages);
      if (own && !keeps_shelf) keep_chips(*own, file.parent_path(), section->value);
    }
  }
  for (const auto& [key, kind] : kRates) {
    YamlEntry* rates = rates_of(root, key);
    if (!rates) continue;
    const bool is_empty =
        rates->value.type == YamlNode::Type::Null ||
        (rates->value.type == YamlNode::Type::Scalar && rates->value.scalar.empty());
    if (is_empty) {
      const char* folder = kind == ShelfKind::Stacks   ? "stacks"
                           : kind == ShelfKind::Curves ? "curves"
                                                       : "efficiencies";
      messages.add(rates->value.place, key,
                   fmt::format("expected a name of configs/{} or a map, got nothing", folder));
      continue;
    }
    resolve_from(rates->value, folder_of(*rates, file.parent_path()), kind, chain, messages);
  }
  // A section whose file failed would only cause messages about missing keys.
  messages.throw_if_any();
  return root;
}

namespace {

void apply_keys(const std::vector<Override>& changes, YamlNode& root, InputMessages& messages) {
  for (const Override& change : changes) {
    if (chooses_file(change)) continue;
    if (change.path.front() == "equations" && change.path.size() > 1) {
      spelled_out(root.find("equations"), "preset");
    }
    apply_override(change, root, messages);
  }
}

/// Sets the keys of `own` in which `changed` differs from `base`.
void add_differences(const YamlNode& base, const YamlNode& changed, YamlNode& own) {
  const YamlNode nothing{.type = YamlNode::Type::Map, .place = own.place};
  for (const YamlEntry& entry : changed.entries) {
    const YamlEntry* before = base.find(entry.key);
    if (before && yaml_text(before->value) == yaml_text(entry.value)) continue;
    const bool are_maps = before && before->value.type == YamlNode::Type::Map &&
                          entry.value.type == YamlNode::Type::Map;
    YamlEntry* mine = own.find(entry.key);
    if (!mine) mine = &own.entries.emplace_back(entry.key, entry.place, nothing);
    if (are_maps) {
      add_differences(before->value, entry.value, mine->value);
    } else {
      mine->value = entry.value;
    }
  }
}

/// Makes each path from `folder` a path from anywhere.
void make_absolute(YamlNode& node, const fs::path& folder) {
  for (YamlNode& item : node.items) make_absolute(item, folder);
  for (YamlEntry& entry : node.entries) make_absolute(entry.value, folder);
  if (node.type != YamlNode::Type::Scalar || is_shelf_name(node.scalar)) return;
  const fs::path file = (folder / node.scalar).lexically_normal();
  std::error_code error;
  if (fs::is_regular_file(file, error)) node.scalar = fs::absolute(file).string();
}

}  // namespace

YamlNode portable_tree(const YamlNode& root, const fs::path& file,
                       const std::vector<Override>& changes, InputMessages& messages) {
  const YamlNode base = tree_with_files(root, file, changes, messages);
  YamlNode changed = base;
  apply_keys(changes, changed, messages);
  YamlNode own = tree_with_files(root, file, changes, messages, true);
  add_differences(base, changed, own);
  const YamlEntry* const machine = base.find("system");
  const YamlEntry* const chips = machine ? machine->value.find("chips") : nullptr;
  if (chips && !own.find("system")->value.find("chips")) {
    own.find("system")->value.entries.push_back(
        *chips);  // the count of a machine that was replaced
  }
  make_absolute(own, file.parent_path());
  return own;
}

void apply_changes(const std::vector<Override>& changes, YamlNode& root, InputMessages& messages) {
  apply_keys(changes, root, messages);
  const std::size_t before = messages.count();
  resolve_families(root, messages);
  // A model whose family failed would only cause messages about missing keys.
  if (messages.count() > before) messages.throw_if_any();
}

YamlNode named_tree(const std::string& name, const fs::path& directory, ShelfKind kind,
                    const Place& place, InputMessages& messages) {
  YamlNode word;
  word.type = YamlNode::Type::Scalar;
  word.place = place;
  word.scalar = name;
  return with_files(std::move(word), directory, kind, messages);
}

YamlNode with_files(YamlNode section, const fs::path& directory, ShelfKind kind,
                    InputMessages& messages) {
  YamlEntry entry{.key = "", .place = section.place, .value = std::move(section)};
  spelled_out(&entry);
  FileChain chain;
  resolve_from(entry.value, directory, kind, chain, messages);
  return std::move(entry.value);
}

YamlNode complete_tree(YamlNode root, const fs::path& file,
                       const std::vector<std::string>& overrides, InputMessages& messages) {
  check_is_config(root, file, messages);
  const std::vector<Override> changes = parse_overrides(overrides, messages);
  root = tree_with_files(std::move(root), file, changes, messages);
  apply_changes(changes, root, messages);
  check_has_machine(root, file);
  return root;
}

}  // namespace dfsearch
