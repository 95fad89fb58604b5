#include "cli/solve_execution.hpp"

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "cli/exit_status.hpp"
#include "cli/machine_memory.hpp"
#include "cli/outputs.hpp"
#include "cli/page_output.hpp"
#include "cli/search_history.hpp"
#include "cli/signals.hpp"
#include "cli/standard_output.hpp"
#include "engine/calculon/find_execution.hpp"
#include "engine/training/find_plan.hpp"
#include "io/report/execution_report.hpp"
#include "io/report/plan_report.hpp"
#include "io/result/execution_json.hpp"
#include "io/result/plan_json.hpp"

namespace dfsearch {
namespace {

/// Options of mappings, which is not what is searched; `config` names the kind of config.
void refuse_options(const CommandLine& line, const char* config) {
  std::vector<std::string> wrong;
  for (const auto& [option, file] :
       {std::pair("--mapping", &line.mapping), std::pair("--hint", &line.hint),
        std::pair("--checkpoint", &line.checkpoint), std::pair("--resume", &line.resume),
        std::pair("--events", &line.events)}) {
    if (!file->empty()) {
      wrong.push_back(fmt::format("{}: a config with {} does not take it", option, config));
    }
  }
  if (!line.bounds.dropped().empty()) {
    wrong.push_back(fmt::format("--no-bound: a config with {} does not take it", config));
  }
  if (!wrong.empty()) throw InputError(wrong);
}

/// What both searches take.
template <class Search>
Search search_of(const CommandLine& line, const SearchSettings& settings, StartLimit& start) {
  Search search;
  search.limits.deadline = start.begin_search(line.time_limit.value_or(settings.time_limit));
  search.limits.gap = line.gap.value_or(settings.gap);
  search.limits.memory =
      line.memory_limit.value_or(settings.memory_limit.value_or(0.5 * machine_memory()));
  if (line.node_limit) search.limits.nodes = *line.node_limit;
  search.threads = line.threads;
  search.deterministic = line.deterministic;
  search.top = line.top.value_or(1);
  return search;
}

/// A search takes milliseconds, so all there is to tell is what it found on the way.
void print_improvement(const Progress& progress) {
  print_error(fmt::format("{:>9}  {} nodes, best {}, lower bound {}\n", to_text(progress.time),
                          progress.nodes, to_text(Seconds(progress.incumbent.in_base_units())),
                          to_text(Seconds(progress.lower_bound.in_base_units()))));
}

template <class Search>
void listen(const CommandLine& line, SearchHistory& history, Search& search) {
  if (!line.verbose && !history.is_on()) return;
  search.on_incumbent = [&line, &history](const Progress& progress) {
    if (line.verbose) print_improvement(progress);
    history.add(progress);
  };
}

bool needs_json(const CommandLine& line) { return !line.json.empty() || !line.html.empty(); }

/// Writes what there is; the exit status says how sure it is.
template <class Result>
int tell(const CommandLine& line, const Result& result, const std::string& json,
         const std::string& report, const SearchHistory& history, const Deadline& deadline) {
  Outputs outputs(deadline);
  if (!line.json.empty() && line.json != "-") outputs.file(line.json, json);
  outputs.attempt([&] { print(line.json == "-" ? json : report); });
  write_page(line, json, history.points(), outputs);
  outputs.throw_if_any_failed();
  // Of several parallelisms all must be proved.
  for (const auto& found : result.alternatives) {
    if (found.status != SearchStatus::Optimal) return kStoppedWithMapping;
  }
  return exit_status(result.status);
}

}  // namespace

int run_solve_execution(const CommandLine& line, const CalculonConfig& config, StartLimit& start) {
  refuse_options(line, "'equations: calculon'");
  check_output(line.json);
  check_output(line.html);
  SearchHistory history(!line.html.empty());
  auto search = search_of<calculon::ExecutionSearch>(line, config.search, start);
  search.count = line.count;
  listen(line, history, search);
  const calculon::ExecutionResult result = calculon::find_execution(config.task, search);
  return tell(line, result, needs_json(line) ? execution_json(config.task, result) : "",
              execution_report(config.task, result, title_of(line)), history,
              search.limits.deadline);
}

int run_solve_plan(const CommandLine& line, const TrainingConfig& config, StartLimit& start) {
  refuse_options(line, "'training'");
  check_output(line.json);
  check_output(line.html);
  SearchHistory history(!line.html.empty());
  auto search = search_of<training::PlanSearch>(line, config.search, start);
  listen(line, history, search);
  const training::PlanResult result = training::find_plan(config.task, search);
  return tell(line, result, needs_json(line) ? plan_json(config.task, result) : "",
              plan_report(config.task, result, title_of(line)), history, search.limits.deadline);
}

}  // namespace dfsearch
