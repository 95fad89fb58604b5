#pragma once
// What options say whose text is more than a word or a number, and what the options of a command
// say together.  All throw InputError.

#include <string>

#include "cli/options.hpp"

namespace dfsearch {

void drop_bound(CommandLine& line, const std::string& option, const std::string& value);
void system_name(CommandLine& line, const std::string&, const std::string& value);
/// What becomes of operators of ONNX that are not known.
void unknown_operators(CommandLine& line, const std::string& option, const std::string& value);
void objective(CommandLine& line, const std::string&, const std::string& value);
void mesh_axis(CommandLine& line, const std::string& option, const std::string& value);
void open_axis(CommandLine& line, const std::string& option, const std::string& value);
void shape(CommandLine& line, const std::string& option, const std::string& value);
void lstm_model(CommandLine& line, const std::string& option, const std::string& value);
void sharing_chips(CommandLine& line, const std::string& option, const std::string& value);
void word_size(CommandLine& line, const std::string& option, const std::string& value);
void holdout(CommandLine& line, const std::string& option, const std::string& value);
void emit_to(CommandLine& line, const std::string& option, const std::string& value);
void shard(CommandLine& line, const std::string& option, const std::string& value);
void study_task(CommandLine& line, StudyLine::Task task);

void finish_solve(CommandLine& line);
void finish_evaluate(CommandLine& line);
void finish_graph(CommandLine& line);
void finish_gemm(CommandLine& line);
void finish_mesh(CommandLine& line);
void finish_predict(CommandLine& line);
void finish_emit(CommandLine& line);
void finish_list(CommandLine& line);
void finish_completion(CommandLine& line);
void finish_study(CommandLine& line);

}  // namespace dfsearch
