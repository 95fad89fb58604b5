#pragma once
// Functions that the questions of all kinds share.

#include <memory>

#include "io/result/result_json.hpp"
#include "io/solve/question.hpp"

namespace dfsearch {

/// Note for all kinds but plans, whose report evaluates the hint.
inline constexpr const char* kHintNote =
    "the search begins at the hint, which the report does not evaluate; 'dfsearch evaluate "
    "CONFIG --mapping FILE' does";

std::unique_ptr<const Question> mapping_question(const Config& config);
std::unique_ptr<const Question> split_question(const Config& config);
std::unique_ptr<const Question> serving_question(const ServingConfig& config);
std::unique_ptr<const Question> step_question(const TrainingConfig& config);
std::unique_ptr<const Question> step_question(const CalculonConfig& config);

/// The options that all searches have, except for the listeners to their finds.
template <class Options>
Options search_options(const SolveOptions& asked, const SearchSettings& settings) {
  Options options;
  options.limits =
      asked.limits.value_or(Limits{.deadline = Deadline(settings.time_limit),
                                   .memory = settings.memory_limit.value_or(Bytes::infinity()),
                                   .gap = settings.gap});
  options.threads = asked.threads;
  options.deterministic = asked.deterministic;
  options.top = asked.top;
  options.on_progress = asked.on_progress;
  options.progress_interval = asked.progress_interval;
  options.progress_nodes = asked.progress_nodes;
  return options;
}

/// Checks --no-bound: only searches for mappings can leave out bounds other than floors.  `whose`
/// is a kind of config.
void check_bounds(const SolveOptions& asked, std::string_view whose);

/// If no plan fits, finds values of the memory, the chips, the sequence and the batch, each of
/// which alone makes some plan fit.  Each is the nearest to the given value that is found in a
/// second, or, if the search is deterministic, in a number of attempts.
void find_enough_numbers(const TrainingConfig& config, const Deadline& deadline, bool deterministic,
                         training::NearestMisfit& nearest);

/// For a misfit without a stack: tries the software of the shelf on the task, and withdraws the
/// proof if a plan fits with some of it (docs/truth.md, section 5).
void try_software(const TrainingConfig& config, const Deadline& deadline,
                  training::PlanResult& result);

/// The proof of an answer as a Result; `objective` is that of the best answer, if there is one.
template <class Found>
Result result_of(const Found& found, std::optional<Score> objective) {
  Result result;
  static_cast<Proof&>(result) = static_cast<const Proof&>(found);
  static_cast<SearchReport&>(result) = static_cast<const SearchReport&>(found);
  result.objective = objective;
  result.last_stop =
      found.alternatives.empty() ? found.stopped_by : found.alternatives.back().stopped_by;
  for (const auto& other : found.alternatives) {
    result.all_proved = result.all_proved && other.status == SearchStatus::Optimal;
  }
  return result;
}

}  // namespace dfsearch
