#include "cli/solve.hpp"

#include <algorithm>
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
#include "cli/outputs.hpp"
#include "cli/progress.hpp"
#include "cli/search_setup.hpp"
#include "cli/signals.hpp"
#include "cli/solve_design.hpp"
#include "cli/solve_step.hpp"
#include "cli/standard_output.hpp"
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

SearchOptions options_of(const CommandLine& line, const Config& config) {
  SearchOptions options = search_options(line, config.search);
  options.find_changes = true;
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
  Run(const CommandLine& line, Config config, StartLimit& start)
      : start_(start),
        line_(line),
        config_(std::move(config)),
        options_(options_of(line, config_)) {
    if (!line.resume.empty()) state_ = load_checkpoint(line.resume, config_.problem);
    check_output(line.json);
    check_output(line.html);
    check_output(line.mapping);
    if (!line.checkpoint.empty()) {
      check_output(line.checkpoint);
      check_replaceable(line.checkpoint, config_.problem);
    }
  }

  int run() {
    EventStream events(line_.events);
    ProgressPrinter progress(scale_of(config_.problem), detail_of(line_), options_.deterministic);
    CheckpointFile checkpoint(line_.checkpoint, events);
    SearchHistory history(!line_.html.empty());
    listen(events, progress, history, checkpoint);
    if (state_) options_.resume = &*state_;
    options_.limits.deadline =
        start_.begin_search(line_.time_limit.value_or(config_.search.time_limit));
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
      if (reason != StopReason::None) events.write(stop_event(result.stats.time, reason));
      events.write(done_event(end_of(result)));
    }
    Outputs outputs(options_.limits.deadline);
    write_outcome(line_, with_chip(Outcome::of(config_.problem, result), config_),
                  mapping_file(line_, result.mapping.has_value()), history.points(), outputs);
    if (!line_.checkpoint.empty()) outputs.attempt([&] { checkpoint.finish(); });
    outputs.attempt([&] { events.finish(); });
    if (result.callback_error) std::rethrow_exception(result.callback_error);
    outputs.throw_if_any_failed();
    return exit_status(line_, result);
  }

 private:
  /// Sets the callbacks; what they refer to outlives the search.
  void listen(EventStream& events, ProgressPrinter& progress, SearchHistory& history,
              CheckpointFile& checkpoint) {
    listen_to_progress(progress_calls(line_, events, progress, history), options_);
    const bool on = events.is_on();
    if (on || line_.verbose || history.is_on()) {
      options_.on_incumbent = [&events, &progress, &history, on](const Progress& p,
                                                                 const Mapping& mapping) {
        progress.print(p);
        history.add(p);
        if (on) events.write(incumbent_event(p, mapping));
      };
    }
    if (!line_.checkpoint.empty()) {
      options_.on_checkpoint = [this, &checkpoint](const SearchState& state) {
        checkpoint.write(checkpoint_bytes(config_.problem, state), state.stats, state.open.size());
      };
    }
  }

  // Of all that is limited, reading the config included.
  StartLimit& start_;
  const CommandLine& line_;
  const Config config_;
  SearchOptions options_;
  std::optional<SearchState> state_;
};

}  // namespace

int run_solve(const CommandLine& line) {
  StartLimit start(line.time_limit);
  auto any = load_any_searchable(line);
  if (const auto* calculon = std::get_if<CalculonConfig>(&any)) {
    return run_solve_step(line, *calculon, start);
  }
  if (line.count) {
    throw InputError("--count: only a config with 'equations: calculon' takes it");
  }
  if (const auto* training = std::get_if<TrainingConfig>(&any)) {
    return run_solve_step(line, *training, start);
  }
  auto& config = std::get<Config>(any);
  if (config.design && !config.chip) return run_solve_design(line, config, start);
  return Run(line, std::move(config), start).run();
}

}  // namespace dfsearch
