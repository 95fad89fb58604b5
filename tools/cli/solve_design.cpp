#include "cli/solve_design.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include "base/error.hpp"
#include "cli/checkpoint_output.hpp"
#include "cli/events.hpp"
#include "cli/exit_status.hpp"
#include "cli/outputs.hpp"
#include "cli/progress.hpp"
#include "cli/search_setup.hpp"
#include "design/find_split.hpp"
#include "io/checkpoint/checkpoint_frame.hpp"
#include "io/checkpoint/split_checkpoint.hpp"
#include "io/result/event_text.hpp"
#include "io/result/mapping_file.hpp"

namespace dfsearch {
namespace {

/// The peak of the machine is what is searched, so the log tells no utilization.
ProgressScale without_peak(const Problem& problem) {
  return {.objective = problem.objective, .work = {}, .peak = {}};
}

DesignOptions design_options(const CommandLine& line, const Config& config) {
  DesignOptions options;
  options.search = search_options(line, config.search);
  options.find_gains = true;
  if (!line.hint.empty()) options.search.hint = load_mapping(line.hint, config.problem);
  if (!line.resume.empty()) {
    options.resume = load_checkpoint(line.resume, config.problem, *config.design);
  }
  return options;
}

/// Of several splits all must be proved; that there are no more is a proof, too.
int exit_status(const DesignResult& result) {
  const bool all_known =
      std::all_of(result.best.begin(), result.best.end(),
                  [](const FoundSplit& found) { return found.stopped_by == StopReason::None; });
  if (result.status == SearchStatus::Optimal && !all_known) return kStoppedWithMapping;
  return exit_status(result.status);
}

void write_end(EventStream& events, const DesignResult& result) {
  const StopReason reason = result.best.back().stopped_by;
  if (reason != StopReason::None) events.write(stop_event(result.search.stats.time, reason));
  events.write(done_event(end_of(result.search)));
}

}  // namespace

int run_solve_design(const CommandLine& line, const Config& config, StartLimit& start) {
  const Problem& problem = config.problem;
  const ChipDesign& design = *config.design;
  DesignOptions options = design_options(line, config);
  for (const std::string& file : {line.json, line.html, line.mapping, line.checkpoint})
    check_output(file);
  if (!line.checkpoint.empty()) {
    check_replaceable(line.checkpoint, fingerprint_of(problem, design));
  }
  EventStream events(line.events);
  ProgressPrinter progress(without_peak(problem), detail_of(line), line.deterministic);
  CheckpointFile checkpoint(line.checkpoint, events);
  SearchHistory history(!line.html.empty());
  listen_to_progress(progress_calls(line, events, progress, history), options.search);
  options.on_split = [&](const Progress& p, const Mapping& mapping, const Chip& chip) {
    if (line.verbose) progress.print(p);
    history.add(p);
    if (events.is_on()) events.write(split_event(p, mapping, design, chip));
  };
  if (!line.checkpoint.empty()) {
    options.on_checkpoint = [&](const SplitState& state) {
      checkpoint.write(checkpoint_bytes(problem, design, state), state.stats, state.open.size());
    };
  }
  options.search.limits.deadline =
      start.begin_search(line.time_limit.value_or(config.search.time_limit));
  if (events.is_on()) {
    const SearchStats before = options.resume ? options.resume->stats : SearchStats{};
    events.write(start_event(problem, title_of(line), line.threads, before));
  }
  const DesignResult result = find_split(problem, design, options);
  progress.finish();
  if (events.is_on()) write_end(events, result);
  Outcome outcome = Outcome::of(result.problem, result.search);
  outcome.design = &design;
  outcome.chip = result.chip ? &*result.chip : nullptr;
  outcome.split = &result;
  Outputs outputs(options.search.limits.deadline);
  write_outcome(line, outcome, mapping_file(line, result.search.mapping.has_value()),
                history.points(), outputs);
  if (!line.checkpoint.empty()) outputs.attempt([&] { checkpoint.finish(); });
  outputs.attempt([&] { events.finish(); });
  if (result.search.callback_error) std::rethrow_exception(result.search.callback_error);
  outputs.throw_if_any_failed();
  return exit_status(result);
}

}  // namespace dfsearch
