#include "io/config/shelf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <system_error>

#include "base/error.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

struct KindRow {
  ShelfKind kind;
  const char* folder;  ///< under configs/
  const char* single;  ///< noun for one file of the kind
};
constexpr KindRow kKinds[] = {{ShelfKind::Systems, "systems", "system"},
                              {ShelfKind::Workloads, "workloads", "workload"},
                              {ShelfKind::Efficiencies, "efficiencies", "set of rates"},
                              {ShelfKind::Curves, "curves", "measured chip"},
                              {ShelfKind::Stacks, "stacks", "stack"},
                              {ShelfKind::Engines, "engines", "engine"},
                              {ShelfKind::Families, "families", "family of models"},
                              {ShelfKind::Studies, "studies", "study"},
                              {ShelfKind::Parts, "technologies", "part of a technology"},
                              {ShelfKind::Configs, "configs", "config"}};

const KindRow& row_of_kind(ShelfKind kind) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds),
                       [&](const KindRow& row) { return row.kind == kind; });
}

constexpr std::string_view kShelfFolder = "shelf:/";

std::string path_of(const ShelfFile& file) {
  const bool has_folder = file.kind != ShelfKind::Configs && file.kind != ShelfKind::Parts;
  return fmt::format("{}{}.yaml", has_folder ? std::string(name_of(file.kind)) + "/" : "",
                     file.name);
}

std::string_view last_of(std::string_view name) {
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
}

/// The part of a word that can be the name of a file of a kind: without the ending and the folders
/// of this kind.
std::string_view name_in(std::string_view word, ShelfKind kind) {
  for (const std::string_view ending : {".yaml", ".yml"}) {
    if (word.ends_with(ending)) word.remove_suffix(ending.size());
  }
  if (word.starts_with("./")) word.remove_prefix(2);
  if (word.starts_with("configs/")) word.remove_prefix(8);
  const std::string folder = std::string(name_of(kind)) + "/";
  if (kind != ShelfKind::Configs && word.starts_with(folder)) word.remove_prefix(folder.size());
  return word;
}

/// Advice on the use of a file of this name but another kind; empty if there is none.
std::string use_of_other_kind(std::string_view word, ShelfKind wanted) {
  for (const ShelfKind kind :
       {ShelfKind::Systems, ShelfKind::Workloads, ShelfKind::Studies, ShelfKind::Configs}) {
    if (kind == wanted || !find_on_shelf(kind, name_in(word, kind))) continue;
    const std::string_view name = name_in(word, kind);
    switch (kind) {
      case ShelfKind::Systems:
        return fmt::format("; {} is a system, for 'system: {{from: {}}}' in a config",
                           in_quotes(name), name);
      case ShelfKind::Workloads:
        return fmt::format("; {} is a workload, for 'workload: {{from: {}}}' in a config",
                           in_quotes(name), name);
      case ShelfKind::Studies:
        return fmt::format("; {} is a study, for 'dfsearch study {} -o DIR'", in_quotes(name),
                           name);
      default:
        return fmt::format("; {} is a config, for 'dfsearch {}'", in_quotes(name), name);
    }
  }
  return "";
}

/// The nearest of the names, with and without their folders.
std::string nearest_of(std::string_view word, ShelfKind kind) {
  std::vector<std::string_view> names;
  for (const ShelfFile& file : shelf(kind)) {
    names.push_back(last_of(file.name));
    if (word.find('/') != std::string_view::npos) names.push_back(file.name);
  }
  return suggestion(name_in(word, kind), names);
}

}  // namespace

const char* name_of(ShelfKind kind) { return row_of_kind(kind).folder; }

std::string ShelfFile::source() const { return std::string(kShelfFolder) + path_of(*this); }

std::string_view ShelfFile::description() const {
  if (!text.starts_with("# ")) return {};
  return text.substr(2, text.find('\n') - 2);
}

bool ShelfFile::is_model() const {
  const auto has = [this](std::string_view key) {
    return text.find(key) != std::string_view::npos;
  };
  const bool has_shape = has("\nvocabulary:") || has("\nfamily:");
  return kind == ShelfKind::Workloads && has_shape && !has("\nkind: lstm");
}

const ShelfFile* find_on_shelf(ShelfKind kind, std::string_view name) {
  const std::span<const ShelfFile> files = shelf(kind);
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const ShelfFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

const ShelfFile* find_on_shelf(const std::filesystem::path& source) {
  if (!is_on_shelf(source)) return nullptr;
  const std::string name = source.lexically_normal().string();
  if (!name.starts_with(kShelfFolder)) return nullptr;
  for (const KindRow& row : kKinds) {
    for (const ShelfFile& file : shelf(row.kind)) {
      if (path_of(file) == std::string_view(name).substr(kShelfFolder.size())) return &file;
    }
  }
  return nullptr;
}

bool is_on_shelf(const std::filesystem::path& path) {
  return !path.empty() && *path.begin() == std::filesystem::path("shelf:");
}

bool is_shelf_name(std::string_view word) {
  return !word.empty() && word.find_first_of("./\\") == std::string_view::npos;
}

const ShelfFile* find_path_on_shelf(ShelfKind kind, const std::filesystem::path& base,
                                    std::string_view word) {
  std::error_code error;
  if (!word.starts_with("configs/") || std::filesystem::exists(base / word, error)) return nullptr;
  return find_on_shelf(kind, name_in(word, kind));
}

std::string not_on_shelf(ShelfKind kind, std::string_view name) {
  return fmt::format(
      "no built-in {} has the name {}, expected a name of configs/{} or the path of a file, like "
      "'./NAME' or 'NAME.yaml'{}",
      row_of_kind(kind).single, in_quotes(name), name_of(kind),
      suggestion(name, names_of(shelf(kind), &ShelfFile::name)));
}

std::filesystem::path find_input(const std::string& word, ShelfKind kind) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(word, error);
  const bool is_there = status.type() != std::filesystem::file_type::not_found;
  // A folder, such as the results of a study, may have the name by chance.
  const bool is_folder = std::filesystem::is_directory(status);
  // A file that exists but cannot be read is reported by its reader.
  if ((is_there && !is_folder) || find_on_shelf(std::filesystem::path(word))) return word;
  const std::string_view name = name_in(word, kind);
  if (const ShelfFile* file = find_on_shelf(kind, name)) return file->source();
  const ShelfFile* model = find_on_shelf(ShelfKind::Workloads, name_in(word, ShelfKind::Workloads));
  if (kind == ShelfKind::Configs && model && model->is_model()) return model->source();
  std::vector<const ShelfFile*> found;
  for (const ShelfFile& file : shelf(kind)) {
    if (last_of(file.name) == name) found.push_back(&file);
  }
  if (found.size() == 1) return found.front()->source();
  if (is_folder) return word;
  if (found.size() > 1) {
    throw InputError(fmt::format("{}: several built-in files have this name, expected {}",
                                 in_quotes(word),
                                 joined_choices(names_of(found, &ShelfFile::name))));
  }
  throw InputError(fmt::format("{}: there is no such file, and no built-in {} of this name{}{}",
                               in_quotes(word), row_of_kind(kind).single,
                               use_of_other_kind(word, kind), nearest_of(word, kind)));
}

std::vector<std::string_view> configs_of_model(std::string_view model) {
  const auto names = [&](std::string_view text) {
    const std::string key = fmt::format("model: {}", model);
    for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
      const std::string_view rest = text.substr(at + key.size());
      if (rest.empty() || std::string_view(",} \n").find(rest.front()) != rest.npos) return true;
    }
    return false;
  };
  std::vector<std::string_view> configs;
  for (const ShelfFile& file : shelf(ShelfKind::Configs)) {
    if (names(file.text)) configs.push_back(file.name);
  }
  return configs;
}

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  for (const ShelfFile& file : shelf(ShelfKind::Workloads)) {
    if (file.is_model()) names.push_back(file.name);
  }
  return names;
}

}  // namespace dfsearch
