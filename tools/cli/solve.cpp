#include "cli/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "cli/outputs.hpp"
#include "cli/progress.hpp"
#include "cli/signals.hpp"
#include "io/checkpoint/checkpoint_frame.hpp"
#include "io/emit/emit_result.hpp"
#include "io/result/event_text.hpp"
#include "io/result/result_json.hpp"
#include "io/solve/question.hpp"

namespace dfsearch {
namespace {

constexpr Seconds kEventInterval{1.0};
constexpr Seconds kHistoryInterval{0.1};

Detail detail_of(const CommandLine& line) {
  if (line.quiet) return Detail::Quiet;
  return line.verbose ? Detail::Verbose : Detail::Normal;
}

/// Sets the listeners to the progress, and their intervals.  Events, progress and history must
/// outlive the search.
void listen_to_progress(const CommandLine& line, EventStream& events, ProgressPrinter& progress,
                        SearchHistory& history, SolveOptions& options) {
  const bool on = events.is_on();
  options.progress_nodes = ProgressPrinter::kNodes;
  options.progress_interval = progress.interval();
  if (on || history.is_on()) {
    options.progress_interval =
        std::min(options.progress_interval, on ? kEventInterval : kHistoryInterval);
  }
  if (!on && !history.is_on() && line.quiet) return;
  options.on_progress = [&events, &progress, &history, on](const Progress& p) {
    progress.print(p);
    history.add(p);
    if (on) events.write(progress_event(p));
  };
}

/// The file for the mapping; empty, with a note to the user, if no mapping was found.
std::string mapping_file(const CommandLine& line, bool found) {
  if (line.mapping.empty() || found) return line.mapping;
  print_notes({line.mapping + ": not written, there is no mapping"});
  return "";
}

/// The exit status; if several answers were requested, all must be proved.
int exit_status(const Result& result) {
  if (result.status == SearchStatus::Optimal && !result.all_proved) return kStoppedWithMapping;
  return exit_status(result.status);
}

/// One search with all its listeners.
class Run {
 public:
  Run(const CommandLine& line, const AnyConfig& config, StartLimit& start)
      : line_(line),
        config_(config),
        settings_(settings_of(config)),
        question_(question_of(config)),
        start_(start),
        options_(options_of(line.search, settings_, 0.5 * machine_memory())) {
    question_->check(options_);
    if (line.search.what_if) check_what_if(config);
    for (const std::string& file : {line.json, line.html, line.mapping, line.checkpoint}) {
      check_output(file);
    }
    if (!line.emitted.empty()) {
      check_emitted();
      check_output(line.emitted);
    }
    if (!line.resume.empty()) state_ = question_->load_state(line.resume);
    if (!line.checkpoint.empty()) {
      const bool is_there = check_replaceable(line.checkpoint, question_->fingerprint());
      if (is_there && line.resume.empty()) go_on_from(line.checkpoint);
    }
    if (!line.hint.empty()) load_hint();
  }

  int run() {
    EventStream events(line_.events);
    ProgressPrinter progress(question_->scale(), detail_of(line_), line_.search.deterministic);
    CheckpointFile checkpoint(line_.checkpoint, events);
    SearchHistory history(!line_.html.empty());
    listen(events, progress, history, checkpoint);
    if (state_) options_.resume = &*state_;
    Limits& limits = *options_.limits;
    limits.deadline = start_.begin_search(line_.search.time_limit.value_or(settings_.time_limit));
    if (events.is_on()) {
      events.write(start_event(question_->subject(), title_of(line_), line_.search.threads,
                               state_ ? stats_of(*state_) : SearchStats{}));
    }
    Result result = question_->solve(options_);
    keep_leftovers(result);
    progress.finish();
    print_dropped(result.dropped);
    if (events.is_on()) {
      const StopReason reason = result.last_stop;
      if (reason != StopReason::None) events.write(stop_event(result.stats.time, reason));
      events.write(done_event(result, result.objective, result.stats));
    }
    if (line_.search.what_if && result.objective) more_ = what_if(config_, options_);
    for (const WhatIfMore& row : more_) result.all_proved = result.all_proved && row.is_proved;
    Outputs outputs(limits.deadline);
    write(result, history, outputs);
    if (!line_.checkpoint.empty()) outputs.attempt([&] { checkpoint.finish(); });
    outputs.attempt([&] { events.finish(); });
    if (result.callback_error) std::rethrow_exception(result.callback_error);
    outputs.throw_if_any_failed();
    return exit_status(result);
  }

 private:
  /// Called before the search: checks that the framework can run such answers.
  void check_emitted() const {
    if (emits_plans(*line_.emit_for) ? std::holds_alternative<TrainingConfig>(config_)
                                     : std::holds_alternative<ServingConfig>(config_)) {
      return;
    }
    throw InputError(
        fmt::format("{}: --emit {}: expected a config {}", line_.config, name_of(*line_.emit_for),
                    emits_plans(*line_.emit_for) ? "with 'training'" : "of kind llm_serving"));
  }

  /// Resumes from a file that exists, which a new search would replace by a lesser state.
  void go_on_from(const std::string& file) {
    state_ = question_->load_state(file);
    print_notes(
        {fmt::format("{}: the search goes on from this checkpoint of the same config, which "
                     "has {} nodes; take the file away to begin anew",
                     file, stats_of(*state_).nodes)});
  }

  /// Loads the hint; one that does not fit is dropped, and the reason printed.
  void load_hint() {
    LoadedHint loaded = question_->load_hint(line_.hint);
    options_.hint = std::move(loaded.hint);
    print_notes(loaded.notes);
    print_dropped(loaded.dropped);
  }
  void print_dropped(const std::string& why) const {
    if (!why.empty()) print_notes({dropped_hint(line_.hint, why)});
  }

  /// Sets the callbacks; their arguments must outlive the search.
  void listen(EventStream& events, ProgressPrinter& progress, SearchHistory& history,
              CheckpointFile& checkpoint) {
    const bool on = events.is_on();
    listen_to_progress(line_, events, progress, history, options_);
    if (on || line_.verbose || history.is_on()) {
      options_.on_incumbent = [&events, &progress, &history, on](const Progress& p,
                                                                 const std::string& event) {
        progress.print(p);
        history.add(p);
        if (on) events.write(event);
      };
    }
    if (!line_.checkpoint.empty()) {
      options_.on_checkpoint = [&checkpoint](const std::string& bytes, const SearchStats& stats,
                                             std::size_t open) {
        checkpoint.write(bytes, stats, open);
      };
    }
  }

  /// Leaves freeing the memory to the system, which is faster.  It stays reachable, so it is no
  /// leak.
  static void keep_leftovers(const Result& result) {
    [[gnu::used]] static const auto* const until_exit = new auto(result.leftovers);
  }

  void write(const Result& result, const SearchHistory& history, Outputs& outputs) const {
    const std::string mapping = mapping_file(line_, result.objective.has_value());
    write_answer(
        line_, mapping, history.points(),
        [&] {
          AnswerJson answer = question_->json(result);
          if (!more_.empty()) add_what_if(answer, more_);
          return answer.tree;
        },
        [&] {
          Sheet sheet = question_->sheet(result, title_of(line_), line_.verbose || line_.detail);
          if (!more_.empty()) sheet += what_if_text(more_, *result.objective);
          return sheet;
        },
        outputs);
    if (line_.emitted.empty() || !result.objective) return;
    outputs.attempt([&] {
      const std::vector<std::string> refusals =
          emit_result(question_->json(result), line_.config, *line_.emit_for, Unrunnable::Refuse,
                      [&](const std::string& ending, const std::string& bytes) {
                        write_output(line_.emitted + ending, bytes);
                      });
      if (!refusals.empty()) {
        throw InputError(refusal_notes(line_.config, *line_.emit_for, refusals));
      }
    });
  }

  const CommandLine& line_;
  const AnyConfig& config_;
  const SearchSettings& settings_;
  const std::unique_ptr<const Question> question_;
  StartLimit& start_;  // limit of the whole run, reading the config included
  SolveOptions options_;
  std::optional<SavedState> state_;
  std::vector<WhatIfMore> more_;  // if requested
};

}  // namespace

int run_solve(const CommandLine& line) {
  refuse_many_processes("solve");
  StartLimit start(line.search.time_limit, line.begin);
  const AnyConfig config = load_any_searchable(line);
  const bool has_report = !line.quiet && line.json != "-" && line.events != "-";
  if (!has_report) print_notes(notes_of(config));  // the report has them
  return Run(line, config, start).run();
}

}  // namespace dfsearch
