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
  const char* input;  ///< noun of an input, "config"
  std::span<const OptionRow> options;
  void (*finish)(CommandLine& line);  ///< what several options say together; null: nothing
  const char* note = "";              ///< what its help says beside the options
  bool takes_config = true;           ///< and --config and --set
  bool takes_several = false;         ///< of its inputs
};

/// In the order of the help; the first one is meant where none is named.
std::span<const CommandRow> command_rows();
/// Options of all commands that take a config.
std::span<const OptionRow> config_rows();

/// Text of --help for all commands, or for one.
std::string help_text();
std::string help_text(const CommandRow& command);

/// A script for completion in bash, or a manual page (roff).
std::string completion_text(Shell shell);

void drop_bound(CommandLine& line, const std::string& option, const std::string& value);
void system_name(CommandLine& line, const std::string&, const std::string& value);
/// Sets the treatment of unknown operators of ONNX.
void unknown_operators(CommandLine& line, const std::string& option, const std::string& value);
void objective(CommandLine& line, const std::string&, const std::string& value);
void mesh_axis(CommandLine& line, const std::string& option, const std::string& value);
void open_axis(CommandLine& line, const std::string& option, const std::string& value);
void shape(CommandLine& line, const std::string& option, const std::string& value);
void lstm_model(CommandLine& line, const std::string& option, const std::string& value);
void sharing_chips(CommandLine& line, const std::string& option, const std::string& value);
void hpl_grid(CommandLine& line, const std::string& option, const std::string& value);
void fft_size(CommandLine& line, const std::string& option, const std::string& value);
void nccl_chip(CommandLine& line, const std::string& option, const std::string& value);
void word_size(CommandLine& line, const std::string& option, const std::string& value);
void holdout(CommandLine& line, const std::string& option, const std::string& value);
void emit_to(CommandLine& line, const std::string& option, const std::string& value);
void shard(CommandLine& line, const std::string& option, const std::string& value);
void study_task(CommandLine& line, StudyLine::Task task);

void finish_solve(CommandLine& line);
void finish_evaluate(CommandLine& line);
void finish_graph(CommandLine& line);
void finish_gemm(CommandLine& line);
void finish_hpl(CommandLine& line);
void finish_fft(CommandLine& line);
void finish_collective(CommandLine& line);
void finish_mesh(CommandLine& line);
void finish_predict(CommandLine& line);
void finish_emit(CommandLine& line);
void finish_list(CommandLine& line);
void finish_completion(CommandLine& line);
void finish_study(CommandLine& line);

}  // namespace dfsearch
