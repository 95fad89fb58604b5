// From a config file to a problem, in four steps:
//   1. text -> tree (yaml_tree.hpp), for the config and every file it names;
//   2. sections are merged onto the files that they name, then the overrides of the command line
//      are applied on top (config_tree.hpp);
//   3. each section is read and checked by itself (workload_text.hpp, config_system.hpp,
//      config_execution.hpp);
//   4. rules between several sections are checked (by the readers of config_readers.hpp).
// A syntax error ends step 1; all later errors are collected and thrown at once.

#include "io/config/load_config.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "base/error.hpp"
#include "io/config/config_readers.hpp"
#include "io/config/config_tree.hpp"
#include "io/config/foreign_file.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;

/// The value that chooses Calculon's model, or null.
const YamlNode* calculon_preset(const YamlNode& root) {
  const YamlEntry* entry = root.find("equations");
  if (!entry) return nullptr;
  const YamlEntry* preset = entry->value.find("preset");
  const YamlNode& word = preset ? preset->value : entry->value;
  return word.type == YamlNode::Type::Scalar && word.scalar == "calculon" ? &word : nullptr;
}

/// Kinds of configs that a caller accepts.
enum class Kinds { All, OnlyMappings };

/// Reads a tree that is complete.
AnyConfig read_any(YamlNode root, const fs::path& file, Kinds kinds, SystemUse use,
                   InputMessages& messages) {
  const Place start{
      .source = std::make_shared<const std::string>(file.string()), .line = 1, .column = 1};
  AnyConfig config;
  for (const std::string_view question : kClosedForms) {
    const YamlEntry* section = root.find(question);
    if (!section || use == SystemUse::MachineAlone) continue;
    messages.add(
        section->place, question,
        fmt::format(
            "this section is read by 'dfsearch {}' only; use that command or remove this section",
            question));
    messages.throw_if_any();
  }
  const YamlNode* calculon = calculon_preset(root);
  const YamlEntry* workload = root.find("workload");
  const YamlEntry* plan = root.find("training");
  const bool is_served = !calculon && is_serving_config(root);
  const bool is_mapping = !calculon && !is_served && !plan;
  // Keep the parsed tree so that overrides can be applied later; mapping configs do not need it.
  const auto read_with = [&](const auto& read) {
    auto whole = read(root, start, messages);
    whole.source =
        std::make_shared<const ConfigSource>(ConfigSource{.file = file, .tree = std::move(root)});
    config = std::move(whole);
  };
  if (is_mapping && use == SystemUse::MachineAlone) {
    config = read_machine_alone(root, start, messages);
  } else if (is_mapping) {
    config = read_mapping_config(root, start, use, messages);
  } else if (kinds == Kinds::OnlyMappings && calculon) {
    messages.add(calculon->place, "equations",
                 "expected physical or published, as the model calculon has no mapping and no "
                 "graph; it works with solve, evaluate and check only");
  } else if (kinds == Kinds::OnlyMappings && is_served) {
    messages.add(
        workload ? workload->place : start, "workload",
        "a deployment has no mapping; kind llm_serving works with solve, evaluate and check only");
  } else if (kinds == Kinds::OnlyMappings) {
    messages.add(plan->place, "training",
                 "a plan of a training step has no mapping; 'training' works with solve, evaluate "
                 "and check only");
  } else if (calculon) {
    read_with(read_calculon_config);
  } else if (is_served) {
    read_with(read_serving_config);
  } else {
    read_with(read_training_config);
  }
  messages.throw_if_any();
  std::visit([&](auto& read) { read.notes = messages.notes(); }, config);
  return config;
}

AnyConfig config_of(const SourceFile& read, const fs::path& file,
                    const std::vector<std::string>& overrides, Kinds kinds,
                    SystemUse use = SystemUse::Whole) {
  InputMessages messages;
  for (std::string& note : notes_of_import(read.text, read.source)) messages.note(std::move(note));
  YamlNode root =
      complete_tree(parse_yaml(read.text, read.source, true), file, overrides, messages);
  return read_any(std::move(root), file, kinds, use, messages);
}

}  // namespace

AnyConfig load_any_config(const fs::path& file, const std::vector<std::string>& overrides) {
  return config_of(config_text(file), file, overrides, Kinds::All);
}

AnyConfig changed_config(const ConfigSource& source, const std::vector<std::string>& changes) {
  InputMessages messages;
  YamlNode root = source.tree;
  apply_changes(parse_overrides(changes, messages), root, messages);
  messages.throw_if_any();
  return read_any(std::move(root), source.file, Kinds::All, SystemUse::Whole, messages);
}

AnyConfig parse_any_config(const std::string& text, const fs::path& name,
                           const std::vector<std::string>& overrides) {
  return config_of({text, name.string()}, name, overrides, Kinds::All);
}

Config load_config(const fs::path& file, const std::vector<std::string>& overrides) {
  return std::get<Config>(config_of(config_text(file), file, overrides, Kinds::OnlyMappings));
}

Config load_chip_config(const fs::path& file, const std::vector<std::string>& overrides) {
  return std::get<Config>(
      config_of(config_text(file), file, overrides, Kinds::OnlyMappings, SystemUse::ChipAlone));
}

Config load_machine_config(const fs::path& file, const std::vector<std::string>& overrides) {
  return std::get<Config>(
      config_of(config_text(file), file, overrides, Kinds::OnlyMappings, SystemUse::MachineAlone));
}

Config parse_config(const std::string& text, const fs::path& name,
                    const std::vector<std::string>& overrides) {
  return std::get<Config>(config_of({text, name.string()}, name, overrides, Kinds::OnlyMappings));
}

/// Trees with merged files, by the changes that choose files.
struct ConfigTemplate::State {
  fs::path file;
  YamlNode tree;
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const YamlNode>> with_files;  // guarded by mutex
};

ConfigTemplate::ConfigTemplate(const fs::path& file)
    : ConfigTemplate(file, load_config_tree(file)) {}

ConfigTemplate::ConfigTemplate(const fs::path& file, YamlNode tree)
    : state_(std::make_unique<State>()) {
  state_->file = file;
  state_->tree = std::move(tree);
}

ConfigTemplate::ConfigTemplate(ConfigTemplate&&) noexcept = default;
ConfigTemplate::~ConfigTemplate() = default;

YamlNode ConfigTemplate::tree_with(const std::vector<Override>& changes) const {
  std::string choice;
  for (const Override& change : changes) {
    if (chooses_file(change)) choice += change.text + '\n';
  }
  InputMessages messages;
  std::shared_ptr<const YamlNode> base;
  {
    const std::lock_guard lock(state_->mutex);
    std::shared_ptr<const YamlNode>& kept = state_->with_files[choice];
    if (!kept) {
      kept = std::make_shared<const YamlNode>(
          tree_with_files(state_->tree, state_->file, changes, messages));
    }
    base = kept;
  }
  YamlNode root = *base;
  apply_changes(changes, root, messages);
  messages.throw_if_any();
  return root;
}

YamlNode ConfigTemplate::portable_tree_with(const std::vector<Override>& changes) const {
  InputMessages messages;
  YamlNode root = portable_tree(state_->tree, state_->file, changes, messages);
  messages.throw_if_any();
  return root;
}

AnyConfig ConfigTemplate::with(const std::vector<Override>& changes) const {
  InputMessages messages;
  return read_any(tree_with(changes), state_->file, Kinds::All, SystemUse::Whole, messages);
}

}  // namespace dfsearch
