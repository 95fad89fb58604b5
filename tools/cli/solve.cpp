#include "cli/solve.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "cli/checkpoint_output.hpp"
#include "cli/chip.hpp"
#include "cli/commands.hpp"
#include "cli/events.hpp"
#include "cli/exit_status.hpp"
#include "cli/machine_memory.hpp"
#include "cli/outputs.hpp"
#include "cli/progress.hpp"
#include "cli/signals.hpp"
#include "cli/solve_execution.hpp"
#include "cli/standard_output.hpp"
#include "design/find_split.hpp"
#include "engine/answer/search_state.hpp"
#include "engine/solve.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/config/load_config.hpp"
#include "io/report/infeasible_text.hpp"
#include "io/report/report.hpp"
#include "io/result/event_text.hpp"
#include "io/result/mapping_file.hpp"
#include "model/evaluate.hpp"

namespace dfsearch {
namespace {

constexpr Seconds kEventInterval{1.0};

Seconds since(std::chrono::steady_clock::time_point start) {
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
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
  options.limits.memory =
      line.memory_limit.value_or(config.search.memory_limit.value_or(0.5 * machine_memory()));
  options.limits.gap = line.gap.value_or(config.search.gap);
  if (line.node_limit) options.limits.nodes = *line.node_limit;
  options.threads = line.threads;
  options.top = line.top.value_or(1);
  options.next_best = !line.top;
  options.find_changes = true;
  options.bounds = line.bounds;
  options.deterministic = line.deterministic;
  options.hint = load_hint(line, config.problem);
  return options;
}

/// Of several parallelisms all must be proved.
int exit_status(const CommandLine& line, const SearchResult& result) {
  const bool all_proved =
      std::all_of(result.alternatives.begin(), result.alternatives.end(),
                  [](const BestMapping& m) { return m.status == SearchStatus::Optimal; });
  if (line.top && result.status == SearchStatus::Optimal && !all_proved) {
    return kStoppedWithMapping;
  }
  return exit_status(result.status);
}

/// Why the search for the last of the answers ended.
StopReason stop_reason(const SearchResult& result) {
  return result.alternatives.empty() ? result.stopped_by : result.alternatives.back().stopped_by;
}

/// One search with everything that listens to it.
class Run {
 public:
  Run(const CommandLine& line, Config config, std::chrono::steady_clock::time_point start)
      : start_(start),
        line_(line),
        config_(std::move(config)),
        options_(search_options(line, config_)) {
    if (!line.resume.empty()) state_ = load_checkpoint(line.resume, config_.problem);
    check_output(line.json);
    check_output(line.mapping);
    if (!line.checkpoint.empty()) {
      check_output(line.checkpoint);
      check_replaceable(line.checkpoint, config_.problem);
    }
  }

  int run() {
    EventStream events(line_.events);
    ProgressPrinter progress(config_.problem, detail(), options_.deterministic);
    CheckpointFile checkpoint(line_.checkpoint, config_.problem, events);
    listen(events, progress, checkpoint);
    if (state_) options_.resume = &*state_;
    const Seconds limit = line_.time_limit.value_or(config_.search.time_limit);
    options_.limits.deadline = Deadline(limit - since(start_), stop_on_signals());
    if (events.is_on()) {
      events.write(start_event(config_.problem, title_of(line_), options_.threads,
                               state_ ? state_->stats : SearchStats{}));
    }
    SearchResult result = solve(config_.problem, options_);
    // The system takes it back faster than it could be freed.  It stays within reach: no leak.
    [[gnu::used]] static const auto* const until_exit = new auto(std::move(result.leftovers));
    progress.finish();
    if (events.is_on()) {
      const StopReason reason = stop_reason(result);
      if (reason != StopReason::None) events.write(stop_event(result, reason));
      events.write(done_event(result));
    }
    Outputs outputs;
    write_outcome(line_, with_chip(Outcome::of(config_.problem, result), config_),
                  mapping_file(result), outputs);
    if (!line_.checkpoint.empty()) outputs.attempt([&] { checkpoint.finish(); });
    outputs.attempt([&] { events.finish(); });
    if (result.callback_error) std::rethrow_exception(result.callback_error);
    outputs.throw_if_any_failed();
    return exit_status(line_, result);
  }

 private:
  [[nodiscard]] Detail detail() const {
    if (line_.quiet) return Detail::Quiet;
    return line_.verbose ? Detail::Verbose : Detail::Normal;
  }

  /// Sets the callbacks; what they refer to outlives the search.
  void listen(EventStream& events, ProgressPrinter& progress, CheckpointFile& checkpoint) {
    const bool on = events.is_on();
    options_.progress_interval = progress.interval();
    if (on) options_.progress_interval = std::min(options_.progress_interval, kEventInterval);
    options_.progress_nodes = ProgressPrinter::kNodes;
    if (on || !line_.quiet) {
      options_.on_progress = [&events, &progress, on](const Progress& p) {
        progress.print(p);
        if (on) events.write(progress_event(p));
      };
    }
    if (on || line_.verbose) {
      options_.on_incumbent = [&events, &progress, on](const Progress& p, const Mapping& mapping) {
        progress.print(p);
        if (on) events.write(incumbent_event(p, mapping));
      };
    }
    if (!line_.checkpoint.empty()) {
      options_.on_checkpoint = [&checkpoint](const SearchState& state) { checkpoint.write(state); };
    }
  }

  /// Where the mapping goes, if there is one.
  [[nodiscard]] std::string mapping_file(const SearchResult& result) const {
    if (line_.mapping.empty() || result.mapping) return line_.mapping;
    print_error(line_.mapping + ": not written, there is no mapping\n");
    return "";
  }

  // Of all that is limited, reading the config included.
  const std::chrono::steady_clock::time_point start_;
  const CommandLine& line_;
  const Config config_;
  SearchOptions options_;
  std::optional<SearchState> state_;
};

/// The files that a search over budgets does not have.
void refuse_files(const CommandLine& line) {
  for (const auto& [option, file] :
       {std::pair("--hint", &line.hint), std::pair("--checkpoint", &line.checkpoint),
        std::pair("--resume", &line.resume), std::pair("--events", &line.events)}) {
    if (file->empty()) continue;
    throw InputError(std::string(option) + ": a search over budgets has none");
  }
}

/// The search over what the budget leaves out.
int run_design(const CommandLine& line, const Config& config,
               std::chrono::steady_clock::time_point start) {
  refuse_files(line);
  check_output(line.json);
  check_output(line.mapping);
  SearchOptions options = search_options(line, config);
  const Seconds limit = line.time_limit.value_or(config.search.time_limit);
  options.limits.deadline = Deadline(limit - since(start), stop_on_signals());
  const DesignResult result = find_split(config.problem, *config.design, options);
  Outcome outcome = Outcome::of(result.problem, result.search);
  outcome.design = &*config.design;
  outcome.chip = result.chip ? &*result.chip : nullptr;
  outcome.split = &result;
  Outputs outputs;
  write_outcome(line, outcome, result.search.mapping ? line.mapping : "", outputs);
  outputs.throw_if_any_failed();
  return exit_status(line, result.search);
}

}  // namespace

int run_solve(const CommandLine& line) {
  const auto start = std::chrono::steady_clock::now();
  auto any = load_any_searchable(line);
  if (const auto* calculon = std::get_if<CalculonConfig>(&any)) {
    return run_solve_execution(line, *calculon, start);
  }
  if (line.count) {
    throw InputError("--count: only a config with 'equations: calculon' takes it");
  }
  auto& config = std::get<Config>(any);
  if (config.design && !config.chip) return run_design(line, config, start);
  return Run(line, std::move(config), start).run();
}

}  // namespace dfsearch
