#include "io/config/from_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "io/config/config_tree.hpp"
#include "io/config/foreign_file.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {

namespace fs = std::filesystem;

namespace {

/// The file that a `from:` names, which may be one of the shelf.
struct BaseFile {
  fs::path file;      ///< name in messages
  fs::path identity;  ///< equal for all its names
};

/// Finds the file of a name.  A name without folder and ending is one of the shelf if `kind` is
/// given.
std::optional<BaseFile> base_file(const std::string& name, const fs::path& directory,
                                  std::optional<ShelfKind> kind, const Place& place,
                                  InputMessages& messages) {
  if (kind && is_shelf_name(name)) {
    const ShelfFile* found = find_on_shelf(*kind, name);
    if (found) return BaseFile{.file = found->source(), .identity = found->source()};
    messages.add(place, "from", not_on_shelf(*kind, name));
    return std::nullopt;
  }
  fs::path file = (directory / name).lexically_normal();
  if (find_on_shelf(file)) return BaseFile{.file = file, .identity = file};
  if (const ShelfFile* found = kind ? find_path_on_shelf(*kind, directory, name) : nullptr) {
    return BaseFile{.file = found->source(), .identity = found->source()};
  }
  // In a config of the shelf, only overrides by the user name other files.
  if (is_on_shelf(directory)) file = fs::path(name).lexically_normal();
  std::error_code error;
  return BaseFile{.file = file, .identity = fs::weakly_canonical(file, error)};
}

/// The section of a config that files of a kind contain.
std::string_view section_of(ShelfKind kind) {
  if (kind == ShelfKind::Systems) return "system";
  return kind == ShelfKind::Workloads ? "workload" : "";
}

}  // namespace

void resolve_from(YamlNode& section, const fs::path& directory, std::optional<ShelfKind> kind,
                  FileChain& chain, InputMessages& messages) {
  const YamlEntry* from = section.find("from");
  if (!from) return;
  const std::optional<std::string> name = read_word(*from, messages);
  const Place place = from->value.place;
  std::erase_if(section.entries, [](const YamlEntry& entry) { return entry.key == "from"; });
  if (!name) return;
  const std::optional<BaseFile> named = base_file(*name, directory, kind, place, messages);
  if (!named) return;
  if (const ShelfFile* kept = chain.keeps_shelf && kind ? find_on_shelf(named->file) : nullptr) {
    YamlNode word{.type = YamlNode::Type::Scalar, .place = place};
    word.scalar = is_shelf_name(kept->name)
                      ? std::string(kept->name)
                      : fmt::format("configs/{}/{}.yaml", name_of(*kind), kept->name);
    section.entries.insert(section.entries.begin(), {"from", place, std::move(word)});
    return;
  }
  std::vector<fs::path>& open = chain.open;
  const std::string source = named->file.string();
  if (std::find(open.begin(), open.end(), named->identity) != open.end()) {
    messages.add(place, "from",
                 "the file " + in_quotes(source) +
                     " is included by itself, expected files that do not form a cycle");
    return;
  }
  constexpr std::size_t kLongestChain = 32;
  if (open.size() > kLongestChain) {
    messages.add(
        place, "from",
        fmt::format("expected a chain of at most {} files that include each other", kLongestChain));
    return;
  }
  SourceFile read;
  try {
    read = read_config_text(named->file);
    for (std::string& note : notes_of_import(read.text, read.source))
      messages.note(std::move(note));
  } catch (const InputError& wrong) {
    // An unreadable file is a fault of the entry that names it.
    for (const std::string& message : wrong.messages()) messages.add(place, "from", message);
    return;
  }
  try {
    YamlNode base = parse_yaml(read.text, read.source, true);
    if (base.type != YamlNode::Type::Map) {
      messages.add(base.type == YamlNode::Type::Null ? place : base.place, "from",
                   fmt::format("expected the file {} to hold a map, got {}", in_quotes(source),
                               base.description()));
      return;
    }
    // From a whole config, as `import` writes it, takes the section of this kind.
    YamlEntry* inner = kind ? base.find(section_of(*kind)) : nullptr;
    if (inner && inner->value.type == YamlNode::Type::Map) {
      YamlNode taken = std::move(inner->value);
      base = std::move(taken);
    }
    open.push_back(named->identity);
    resolve_from(base, named->file.parent_path(), kind, chain, messages);
    open.pop_back();
    merge_into(base, std::move(section));
    section = std::move(base);
  } catch (const InputError& wrong) {
    // Mistakes inside the file have their own places.
    for (const std::string& message : wrong.messages()) messages.add({message});
  }
}

void resolve_model(YamlNode& section, InputMessages& messages) {
  const YamlEntry* entry = section.find("model");
  if (!entry) return;
  const std::optional<std::string> name = read_word(*entry, messages);
  const Place place = entry->value.place;
  std::erase_if(section.entries, [](const YamlEntry& item) { return item.key == "model"; });
  if (!name) return;
  const ShelfFile* file = find_on_shelf(ShelfKind::Workloads, *name);
  if (!file || !file->is_model()) {
    const std::vector<std::string_view> names = model_names();
    messages.add(place, "model",
                 fmt::format("unknown model {}, expected {}{}", in_quotes(*name),
                             joined_choices(names), suggestion(*name, names)));
    return;
  }
  YamlNode model = parse_yaml(std::string(file->text), file->source(), true);
  merge_into(model, std::move(section));
  section = std::move(model);
}

fs::path folder_of(const YamlEntry& entry, const fs::path& config_folder) {
  if (entry.value.place.is_override() || !entry.value.place.source) return config_folder;
  return fs::path(*entry.value.place.source).parent_path();
}

namespace {

/// The files of the shelf that a technology, a budget or a part of a technology may be, by their
/// names without folders.
std::map<std::string_view, const ShelfFile*> parts_on_shelf(std::string_view section) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kFolders = {
      {{"technology", "technologies"},
       {"budget", "technologies/budgets"},
       {"core", "technologies/cores"},
       {"registers", "technologies/levels"},
       {"L1", "technologies/levels"},
       {"L2", "technologies/levels"},
       {"memory", "technologies/memories"},
       {"technology", "technologies/nodes"}}};
  std::vector<std::string_view> folders;
  for (const auto& [of, folder] : kFolders) {
    if (of == section) folders.push_back(folder);
  }
  if (folders.empty()) folders = {"technologies/links"};
  std::map<std::string_view, const ShelfFile*> parts;
  for (const ShelfFile& file : shelf(ShelfKind::Parts)) {
    const std::size_t slash = file.name.rfind('/');
    const std::string_view folder = file.name.substr(0, slash);
    if (std::find(folders.begin(), folders.end(), folder) != folders.end()) {
      parts.emplace(file.name.substr(slash + 1), &file);
    }
  }
  return parts;
}

}  // namespace

void resolve_technology(YamlNode& system, const fs::path& directory, FileChain& chain,
                        InputMessages& messages) {
  const auto resolve = [&](YamlNode& map, std::string_view section) {
    YamlEntry* from = map.find("from");
    if (!from) return;
    fs::path folder = folder_of(*from, directory);
    std::string& word = from->value.scalar;
    if (from->value.type == YamlNode::Type::Scalar && is_shelf_name(word)) {
      const auto parts = parts_on_shelf(section);
      const auto found = parts.find(word);
      if (found == parts.end()) {
        const auto names = names_of(parts, [](const auto& part) { return part.first; });
        messages.add(from->value.place, "from",
                     fmt::format("no built-in technology has the name {}, expected a name of "
                                 "configs/technologies or the path of a file{}",
                                 in_quotes(word), suggestion(word, names)));
        return;
      }
      word = found->second->source();
      folder.clear();
    }
    resolve_from(map, folder, std::nullopt, chain, messages);
  };
  for (const std::string_view name : {"technology", "budget"}) {
    YamlEntry* part = system.find(name);
    if (!part) continue;
    resolve(part->value, name);
    if (name == "budget") continue;
    for (YamlEntry& inner : part->value.entries) resolve(inner.value, inner.key);
  }
}

}  // namespace dfsearch
