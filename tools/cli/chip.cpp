#include "cli/chip.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/outputs.hpp"
#include "cli/standard_output.hpp"
#include "io/report/chip_text.hpp"
#include "io/result/chip_json.hpp"
#include "io/text/write_file.hpp"

namespace dfsearch {
namespace {

/// A chip that is searched cannot be shown.
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

Config with_runnable_chip(Config config) {
  if (config.chip && !config.chip->infeasible.empty()) throw NoSuchChip{std::move(config)};
  return config;
}

}  // namespace

Config load_runnable(const CommandLine& line) {
  Config config = load_searchable(line);
  if (config.design) require_chip(config, line.config);
  return config;
}

Config load_searchable(const CommandLine& line) {
  return with_runnable_chip(load_config(line.config, line.overrides));
}

std::variant<Config, CalculonConfig> load_any_searchable(const CommandLine& line) {
  auto any = load_any_config(line.config, line.overrides);
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
  write_outcome(line, with_chip(none, config), "", outputs);
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
  std::vector<std::string> files = {line.config};
  files.insert(files.end(), line.more_configs.begin(), line.more_configs.end());
  check_output(line.json);
  std::string text;
  Json list = Json::array();
  int status = kProved;
  for (const std::string& file : files) {
    CommandLine one = line;
    one.config = file;
    const Config config = load_chip_config(file, line.overrides);
    require_chip(config, file);
    const System& system = config.problem.system;
    if (!text.empty()) text += "\n";
    text += title_of(one) + "\n" + chip_table(*config.design, *config.chip, system);
    if (!config.chip->infeasible.empty()) {
      status = kInfeasible;
    } else if (files.size() == 1) {
      text += "\n# The machine, to paste into a config:\n" +
              system_yaml(*config.design, *config.chip, system);
    }
    list.push_back(config_json(title_of(one), config));
  }
  const std::string json = json_text(files.size() == 1 ? list.front() : list);
  if (!line.json.empty() && line.json != "-") write_file(line.json, json);
  print(line.json == "-" ? json : text);
  return status;
}

}  // namespace dfsearch
