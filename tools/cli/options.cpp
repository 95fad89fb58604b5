// CLI11 splits the words of a command line into options and inputs; what they mean is in the rows
// of option_rows.cpp, so that errors say what was expected.

#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/option_rows.hpp"
#include "cli/option_values.hpp"
#include "io/config/load_config.hpp"
#include "io/text/input_messages.hpp"

// The version of the project is a definition of this file (tools/CMakeLists.txt).
static_assert(std::string_view(dfsearch::kVersion) == DFSEARCH_VERSION,
              "base/version.hpp and CMakeLists.txt give different versions");

namespace dfsearch {
namespace {

/// The command line as a shell takes it, without where the page goes: that does not change what
/// the page shows.
std::string shell_text(const std::vector<std::string>& words) {
  std::string text = "dfsearch";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("--html=")) continue;
    if (words[i] == "--html") {
      ++i;
      continue;
    }
    const bool plain =
        !words[i].empty() && words[i].find_first_not_of(
                                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_-./=:,+%@") == std::string::npos;
    std::string quoted = "'";
    for (const char c : words[i]) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += " " + (plain ? words[i] : quoted + "'");
  }
  return text;
}

/// A word where a config is expected that looks like a misspelt command.
void refuse_misspelt_command(const std::string& word) {
  if (word.find_first_of("./-") != std::string::npos) return;
  std::error_code error;
  if (word == "serve" && !std::filesystem::exists(word, error)) {
    usage_error("serve: no such command, 'dfsearch report DIR -o DIR/index.html' writes a page");
  }
  std::vector<std::string_view> names;
  for (const CommandRow& row : command_rows()) names.emplace_back(row.name);
  const std::string near = suggestion(word, names);
  if (near.empty() || std::filesystem::exists(word, error)) return;
  if (find_on_shelf(ShelfKind::Configs, word)) return;
  usage_error("unknown command " + in_quotes(word) + near);
}

/// The options of a command, with what the command line says of each.
struct Given {
  const OptionRow* row;
  CLI::Option* option = nullptr;
  std::vector<std::string> values;
};

/// The words that are no options, and the options; false where help is asked for.
bool split(const CommandRow& command, std::vector<std::string> words,
           std::vector<std::string>& inputs, std::vector<Given>& options) {
  CLI::App app;
  bool help = false;
  app.set_help_flag();
  app.allow_extras();
  app.add_flag("-h,--help", help);
  app.add_option("INPUT", inputs);
  if (command.takes_config) {
    for (const OptionRow& row : config_rows()) options.push_back({.row = &row, .values = {}});
  }
  for (const OptionRow& row : command.options) options.push_back({.row = &row, .values = {}});
  for (Given& given : options) {
    const OptionRow& row = *given.row;
    // One value each, so that the input may follow.
    given.option = row.is_flag() ? app.add_flag(row.names)
                                 : app.add_option(row.names, given.values)
                                       ->expected(1)
                                       ->take_all()
                                       ->allow_extra_args(false);
  }
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    usage_error(error.what());
  }
  refuse_extras(app, command.name, command.input);
  for (Given& given : options) {
    if (given.row->is_flag()) given.values.resize(std::min<std::size_t>(given.option->count(), 1));
  }
  return !help;
}

/// The first word of its usage: "CONFIG"; one in brackets may be left out.
std::string input_name(const CommandRow& command) {
  const std::string_view usage = command.usages.front().words;
  return std::string(usage.substr(0, usage.find_first_of(" ")));
}

void take_inputs(const CommandRow& command, const std::vector<std::string>& inputs,
                 CommandLine& line) {
  const std::string name = input_name(command);
  if (!inputs.empty()) {
    line.config = inputs.front();
    line.more_configs.assign(inputs.begin() + 1, inputs.end());
  }
  const bool takes_none = name.empty();
  if ((line.more_configs.size() > 0 && !command.takes_several) || (takes_none && !inputs.empty())) {
    usage_error(fmt::format("{}: one {} is enough, got also {}", command.name, command.input,
                            in_quotes(inputs.back())));
  }
  if (!line.config.empty() && !line.config_option.empty()) {
    usage_error(fmt::format("{}: one config is enough, got {} and {}", command.name,
                            in_quotes(line.config_option), in_quotes(line.config)));
  }
  if (line.config.empty()) line.config = line.config_option;
  if (line.config.empty() && !takes_none && !name.starts_with('[')) {
    usage_error(fmt::format("{}: missing {}", command.name, name));
  }
}

/// Finds files by their paths or on the shelf.
void find_configs(CommandLine& line) {
  line.config = find_input(line.config, ShelfKind::Configs).string();
  for (std::string& more : line.more_configs) more = find_input(more, ShelfKind::Configs).string();
}

}  // namespace

std::variant<CommandLine, HelpText> parse_command_line(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
  if (words.empty()) usage_error("what is to be searched? usage: dfsearch CONFIG [options]");
  if (words[0] == "--version") {
    return HelpText{fmt::format("dfsearch {}\n{}", kVersion, cluster_text())};
  }
  if (words[0] == "help") {
    if (words.size() == 1) return HelpText{help_text()};
    words = {words[1], "--help"};
  }

  // A command is the first word or it is none: a config may have any name.
  CommandLine line;
  line.words = shell_text(words);
  const std::span<const CommandRow> rows = command_rows();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const CommandRow& row) { return words[0] == row.name; });
  const bool is_named = found != rows.end();
  const CommandRow& command = is_named ? *found : rows.front();
  line.command = &command;
  if (is_named) {
    words.erase(words.begin());
  } else {
    refuse_misspelt_command(words[0]);
  }
  std::vector<std::string> inputs;
  std::vector<Given> options;
  if (!split(command, std::move(words), inputs, options)) {
    return HelpText{is_named ? help_text(command) : help_text()};
  }
  for (const Given& given : options) {
    const std::string name(given.row->name());
    if (given.values.size() > 1 && !given.row->repeatable) {
      usage_error(fmt::format("{}: given {} times, expected once", name, given.values.size()));
    }
    for (const std::string& value : given.values) given.row->read(line, name, value);
  }
  take_inputs(command, inputs, line);
  if (command.finish != nullptr) command.finish(line);
  if (command.takes_config) find_configs(line);
  return line;
}

}  // namespace dfsearch
