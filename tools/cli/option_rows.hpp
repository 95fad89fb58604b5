#pragma once
// The commands and their options, declared once: the reader, the help, the manual and the
// completion of shells follow from these rows.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cli/options.hpp"

namespace dfsearch {

struct OptionRow;

/// Stores the value of an option, empty for a flag, in the line.  Throws InputError.
using ReadOption = void (*)(CommandLine& line, const OptionRow& row, const std::string& value);

enum class Times { Once, Repeatable, Required };

struct OptionRow {
  static constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

  const char* names;    ///< "-o,--output"; messages use the last one
  const char* value;    ///< "FILE|-"; empty: a flag
  const char* meaning;  ///< a line of the help, which is wrapped
  ReadOption read;
  Times times = Times::Once;
  std::int64_t most = kAny;          ///< of a whole number
  std::string (*words)() = nullptr;  ///< the values; null: the meaning has them

  [[nodiscard]] std::string name() const;
  /// All names: "-o" and "--output".
  [[nodiscard]] std::vector<std::string> all_names() const;
  [[nodiscard]] bool is_flag() const { return *value == '\0'; }
};

struct UsageRow {
  const char* words;  ///< after the name of the command; the first one is the input
  const char* meaning;
};

struct CommandRow {
  int (*run)(const CommandLine& line);
  const char* name;
  std::span<const UsageRow> usages;
  const char* input;  ///< noun of an input, "config"
  std::span<const OptionRow> own_options;
  void (*finish)(CommandLine& line);  ///< rules of several options; null: none
  bool takes_config = true;           ///< the input is a config, with the options of configs
  bool takes_several = false;         ///< several inputs are allowed
  const char* note = "";
  const char* examples = "";  ///< lines of a shell

  /// The options of configs, if it takes them, and its own.
  [[nodiscard]] std::vector<OptionRow> options() const;
};

/// The commands in the order of the help.  A line without a command means the first one.
std::span<const CommandRow> command_rows();

std::span<const OptionRow> config_options();

/// Text of --help for all commands, or for one.
std::string help_text();
std::string help_text(const CommandRow& command);

/// A script for completion in bash, or a manual page (roff).
std::string completion_text(Shell shell);

// Readers of options whose value is not simply stored in a member of the line.

void drop_bound(CommandLine& line, const OptionRow& row, const std::string& value);
void system_name(CommandLine& line, const OptionRow& row, const std::string& value);
void chip_count(CommandLine& line, const OptionRow& row, const std::string& value);
void memory_limit(CommandLine& line, const OptionRow& row, const std::string& value);
void objective(CommandLine& line, const OptionRow& row, const std::string& value);
void families_folder(CommandLine& line, const OptionRow& row, const std::string& value);
void mesh_axis(CommandLine& line, const OptionRow& row, const std::string& value);
void open_axis(CommandLine& line, const OptionRow& row, const std::string& value);
void shape(CommandLine& line, const OptionRow& row, const std::string& value);
void lstm_model(CommandLine& line, const OptionRow& row, const std::string& value);
void hpl_grid(CommandLine& line, const OptionRow& row, const std::string& value);
void fft_size(CommandLine& line, const OptionRow& row, const std::string& value);
void fft_element(CommandLine& line, const OptionRow& row, const std::string& value);
void fft_repack(CommandLine& line, const OptionRow& row, const std::string& value);
void word_size(CommandLine& line, const OptionRow& row, const std::string& value);
void holdout(CommandLine& line, const OptionRow& row, const std::string& value);
void emit_to(CommandLine& line, const OptionRow& row, const std::string& value);
void shard(CommandLine& line, const OptionRow& row, const std::string& value);
void study_points(CommandLine& line, const OptionRow& row, const std::string& value);
void study_print(CommandLine& line, const OptionRow& row, const std::string& value);
void study_dry_run(CommandLine& line, const OptionRow& row, const std::string& value);

void finish_solve(CommandLine& line);
void finish_evaluate(CommandLine& line);
void finish_graph(CommandLine& line);
void finish_gemm(CommandLine& line);
void finish_fft(CommandLine& line);
void finish_mesh(CommandLine& line);
void finish_predict(CommandLine& line);
void finish_emit(CommandLine& line);
void finish_list(CommandLine& line);
void finish_completion(CommandLine& line);
void finish_study(CommandLine& line);

}  // namespace dfsearch
