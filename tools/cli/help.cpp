#include "cli/option_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/version.hpp"
#include "cli/commands.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
namespace {

constexpr const char* kTitle = "exact search for the best mapping of a workload onto many chips";
constexpr const char* kIntroduction =
    "A CONFIG is YAML or JSON (docs/formats.md); --config CONFIG says the same.  What is "
    "no file is one of the shelf, which is part of the program: gpt3_1t, gpt3_1t.yaml, "
    "configs/gpt3_1t.yaml; so is a STUDY (serving).  A report for people goes to standard "
    "output, progress and errors to standard error.  With a section 'training' a CONFIG "
    "asks for the best plan of a training step, with 'equations: calculon' for the best "
    "execution of Calculon's model, with 'kind: llm_serving' for the best deployment, in "
    "place of a mapping: solve, evaluate and check take these.";
constexpr const char* kProgress =
    "progress: time, nodes expanded and open, best step time with its utilization, lower "
    "bound, gap, and how the best was found: H hint, S segments of one order, R relaxed "
    "sharding, P partitions that dual values just pay for, T tree, B middle of a box of "
    "splits; #2 while the next-best parallelism or split is sought.  SIGINT (Ctrl-C), SIGTERM "
    "and SIGHUP stop a search; it reports and writes the best mapping so far.  A second one "
    "kills.";
constexpr const char* kExamples = R"(  dfsearch --config gpt3_1t.yaml --threads 64
  dfsearch configs/gpt3_1t.yaml --time-limit '20 min' --json result.json --mapping best.json
  dfsearch configs/gpt3_1t.yaml --html page.html
  dfsearch report result.json -o page.html
  dfsearch configs/gpt3_1t.yaml --set execution.partitions=8 --hint best.json
  dfsearch configs/gpt3_1t_free.yaml --top 5
  dfsearch configs/training/llama3_70b_2048_h100.yaml
  dfsearch configs/calculon_1t.yaml --count
  dfsearch configs/gpt3_1t_free.yaml --checkpoint run.ck
  dfsearch configs/gpt3_1t_free.yaml --checkpoint run.ck    # goes on from there
  dfsearch evaluate configs/gpt3_1t.yaml --mapping best.json
  dfsearch export configs/gpt3_1t.yaml --mapping best.json -o fusion.mps
  dfsearch evaluate configs/gpt3_1t.yaml --mapping best.json --solution fusion.sol
  dfsearch graph configs/gpt3_1t.yaml --format dot --mapping best.json | dot -Tsvg -o graph.svg
  dfsearch list systems
  dfsearch chip configs/chips/v100.yaml
  dfsearch chip configs/chips
  dfsearch configs/seven_nm_split.yaml
  dfsearch gemm configs/chips/v100.yaml --shape 4096x4096x4096 --published
  dfsearch study configs/studies/sram_bandwidth.yaml -o sram --threads 2
  dfsearch import setup.txt -o gpt3_1t_again.yaml
  dfsearch config.json --system h100_dgx --chips 8
  dfsearch configs/transformers/llama3_70b.yaml --set workload.model=qwen2_5_72b
)";
constexpr const char* kExitStatus =
    R"(  0  proved within the gap asked for; evaluate: the mapping fits
  1  internal error
  2  usage or input error, or a file that cannot be written
  3  proved infeasible; evaluate: the mapping does not fit
  4  stopped by a limit or a signal, with a mapping
  5  stopped by a limit or a signal, without one
  study: 0 all that had to be solved is proved, 3 and nothing fits; 4 something is not, 5 nothing is
)";

/// Words behind a head, wrapped and indented; ends in a newline.
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

std::string options_text(std::span<const OptionRow> rows) {
  constexpr std::size_t kIndent = 25;
  std::string text;
  for (const OptionRow& row : rows) {
    std::string names = row.names;
    if (const std::size_t comma = names.find(','); comma != std::string::npos) {
      names.insert(comma + 1, " ");
    }
    text += entry("  " + names + (row.is_flag() ? "" : " ") + row.value, row.meaning, kIndent);
  }
  return text;
}

std::string usage_text(const CommandRow& command, bool is_first) {
  constexpr std::size_t kIndent = 49;
  std::string text;
  for (const UsageRow& usage : command.usages) {
    const char* const start = is_first && text.empty() ? "usage: dfsearch " : "       dfsearch ";
    const bool may_be_left_out = &command == &command_rows().front();
    text += entry(
        start + (may_be_left_out ? fmt::format("[{}]", command.name) : std::string(command.name)) +
            (*usage.words != '\0' ? " " : "") + usage.words,
        usage.meaning, kIndent);
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

/// The note on a command, before its options.
std::string note_text(const CommandRow& command) {
  return *command.note == '\0' ? "" : entry("", command.note, 0);
}

// ---- For shells.

/// "-o" and "--output" of "-o,--output".
std::vector<std::string> names_of(const OptionRow& row) {
  const std::string_view all = row.names;
  const std::size_t comma = all.find(',');
  if (comma == std::string_view::npos) return {std::string(all)};
  return {std::string(all.substr(0, comma)), std::string(all.substr(comma + 1))};
}

std::vector<const OptionRow*> options_of(const CommandRow& command) {
  std::vector<const OptionRow*> rows;
  if (command.takes_config) {
    for (const OptionRow& row : config_rows()) rows.push_back(&row);
  }
  for (const OptionRow& row : command.options) rows.push_back(&row);
  return rows;
}

std::string bash_text() {
  std::string names, cases;
  for (const CommandRow& command : command_rows()) {
    names += fmt::format("{} ", command.name);
    std::string options = "--help";
    for (const OptionRow* row : options_of(command)) {
      for (const std::string& name : names_of(*row)) options += " " + name;
    }
    const bool is_default = &command == &command_rows().front();
    if (is_default) continue;
    cases += fmt::format("    {}) words='{}' ;;\n", command.name, options);
  }
  std::string preset = "--help --version";
  for (const OptionRow* row : options_of(command_rows().front())) {
    preset += fmt::format(" {}", row->name());
  }
  return fmt::format(
      "_dfsearch() {{\n  local words\n  case ${{COMP_WORDS[1]}} in\n{}    *) words='{}' ;;\n"
      "  esac\n  ((COMP_CWORD == 1)) && words+=' {}'\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\"))\n}}\n"
      "complete -o default -o bashdefault -F _dfsearch dfsearch\n",
      cases, preset, names);
}

/// Roff reads '-' as a hyphen, a backslash as a request, and a dot or a quote that begins a line.
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

std::string manual_text() {
  std::string text = fmt::format(".TH DFSEARCH 1 \"\" \"dfsearch {}\"\n.SH NAME\ndfsearch \\- {}\n",
                                 kVersion, kTitle);
  text += ".SH SYNOPSIS\n.nf\n";
  for (const CommandRow& command : command_rows()) {
    for (const UsageRow& usage : command.usages) {
      text += roff(fmt::format("dfsearch {} {}", command.name, usage.words)) + "\n";
    }
  }
  text += ".fi\n.SH DESCRIPTION\n" + roff(kIntroduction) + "\n";
  const auto add = [&](std::span<const OptionRow> rows) {
    for (const OptionRow& row : rows) {
      text += ".TP\n" + roff(fmt::format("{} {}", row.names, row.value)) + "\n" +
              roff(row.meaning) + "\n";
    }
  };
  text += ".SH OPTIONS OF ALL COMMANDS THAT TAKE A CONFIG\n";
  add(config_rows());
  for (const CommandRow& command : command_rows()) {
    text +=
        ".SH dfsearch " + roff(command.name) + "\n" + roff(command.usages.front().meaning) + ".\n";
    if (*command.note != '\0') text += ".PP\n" + roff(command.note) + "\n";
    add(command.options);
  }
  text += ".SH BOUNDS OF THE SEARCH\n.nf\n" + roff(bounds_text()) + ".fi\n";
  text += ".SH EXIT STATUS\n.nf\n" + roff(kExitStatus) + ".fi\n";
  return text + ".SH EXAMPLES\n.nf\n" + roff(kExamples) + ".fi\n";
}

}  // namespace

std::string help_text() {
  std::string text = fmt::format("dfsearch: {}\n\n", kTitle);
  for (const CommandRow& command : command_rows()) {
    text += usage_text(command, &command == &command_rows().front());
  }
  text += "       dfsearch --help | --version; dfsearch COMMAND --help\n\n" +
          entry("", kIntroduction, 0) + "\nall commands that take a CONFIG\n" +
          options_text(config_rows());
  for (const CommandRow& command : command_rows()) {
    if (command.options.empty() && *command.note == '\0') continue;
    text += fmt::format("\n{}\n{}", command.name, options_text(command.options));
    if (*command.note != '\0') text += entry("  ", command.note, 2);
  }
  return text + "\nexamples\n" + kExamples + "\n" + entry("", kProgress, 0) +
         "\nbounds, with their sections of docs/search.md\n" + bounds_text() + "\nexit status\n" +
         kExitStatus;
}

std::string help_text(const CommandRow& command) {
  std::string text = usage_text(command, true);
  const std::string note = note_text(command);
  if (!note.empty()) text += "\n" + note;
  text += "\n" + options_text(command.options);
  if (command.takes_config) text += options_text(config_rows());
  text += "  -h, --help             this text\n";
  if (command.run == run_solve) {
    text += "\n" + entry("", kProgress, 0) + "\nbounds, with their sections of docs/search.md\n" +
            bounds_text() + "\nexit status\n" + kExitStatus;
  }
  return text + "\nrun 'dfsearch --help' for all commands, examples and the exit status\n";
}

std::string completion_text(Shell shell) {
  return shell == Shell::Bash ? bash_text() : manual_text();
}

}  // namespace dfsearch
