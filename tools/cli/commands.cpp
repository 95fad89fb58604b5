#include "cli/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.hpp"
#include "cli/config_section.hpp"
#include "cli/option_rows.hpp"
#include "cli/outputs.hpp"
#include "cli/signals.hpp"
#include "io/config/config_schema.hpp"
#include "io/config/foreign_file.hpp"
#include "io/config/graph_text.hpp"
#include "io/emit/emit_result.hpp"
#include "io/huggingface/import_huggingface.hpp"
#include "io/lp/lp_text.hpp"
#include "io/report/report.hpp"
#include "io/result/answer_files.hpp"
#include "io/result/asked_json.hpp"
#include "io/result/result_json.hpp"
#include "io/solve/question.hpp"
#include "io/text/files.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/json_text.hpp"
#include "milp/fusion_model.hpp"

namespace dfsearch {
namespace {

std::optional<Mapping> load_given_mapping(const CommandLine& line, const Problem& problem) {
  if (line.mapping.empty()) return std::nullopt;
  return load_mapping(line.mapping, problem);
}

/// Evaluates the solution that a solver found for an exported program.
Result judged_solution(const CommandLine& line, const Problem& problem) {
  const std::optional<Mapping> given = load_given_mapping(line, problem);
  return judged(problem, mapping_of(load_solution(line.solution, problem.workload.graph), problem,
                                    given ? &*given : nullptr));
}

void refuse_stages(const Config& config, const char* what) {
  if (!config.problem.divides_graph()) return;
  throw InputError(std::string(what) +
                   ": has no stages that divide the graph, expected 'stages: layers'");
}

/// Refuses outputs that would overwrite the result that is read.
void refuse_own_input(const CommandLine& line) {
  const std::string of_groups = line.output + ".json";  // beside traces of Chakra
  for (const std::string& file : {line.output, of_groups}) {
    std::error_code error;
    const bool is_written = file != of_groups || *line.emit_for == EmitFormat::Chakra;
    if (!is_written || !std::filesystem::equivalent(file, line.config, error)) continue;
    throw InputError(
        fmt::format("emit: -o {} would write {} over the result that is read, expected "
                    "another name",
                    line.output, in_quotes(file)));
  }
}

}  // namespace

int run_evaluate(const CommandLine& line) {
  const bool is_solved = !line.solution.empty();
  const AnyConfig config = is_solved ? AnyConfig(load_runnable(line)) : load_any_searchable(line);
  const auto question = question_of(config);
  Result result;
  if (is_solved) result = judged_solution(line, std::get<Config>(config).problem);
  check_output(line.json);
  check_output(line.html);
  if (!is_solved) result = question->evaluate(line.mapping);
  print_notes(result.notes);
  Outputs outputs;
  write_answer(
      line, "", {}, [&] { return question->json(result).tree; },
      [&] { return question->sheet(result, title_of(line), line.verbose || line.detail); },
      outputs);
  outputs.throw_if_any_failed();
  const bool fits = result.status == SearchStatus::Feasible && result.all_proved;
  return fits ? kProved : exit_status(result.status);
}

int run_check(const CommandLine& line) {
  const AnyConfig config = load_any_searchable(line);
  print_notes(notes_of(config));
  print(escaped(title_of(line)) + ": valid\n" + text_of(question_of(config)->text()));
  return kProved;
}

int run_graph(const CommandLine& line) {
  const Config config = load_runnable(line);
  const Workload& workload = config.problem.workload;
  std::string text;
  switch (line.format) {
    case GraphFormat::Yaml:
      text = graph_yaml(workload);
      break;
    case GraphFormat::Json:
      text = graph_json(workload);
      break;
    case GraphFormat::Dot:
      if (line.mapping.empty()) {
        text = graph_dot(workload, nullptr);
      } else {
        const Mapping mapping = load_mapping(line.mapping, config.problem);
        text = graph_dot(workload, &mapping);
      }
      break;
  }
  write_output(line.output, text);
  return kProved;
}

int run_import(const CommandLine& line) {
  if (line.model_counts) {
    write_output(line.output, huggingface_counts(read_file(line.config), line.config, 4096));
    return kProved;
  }
  const std::string text = line.imported.empty() ? imported_file(line.config) : line.imported;
  write_output(line.output, text);
  return kProved;
}

int run_emit(const CommandLine& line) {
  refuse_own_input(line);
  check_output(line.output);
  const std::string text = read_file(line.config);
  const std::vector<std::string> refusals = emit_result(
      {parse_json_object(text, line.config)}, line.config, *line.emit_for,
      line.anyway ? Unrunnable::Write : Unrunnable::Refuse,
      [&](const std::string& ending, const std::string& bytes) {
        write_output(line.output + ending, bytes);
      },
      text);
  if (refusals.empty()) return kProved;
  print_notes(refusal_notes(line.config, *line.emit_for, refusals));
  return kInfeasible;
}

int run_export(const CommandLine& line) {
  const Config config = load_runnable(line);
  if (config.problem.execution.levels) {
    throw InputError(line.config +
                     ": the levels of the chip are not part of an exported program, "
                     "expected 'execution.levels: false'");
  }
  const auto has_steps = [](const Kernel& kernel) { return kernel.steps > 1; };
  const std::vector<Kernel>& kernels = config.problem.workload.graph.kernels();
  if (std::any_of(kernels.begin(), kernels.end(), has_steps)) {
    throw InputError(line.config +
                     ": steps of kernels are not part of an exported program, expected 'steps: 1'");
  }
  refuse_stages(config, "an exported program");
  check_output(line.output);
  LinearModel model;
  if (line.part == ModelPart::Sharding) {
    model = sharding_model(config.problem);
  } else {
    const std::optional<Mapping> given = load_given_mapping(line, config.problem);
    model =
        fusion_model(config.problem, given_decisions(config.problem, given ? &*given : nullptr));
  }
  model.comments.insert(model.comments.begin(), "dfsearch export " + title_of(line));
  const bool is_lp =
      line.model_format ? *line.model_format == ModelFormat::Lp : line.output.ends_with(".lp");
  write_output(line.output, is_lp ? lp_text(model) : mps_text(model));
  return kProved;
}

int run_completion(const CommandLine& line) {
  print(completion_text(line.shell));
  return kProved;
}

int run_schema(const CommandLine&) {
  print(config_schema(closed_form_config()));
  return kProved;
}

int run(CommandLine line) {
  try {
    import_onnx(line);
    return line.command->run(line);
  } catch (const NoSuchChip& none) {
    return report_no_chip(line, none.config);
  } catch (const InputError& error) {
    throw placed(error, line);
  } catch (const StoppedInput& stopped) {
    print_error(std::string("stopped by ") + (stopped.by_signal ? "a signal" : "the time limit") +
                " before the search began\n");
    return kStoppedWithout;
  }
}

int run_list(const CommandLine& line) {
  check_output(line.json);
  write_json_or(line.json, line.json.empty() ? "" : shelf_json(line.kinds), shelf_list(line.kinds));
  return kProved;
}

}  // namespace dfsearch
