#include "cli/commands.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "cli/outputs.hpp"
#include "io/config/foreign_file.hpp"
#include "io/report/report_parts.hpp"
#include "io/result/chip_json.hpp"
#include "io/result/result_json.hpp"

namespace dfsearch {
namespace {

/// Refuses configs without a chip to derive, and chips that are searched.
void require_chip(const Config& config, const std::string& file) {
  if (!config.design) {
    throw InputError(file + ": system: missing key 'technology', there is no chip to derive");
  }
  if (!config.chip) {
    throw InputError(file +
                     ": budget: leaves out shares that are searched; expected all of them here");
  }
}

Json config_json(const std::string& title, const Config& config) {
  Json object = {{"config", title}};
  const Json chip = chip_json(*config.design, *config.chip, config.problem.system);
  for (const auto& [key, value] : chip.items()) append(object, key, value);
  return object;
}

bool is_config(const std::filesystem::path& file) {
  const std::filesystem::path ending = file.extension();
  return ending == ".yaml" || ending == ".yml" || ending == ".json";
}

/// The files of the command line; a folder is replaced by all configs in it and below, by name.
std::vector<std::string> chip_files(const CommandLine& line) {
  std::vector<std::string> names = {line.config};
  names.insert(names.end(), line.more_configs.begin(), line.more_configs.end());
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::error_code error;
    if (!std::filesystem::is_directory(name, error)) {
      files.push_back(name);
      continue;
    }
    const std::size_t before = files.size();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(name, error)) {
      if (is_config(entry.path())) files.push_back(entry.path().string());
    }
    if (error) throw InputError(name + ": cannot be read: " + error.message());
    if (files.size() == before) throw InputError(name + ": there is no config in this folder");
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  return files;
}

/// The names of files without their common folder and their endings.
std::vector<std::string> short_names(const std::vector<std::string>& files) {
  const std::string& first = files.front();
  std::size_t shared = first.rfind('/') == std::string::npos ? 0 : first.rfind('/') + 1;
  for (const std::string& file : files) {
    while (shared > 0 && file.compare(0, shared, first, 0, shared) != 0) {
      const std::size_t slash = shared < 2 ? std::string::npos : first.rfind('/', shared - 2);
      shared = slash == std::string::npos ? 0 : slash + 1;
    }
  }
  std::vector<std::string> names;
  for (const std::string& file : files) {
    names.push_back(std::filesystem::path(file.substr(shared)).replace_extension().string());
  }
  return names;
}

/// A chip as a table of its parts, and its machine as part of a config.
std::string whole_text(const std::string& title, const Config& config) {
  const ChipDesign& design = *config.design;
  const Machine& system = config.problem.system;
  const std::string text = title + "\n" + text_of(chip_table(design, *config.chip, system));
  if (!config.chip->infeasible.empty()) return text;
  return text + "\n# The machine, to paste into a config:\n" +
         system_yaml(design, *config.chip, system);
}

std::string list_text(const std::vector<std::string>& files, const std::vector<Config>& configs) {
  const std::vector<std::string> names = short_names(files);
  std::vector<ListedChip> chips;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    chips.push_back({names[i], &*configs[i].chip, &configs[i].problem.system});
  }
  return chip_list(chips);
}

Config with_runnable_chip(Config config) {
  if (config.chip && !config.chip->infeasible.empty()) throw NoSuchChip{std::move(config)};
  return config;
}

std::string imported_name(const CommandLine& line) {
  return line.config + std::string(kAsImported);
}

}  // namespace

Config load_runnable(const CommandLine& line) {
  Config config = load_searchable(line);
  if (config.design) require_chip(config, line.config);
  return config;
}

Config load_searchable(const CommandLine& line) {
  if (line.imported.empty()) {
    return with_runnable_chip(load_config(line.config, line.overrides));
  }
  return with_runnable_chip(parse_config(line.imported, imported_name(line), line.overrides));
}

AnyConfig load_any_searchable(const CommandLine& line) {
  auto any = line.imported.empty()
                 ? load_any_config(line.config, line.overrides)
                 : parse_any_config(line.imported, imported_name(line), line.overrides);
  if (auto* config = std::get_if<Config>(&any)) return with_runnable_chip(std::move(*config));
  return any;
}

Outcome with_chip(Outcome outcome, const Config& config) {
  if (!config.chip) return outcome;
  outcome.design = &*config.design;
  outcome.chip = &*config.chip;
  return outcome;
}

int report_no_chip(const CommandLine& line, const Config& config) {
  Outputs outputs;
  const Outcome none{.problem = &config.problem, .status = SearchStatus::Infeasible};
  write_outcome(line, with_chip(none, config), outputs);
  outputs.throw_if_any_failed();
  return kInfeasible;
}

Config load_chip(const CommandLine& line) {
  Config config = load_chip_config(line.config, line.overrides);
  require_chip(config, line.config);
  if (!config.chip->infeasible.empty()) throw NoSuchChip{std::move(config)};
  return config;
}

int run_chip(const CommandLine& line) {
  const std::vector<std::string> files = chip_files(line);
  check_output(line.json);
  std::vector<Config> configs;
  Json list = Json::array();
  int status = kProved;
  CommandLine one = line;
  for (const std::string& file : files) {
    one.config = file;
    const Config& config = configs.emplace_back(load_chip_config(file, line.overrides));
    require_chip(config, file);
    if (!config.chip->infeasible.empty()) status = kInfeasible;
    list.push_back(config_json(title_of(one), config));
  }
  const bool single = files.size() == 1;
  write_json_or(line.json, json_text(single ? list.front() : list),
                single ? whole_text(title_of(one), configs.front()) : list_text(files, configs));
  return status;
}

}  // namespace dfsearch
