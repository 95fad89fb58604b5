#include "cli_commands.hpp"

#include <optional>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "cli_output.hpp"
#include "cli_progress.hpp"
#include "cli_signals.hpp"
#include "engine/solve.hpp"
#include "io/export_dfmodel.hpp"
#include "io/graph_text.hpp"
#include "io/import_dfmodel.hpp"
#include "io/load_config.hpp"
#include "io/mapping_file.hpp"
#include "io/read_file.hpp"
#include "io/report.hpp"
#include "io/result_json.hpp"
#include "io/write_file.hpp"
#include "model/evaluate.hpp"

namespace dfsearch {
namespace {

/// Enough to repeat the run with.
std::string title_of(const CommandLine& line) {
  std::string title = line.config;
  for (const std::string& change : line.overrides) title += " --set " + change;
  return title;
}

void check_output(const std::string& file) {
  if (!file.empty() && file != "-") check_writable(file);
}

/// Writes every output that was asked for, also when another one fails: a
/// result that took hours must not be lost to a full disk.
class Outputs {
 public:
  template <class Write>
  void attempt(Write write) {
    try {
      write();
    } catch (const InputError& error) {
      for (const std::string& message : error.messages()) wrong_.push_back(message);
    }
  }
  void throw_if_any_failed() const {
    if (!wrong_.empty()) throw InputError(wrong_);
  }

 private:
  std::vector<std::string> wrong_;
};

/// The report, or JSON in its place, and the files.
void write_outcome(const CommandLine& line, const Outcome& outcome, const std::string& mapping) {
  const std::string json =
      line.json.empty() && mapping.empty() ? std::string() : result_json(outcome);
  Outputs outputs;
  if (!mapping.empty()) outputs.attempt([&] { write_file(mapping, json); });
  if (line.json == "-") {
    outputs.attempt([&] { print(json); });
  } else {
    if (!line.json.empty()) outputs.attempt([&] { write_file(line.json, json); });
    outputs.attempt([&] { print(report_text(outcome, title_of(line))); });
  }
  outputs.throw_if_any_failed();
}

/// The hint, unless it does not fit: then it is dropped, and the user told why.
std::optional<Mapping> load_hint(const CommandLine& line, const Problem& problem) {
  if (line.hint.empty()) return std::nullopt;
  Mapping hint = load_mapping(line.hint, problem);
  const auto verdict = evaluate(problem, hint);
  if (const auto* reason = std::get_if<Infeasible>(&verdict)) {
    print_error(line.hint + ": the hint does not fit and is dropped: " +
                infeasible_text(problem, *reason) + "\n");
    return std::nullopt;
  }
  return hint;
}

SearchOptions search_options(const CommandLine& line, const Config& config) {
  SearchOptions options;
  options.limits.time = line.time_limit.value_or(config.search.time_limit);
  options.limits.gap = line.gap.value_or(config.search.gap);
  if (line.node_limit) options.limits.nodes = *line.node_limit;
  options.threads = line.threads;
  options.deterministic = line.deterministic;
  options.hint = load_hint(line, config.problem);
  return options;
}

int exit_status(SearchStatus status) {
  switch (status) {
    case SearchStatus::Optimal:
      return kProved;
    case SearchStatus::Feasible:
      return kStoppedWithMapping;
    case SearchStatus::Infeasible:
      return kInfeasible;
    case SearchStatus::NoSolution:
      return kStoppedWithout;
  }
  return kInternalError;
}

int run_solve(const CommandLine& line) {
  const Config config = load_config(line.config, line.overrides);
  SearchOptions options = search_options(line, config);
  check_output(line.json);
  check_output(line.mapping);

  const Detail detail =
      line.quiet ? Detail::Quiet : (line.verbose ? Detail::Verbose : Detail::Normal);
  ProgressPrinter progress(config.problem, detail);
  options.progress_interval = progress.interval();
  options.report_incumbents = line.verbose && !line.quiet;
  if (!line.quiet) options.on_progress = [&](const Progress& p) { progress.print(p); };
  options.limits.stop = stop_on_signals();
  const SearchResult result = solve(config.problem, options);
  progress.finish();

  std::string mapping = line.mapping;
  if (!mapping.empty() && !result.mapping) {
    print_error(mapping + ": not written, there is no mapping\n");
    mapping.clear();
  }
  write_outcome(line, Outcome::of(config.problem, result), mapping);
  return exit_status(result.status);
}

int run_evaluate(const CommandLine& line) {
  const Config config = load_config(line.config, line.overrides);
  const Mapping mapping = load_mapping(line.mapping, config.problem);
  check_output(line.json);
  const std::variant<Cost, Infeasible> verdict = evaluate(config.problem, mapping);
  write_outcome(line, Outcome::of(config.problem, mapping, verdict), "");
  return std::holds_alternative<Cost>(verdict) ? kProved : kInfeasible;
}

int run_check(const CommandLine& line) {
  const Config config = load_config(line.config, line.overrides);
  print(title_of(line) + ": valid\n" + problem_text(config.problem));
  return kProved;
}

void write_output(const std::string& file, const std::string& text) {
  if (file == "-") {
    print(text);
  } else {
    write_file(file, text);
  }
}

int run_graph(const CommandLine& line) {
  const Config config = load_config(line.config, line.overrides);
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
    case GraphFormat::Dfmodel:
      text = export_dfmodel(config, line.config);
      break;
  }
  write_output(line.output, text);
  return kProved;
}

int run_import(const CommandLine& line) {
  write_output(line.output, import_dfmodel(read_file(line.config), line.config));
  return kProved;
}

}  // namespace

int run(const CommandLine& line) {
  switch (line.command) {
    case Command::Solve:
      return run_solve(line);
    case Command::Evaluate:
      return run_evaluate(line);
    case Command::Check:
      return run_check(line);
    case Command::Graph:
      return run_graph(line);
    case Command::Import:
      return run_import(line);
  }
  return kInternalError;
}

}  // namespace dfsearch
