#pragma once
// The commands and their options, declared once: what is read, its help, the manual and the
// completion of shells follow from these rows.

#include <span>
#include <string>
#include <string_view>

#include "cli/options.hpp"

namespace dfsearch {

/// Sets what an option says; the text of a flag is empty.  `option` is its name, for messages.
/// Throws InputError.
using ReadOption = void (*)(CommandLine& line, const std::string& option, const std::string& text);

struct OptionRow {
  const char* names;    ///< "-o,--output"; the last one stands in messages
  const char* value;    ///< "FILE|-"; empty: a flag
  const char* meaning;  ///< a line of the help, which is wrapped
  ReadOption read;
  bool repeatable = false;

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] bool is_flag() const { return *value == '\0'; }
};

struct UsageRow {
  const char* words;  ///< behind the name of the command
  const char* meaning;
};

struct CommandRow {
  int (*run)(const CommandLine& line);
  const char* name;
  std::span<const UsageRow> usages;
  const char* input;  ///< what it takes one of, "config"
  std::span<const OptionRow> options;
  void (*finish)(CommandLine& line);  ///< what several options say together; null: nothing
  const char* note = "";              ///< what its help says beside the options
  bool takes_config = true;           ///< and --config and --set
  bool takes_several = false;         ///< of its inputs
};

/// In the order of the help; the first one is meant where none is named.
std::span<const CommandRow> command_rows();
/// Of all commands that take a config.
std::span<const OptionRow> config_rows();

}  // namespace dfsearch
