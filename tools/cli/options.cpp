#include "cli/options.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/config_section.hpp"
#include "cli/option_rows.hpp"
#include "io/text/input_messages.hpp"

// tools/CMakeLists.txt defines DFSEARCH_VERSION for this file.
static_assert(std::string_view(dfsearch::kVersion) == DFSEARCH_VERSION,
              "base/version.hpp and CMakeLists.txt give different versions");

namespace dfsearch {
namespace {

using Words = std::span<const std::string>;

/// The command line in shell notation, without the file name of the page: the page must not depend
/// on its name.
std::string shell_text(Words words) {
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

/// Refuses a word in the place of a config that looks like a misspelt command.
void refuse_misspelt_command(const std::string& word) {
  if (word.find_first_of("./-") != std::string::npos) return;
  std::error_code error;
  if (word == "serve" && !std::filesystem::exists(word, error)) {
    usage_error("serve: no such command, 'dfsearch report DIR -o DIR/index.html' writes a page");
  }
  const std::string near = suggestion(word, names_of(command_rows(), &CommandRow::name));
  if (near.empty() || std::filesystem::exists(word, error)) return;
  if (find_on_shelf(ShelfKind::Configs, word)) return;
  usage_error("unknown command " + in_quotes(word) + near);
}

/// Whether the word begins like -o or --output; '-' and negative numbers do not.
bool is_option(std::string_view word) {
  if (word.size() < 2 || word[0] != '-' || word.starts_with("---")) return false;
  return word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0;
}

[[noreturn]] void refuse_option(const CommandRow& command, const std::string& word,
                                const std::vector<OptionValues>& options) {
  std::vector<std::string> names = {"--help"};
  for (const OptionValues& given : options) names.push_back(given.row.name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  usage_error(fmt::format("{} has no option {}{}", command.name, in_quotes(word),
                          suggestion(word.substr(0, word.find('=')), known)));
}

/// Splits words into inputs and options.  A value follows '=' or a name of one letter, or is the
/// next word, unless that begins with '--'; all words after '--' are inputs.  Returns whether help
/// is requested.
bool split(const CommandRow& command, Words words, std::vector<std::string>& inputs,
           std::vector<OptionValues>& options) {
  bool asks_help = false;
  for (OptionRow& row : command.options()) options.push_back({row});
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      inputs.insert(inputs.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (!is_option(word)) {
      inputs.push_back(word);
      continue;
    }
    const bool is_long = word[1] == '-';
    const std::size_t end = is_long ? std::min(word.find('='), word.size()) : 2;
    const std::string name = word.substr(0, end);
    std::string value = word.substr(word[std::min(end, word.size() - 1)] == '=' ? end + 1 : end);
    const auto refuse_value = [&] {
      if (end < word.size()) usage_error(name + ": is a flag, expected no value");
    };
    if (name == "-h" || name == "--help") {
      refuse_value();
      asks_help = true;
      continue;
    }
    const auto given =
        std::find_if(options.begin(), options.end(), [&](const OptionValues& option) {
          const std::vector<std::string> names = option.row.all_names();
          return std::find(names.begin(), names.end(), name) != names.end();
        });
    if (given == options.end()) refuse_option(command, word, options);
    if (given->row.is_flag()) {
      refuse_value();
      given->values = {""};
      continue;
    }
    std::string got;
    if (end == word.size() && i + 1 < words.size()) {
      value = words[++i];
      got = value;
      if (value.starts_with("--")) value.clear();
    }
    if (value.empty()) {
      const std::string option = given->row.name();
      usage_error(
          fmt::format("{0}: missing its value {1}{2}", option, given->row.value,
                      got.empty() ? "" : fmt::format("; write {0}={1} if it is {1}", option, got)));
    }
    given->values.push_back(std::move(value));
  }
  return asks_help;
}

void read_options(const std::vector<OptionValues>& options, CommandLine& line) {
  for (const OptionValues& given : options) {
    if (given.values.size() > 1 && given.row.times != Times::Repeatable) {
      usage_error(
          fmt::format("{}: given {} times, expected once", given.row.name(), given.values.size()));
    }
    for (const std::string& value : given.values) given.row.read(line, given.row, value);
  }
}

/// The first word of the usage, such as "CONFIG"; a word in brackets is optional.
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
  if ((!line.more_configs.empty() && !command.takes_several) || (takes_none && !inputs.empty())) {
    usage_error(fmt::format("{}: expected one {}, got also {}", command.name, command.input,
                            in_quotes(inputs.back())));
  }
  if (!line.config.empty() && !line.config_option.empty()) {
    usage_error(fmt::format("{}: expected one config, got {} and {}", command.name,
                            in_quotes(line.config_option), in_quotes(line.config)));
  }
  if (line.config.empty()) line.config = line.config_option;
  if (line.config.empty() && !takes_none && !name.starts_with('[')) {
    usage_error(fmt::format("{}: missing {}", command.name, name));
  }
}

void require_options(const CommandRow& command, const std::vector<OptionValues>& options) {
  for (const OptionValues& given : options) {
    if (given.row.times != Times::Required || !given.values.empty()) continue;
    usage_error(fmt::format("{}: missing {} {}", command.name, given.row.name(), given.row.value));
  }
}

/// Finds the inputs by their paths or on the shelf.
void find_configs(CommandLine& line) {
  line.config = find_input(line.config, ShelfKind::Configs).string();
  for (std::string& more : line.more_configs) more = find_input(more, ShelfKind::Configs).string();
}

const CommandRow* command_named(std::string_view word) {
  for (const CommandRow& row : command_rows()) {
    if (word == row.name) return &row;
  }
  return nullptr;
}

}  // namespace

std::variant<CommandLine, HelpText> parse_command_line(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
  if (words.empty()) usage_error("missing CONFIG, usage: dfsearch CONFIG [options]");
  if (words[0] == "--version") {
    if (words.size() > 1) usage_error("--version: expected no other words");
    return HelpText{fmt::format("dfsearch {}\n{}", kVersion, cluster_text())};
  }
  if (words[0] == "help") {
    if (words.size() == 1) return HelpText{help_text()};
    if (words.size() > 2)
      usage_error("help: expected one command, got also " + in_quotes(words[2]));
    words = {words[1], "--help"};
  }

  // Only the first word may be a command: a config may have any name.
  CommandLine line;
  line.words = shell_text(words);
  const CommandRow* const named = command_named(words[0]);
  if (!named) refuse_misspelt_command(words[0]);
  const CommandRow& command = named ? *named : command_rows().front();
  line.command = &command;
  std::vector<std::string> inputs;
  std::vector<OptionValues> options;
  if (split(command, Words(words).subspan(named ? 1 : 0), inputs, options)) {
    return HelpText{named ? help_text(command) : help_text()};
  }
  read_options(options, line);
  take_inputs(command, inputs, line);
  read_section(command, options, line);
  require_options(command, options);
  try {
    if (command.finish != nullptr) command.finish(line);
  } catch (const InputError& error) {
    throw placed(error, line);
  }
  if (command.takes_config) find_configs(line);
  return line;
}

namespace {

constexpr const char* kSeeHelp = "run 'dfsearch --help' for all commands and options";

/// The number at the beginning of a file, in bytes; infinite if there is none.
Bytes number_in(const char* file) {
  std::ifstream in(file);
  double number = 0.0;
  return in >> number ? Bytes(number) : Bytes::infinity();
}

Bytes shell_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return Bytes::infinity();
  }
  return Bytes(static_cast<double>(limit.rlim_cur));
}

}  // namespace

void usage_error(const std::string& message) {
  throw InputError(std::vector<std::string>{message, kSeeHelp});
}

void refuse_word(const std::string& option, const std::string& word,
                 std::span<const std::string_view> known) {
  usage_error(fmt::format("{}: expected {}, got {}{}", option, joined_choices(known),
                          in_quotes(word), suggestion(word, known)));
}

std::int64_t parse_count(const std::string& option, const std::string& text, std::int64_t most,
                         std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    usage_error(fmt::format("{}: expected a whole number from {} to {}, got {}", option, least,
                            most, in_quotes(text)));
  }
  return value;
}

int hardware_threads() {
  const auto hardware = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return static_cast<int>(std::clamp<std::int64_t>(hardware, 1, kMostThreads));
}

Bytes machine_memory() {
  const Bytes physical(static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<double>(sysconf(_SC_PAGE_SIZE)));
  return std::min({physical, number_in("/sys/fs/cgroup/memory.max"), shell_limit()});
}

}  // namespace dfsearch
