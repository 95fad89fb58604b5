// Texts made of the rows of commands: help, a manual page, completion of bash.

#include "cli/option_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/version.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
namespace {

constexpr const char* kTitle = "exact search for the best mapping of a workload onto many chips";
constexpr const char* kIntroduction =
    "A CONFIG is a file of YAML or JSON (docs/formats.md), or the name of a built-in one: "
    "gpt3_1t, gpt3_1t.yaml, configs/gpt3_1t.yaml; 'dfsearch list configs' prints the names. "
    "With a section 'training' it asks for the best plan of a training step, with 'equations: "
    "calculon' for the best execution of Calculon's model, with 'kind: llm_serving' for the best "
    "deployment, else for a mapping: solve, evaluate and check take all of these. A report for "
    "people goes to standard output, progress and errors to standard error.";
constexpr const char* kFirstExamples = R"(  dfsearch gpt3_1t
  dfsearch configs/training/llama3_70b_2048_h100.yaml --html page.html
  dfsearch config.json --system h100_dgx --chips 8
  dfsearch study configs/studies/sram_bandwidth.yaml -o sram
)";
constexpr const char* kProgress =
    "progress: time, nodes expanded and open, best step time with its utilization, lower bound, "
    "gap, and how the best was found: H hint, S segments of one order, R relaxed sharding, P "
    "partitions of reduced cost 0, M moves, T tree, B middle of a box of splits; #2: search for "
    "the next-best parallelism or split. SIGINT (Ctrl-C), SIGTERM and SIGHUP stop a search, which "
    "then reports and writes the best mapping so far. A second signal kills the program.";
constexpr const char* kExitStatus =
    R"(  0  proved within the gap that was allowed; evaluate: the mapping or plan fits
  1  internal error
  2  usage or input error, or a file that cannot be written
  3  proved infeasible; evaluate: the mapping does not fit
  4  not proved: stopped by a limit or a signal with a mapping, or a plan that may not fit
  5  not proved: stopped by a limit or a signal without one, or none found to fit
  study: 0 all required points are proved, 3 and none fits; 4 some are not proved, 5 none is
)";

/// Text after a head, wrapped and indented; ends in a newline.
std::string entry(const std::string& head, std::string_view text, std::size_t indent) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::string start = head;
  if (!head.empty()) start.resize(std::max(indent, head.size() + 2), ' ');
  return start + wrapped(words, start.size(), indent) + "\n";
}

bool is_default(const CommandRow& command) { return &command == &command_rows().front(); }

std::string usage_text(const CommandRow& command, const UsageRow& usage, bool is_first) {
  constexpr std::size_t kIndent = 49;
  return entry(fmt::format("{} dfsearch {}{}{}", is_first ? "usage:" : "      ",
                           is_default(command) ? "[solve]" : command.name,
                           *usage.words != '\0' ? " " : "", usage.words),
               usage.meaning, kIndent);
}

std::string meaning_of(const OptionRow& row) {
  return row.meaning + (row.words != nullptr ? ": " + row.words() : "") +
         (row.times == Times::Repeatable ? "; repeatable" : "");
}

std::string options_text(std::span<const OptionRow> rows) {
  constexpr std::size_t kIndent = 25;
  std::string text;
  for (const OptionRow& row : rows) {
    text += entry(fmt::format("  {}{}{}", fmt::join(row.all_names(), ", "),
                              row.is_flag() ? "" : " ", row.value),
                  meaning_of(row), kIndent);
  }
  return text;
}

std::string bounds_text() {
  std::string text;
  for (const SearchBoundName& bound : kSearchBounds) {
    text += fmt::format("  {:<16} {}\n", bound.name, bound.meaning);
  }
  return text;
}

std::string bash_text() {
  std::string names, cases, of_default;
  for (const CommandRow& command : command_rows()) {
    std::string options;
    for (const OptionRow& row : command.options()) {
      options += fmt::format(" {}", fmt::join(row.all_names(), " "));
    }
    names += fmt::format("{} ", command.name);
    std::string& to = is_default(command) ? of_default : cases;
    to += fmt::format("    {}) words='--help{}' ;;\n", is_default(command) ? "*" : command.name,
                      options);
  }
  return fmt::format(
      "_dfsearch() {{\n  local words\n  case ${{COMP_WORDS[1]}} in\n{}{}  esac\n"
      "  ((COMP_CWORD == 1)) && words+=' --version {}'\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\"))\n}}\n"
      "complete -o default -o bashdefault -F _dfsearch dfsearch\n",
      cases, of_default, names);
}

/// Escapes '-', which roff reads as a hyphen, and the starts of requests: a backslash anywhere, a
/// dot or a quote at the beginning of a line.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins = escaped.empty() || escaped.back() == '\n';
    if (begins && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// Lines of roff that are not wrapped.
std::string roff_lines(std::string_view text) { return ".nf\n" + roff(text) + ".fi\n"; }

std::string manual_text() {
  std::string synopsis, commands, examples;
  const auto add = [&](std::span<const OptionRow> rows) {
    for (const OptionRow& row : rows) {
      commands += ".TP\n" + roff(fmt::format("{} {}", row.names, row.value)) + "\n" +
                  roff(meaning_of(row)) + "\n";
    }
  };
  commands += ".SH OPTIONS OF ALL COMMANDS THAT TAKE A CONFIG\n";
  add(config_options());
  for (const CommandRow& command : command_rows()) {
    for (const UsageRow& usage : command.usages) {
      synopsis += fmt::format("dfsearch {} {}\n", command.name, usage.words);
    }
    commands +=
        ".SH dfsearch " + roff(command.name) + "\n" + roff(command.usages.front().meaning) + ".\n";
    if (*command.note != '\0') commands += ".PP\n" + roff(command.note) + "\n";
    add(command.own_options);
    examples += command.examples;
  }
  return fmt::format(".TH DFSEARCH 1 \"\" \"dfsearch {}\"\n.SH NAME\ndfsearch \\- {}\n", kVersion,
                     kTitle) +
         ".SH SYNOPSIS\n" + roff_lines(synopsis) + ".SH DESCRIPTION\n" + roff(kIntroduction) +
         "\n" + commands + ".SH BOUNDS OF THE SEARCH\n" + roff_lines(bounds_text()) +
         ".SH EXIT STATUS\n" + roff_lines(kExitStatus) + ".SH EXAMPLES\n" + roff_lines(examples);
}

}  // namespace

std::string help_text() {
  std::string text = fmt::format("dfsearch: {}\n\n", kTitle);
  for (const CommandRow& command : command_rows()) {
    text += usage_text(command, command.usages.front(), is_default(command));
  }
  return text + "       dfsearch --version\n\n" + entry("", kIntroduction, 0) + "\nexamples\n" +
         kFirstExamples +
         "\nrun 'dfsearch COMMAND --help' for the options of a command, 'dfsearch solve --help' "
         "also\nfor the exit status\n";
}

std::string help_text(const CommandRow& command) {
  std::string text;
  for (const UsageRow& usage : command.usages) text += usage_text(command, usage, text.empty());
  if (*command.note != '\0') text += "\n" + entry("", command.note, 0);
  text += "\n" + options_text(command.own_options) + "  -h, --help             this text\n";
  if (command.takes_config) text += "\noptions of the config\n" + options_text(config_options());
  if (*command.examples != '\0') text += std::string("\nexamples\n") + command.examples;
  if (is_default(command)) {
    text += "\n" + entry("", kProgress, 0) + "\nbounds, with their sections of docs/search.md\n" +
            bounds_text() + "\nexit status\n" + kExitStatus;
  }
  return text + "\nrun 'dfsearch --help' for all commands\n";
}

std::string completion_text(Shell shell) {
  return shell == Shell::Bash ? bash_text() : manual_text();
}

}  // namespace dfsearch
