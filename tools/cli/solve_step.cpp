#include "cli/solve_step.hpp"

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "cli/checkpoint_output.hpp"
#include "cli/events.hpp"
#include "cli/exit_status.hpp"
#include "cli/outputs.hpp"
#include "cli/page_output.hpp"
#include "cli/progress.hpp"
#include "cli/search_history.hpp"
#include "cli/search_setup.hpp"
#include "cli/standard_output.hpp"
#include "engine/calculon/find_execution.hpp"
#include "engine/training/find_plan.hpp"
#include "engine/training/plan_rules.hpp"
#include "io/checkpoint/checkpoint_frame.hpp"
#include "io/checkpoint/step_checkpoint.hpp"
#include "io/config/hint_changes.hpp"
#include "io/report/execution_report.hpp"
#include "io/report/plan_report.hpp"
#include "io/result/event_text.hpp"
#include "io/result/execution_json.hpp"
#include "io/result/plan_json.hpp"

namespace dfsearch {
namespace {

/// What the search for plans of training has of its own.
struct Plans {
  using Config = TrainingConfig;
  using Result = training::PlanResult;
  static constexpr const char* kConfig = "'training'";

  static Result find(const training::Task& task, const StepSearch& search) {
    return training::find_plan(task, search);
  }
  static training::Plan decided(const training::Task& task, const Decisions& decisions) {
    return training::plan_of(decisions, task);
  }
  static std::optional<Decisions> decisions(const Result& result) {
    if (!result.plan) return std::nullopt;
    return training::decisions_of(*result.plan);
  }
  static ProgressScale scale(const training::Task& task) {
    return {.work = training::model_flops(task),
            .peak = task.machine.matrix.peak * static_cast<double>(task.machine.chips)};
  }
  static std::string json(const training::Task& task, const Result& result) {
    return plan_json(task, result);
  }
  static std::string report(const training::Task& task, const Result& result,
                            const std::string& title) {
    return plan_report(task, result, title);
  }
};

/// The same of executions.
struct Executions {
  using Config = CalculonConfig;
  using Result = calculon::ExecutionResult;
  static constexpr const char* kConfig = "'equations: calculon'";

  static Result find(const calculon::Task& task, const StepSearch& search) {
    return calculon::find_execution(task, search);
  }
  static calculon::Execution decided(const calculon::Task&, const Decisions& decisions) {
    return *calculon::execution_of(decisions);
  }
  static std::optional<Decisions> decisions(const Result& result) {
    if (!result.execution) return std::nullopt;
    return calculon::decisions_of(*result.execution);
  }
  static ProgressScale scale(const calculon::Task&) { return {}; }
  static std::string json(const calculon::Task& task, const Result& result) {
    return execution_json(task, result);
  }
  static std::string report(const calculon::Task& task, const Result& result,
                            const std::string& title) {
    return execution_report(task, result, title);
  }
};

/// The step time of the best answer.
template <class Result>
std::optional<Score> objective_of(const Result& result) {
  if (!result.cost) return std::nullopt;
  return Score(result.cost->step_time.in_base_units());
}

/// One search with everything that listens to it.
template <class Kind>
class StepRun {
 public:
  StepRun(const CommandLine& line, const typename Kind::Config& config, StartLimit& start)
      : line_(line), config_(config), start_(start) {
    if (!line.bounds.dropped().empty()) {
      throw InputError(fmt::format("--no-bound: a config with {} does not take it", Kind::kConfig));
    }
    for (const std::string& file : {line.json, line.html, line.mapping, line.checkpoint}) {
      check_output(file);
    }
    if (!line.resume.empty()) state_ = load_step_checkpoint(line.resume, config.fingerprint);
    if (!line.checkpoint.empty()) check_replaceable(line.checkpoint, config.fingerprint);
  }

  int run() {
    const std::optional<Decisions> hint = load_hint();
    EventStream events(line_.events);
    ProgressPrinter progress(Kind::scale(config_.task), detail_of(line_), line_.deterministic);
    CheckpointFile checkpoint(line_.checkpoint, events);
    SearchHistory history(!line_.html.empty());
    StepSearch search;
    search.limits = limits_of(line_, config_.search);
    search.threads = line_.threads;
    search.deterministic = line_.deterministic;
    search.top = line_.top.value_or(1);
    search.count = line_.count;
    search.hint = hint;
    if (state_) search.resume = &*state_;
    listen_to_progress(progress_calls(line_, events, progress, history), search);
    listen(events, progress, history, checkpoint, search);
    search.limits.deadline =
        start_.begin_search(line_.time_limit.value_or(config_.search.time_limit));
    if (events.is_on()) {
      events.write(start_event(config_.task, title_of(line_), line_.threads,
                               state_ ? state_->stats : SearchStats{}));
    }
    const typename Kind::Result result = Kind::find(config_.task, search);
    progress.finish();
    if (events.is_on()) {
      const StopReason reason =
          result.alternatives.empty() ? result.stopped_by : result.alternatives.back().stopped_by;
      if (reason != StopReason::None) events.write(stop_event(result.stats.time, reason));
      events.write(done_event(end_of(result, objective_of(result))));
    }
    Outputs outputs(search.limits.deadline);
    write(result, history, outputs);
    if (!line_.checkpoint.empty()) outputs.attempt([&] { checkpoint.finish(); });
    outputs.attempt([&] { events.finish(); });
    if (result.callback_error) std::rethrow_exception(result.callback_error);
    outputs.throw_if_any_failed();
    // Of several parallelisms all must be proved.
    for (const auto& found : result.alternatives) {
      if (found.status != SearchStatus::Optimal) return kStoppedWithMapping;
    }
    return exit_status(result.status);
  }

 private:
  /// The step of the hint, completed where it leaves something open.  One that does not fit is
  /// dropped, and the user told.
  [[nodiscard]] std::optional<Decisions> load_hint() const {
    if (line_.hint.empty()) return std::nullopt;
    std::vector<std::string> changes = line_.overrides;
    for (std::string& change : hint_changes(line_.hint)) changes.push_back(std::move(change));
    std::optional<Decisions> decisions;
    try {
      const AnyConfig asked = load_any_config(line_.config, changes);
      const auto* config = std::get_if<typename Kind::Config>(&asked);
      if (config != nullptr) decisions = Kind::decisions(Kind::find(config->task, StepSearch{}));
    } catch (const InputError& error) {
      std::vector<std::string> messages;
      for (const std::string& message : error.messages()) {
        messages.push_back(line_.hint + ": " + message);
      }
      throw InputError(messages);
    }
    if (!decisions) print_error(line_.hint + ": the hint does not fit and is dropped\n");
    return decisions;
  }

  void listen(EventStream& events, ProgressPrinter& progress, SearchHistory& history,
              CheckpointFile& checkpoint, StepSearch& search) const {
    const bool on = events.is_on();
    if (on || line_.verbose || history.is_on()) {
      search.on_incumbent = [this, &events, &progress, &history, on](const Progress& p,
                                                                     const Decisions& decisions) {
        progress.print(p);
        history.add(p);
        if (on) events.write(incumbent_event(p, Kind::decided(config_.task, decisions)));
      };
    }
    if (!line_.checkpoint.empty()) {
      search.on_checkpoint = [this, &checkpoint](const StepState& state) {
        checkpoint.write(checkpoint_bytes(state, config_.fingerprint), state.stats,
                         state.open.size());
      };
    }
  }

  void write(const typename Kind::Result& result, const SearchHistory& history,
             Outputs& outputs) const {
    const std::string mapping = mapping_file(line_, result.cost.has_value());
    const bool needs_json = !line_.json.empty() || !line_.html.empty() || !mapping.empty();
    const std::string json = needs_json ? Kind::json(config_.task, result) : "";
    if (!mapping.empty()) outputs.file(mapping, json);
    if (!line_.json.empty() && line_.json != "-") outputs.file(line_.json, json);
    if (line_.events != "-") {
      outputs.attempt([&] {
        print(line_.json == "-" ? json : Kind::report(config_.task, result, title_of(line_)));
      });
    }
    write_page(line_, json, history.points(), outputs);
  }

  const CommandLine& line_;
  const typename Kind::Config& config_;
  StartLimit& start_;
  std::optional<StepState> state_;
};

}  // namespace

int run_solve_step(const CommandLine& line, const CalculonConfig& config, StartLimit& start) {
  return StepRun<Executions>(line, config, start).run();
}

int run_solve_step(const CommandLine& line, const TrainingConfig& config, StartLimit& start) {
  return StepRun<Plans>(line, config, start).run();
}

}  // namespace dfsearch
