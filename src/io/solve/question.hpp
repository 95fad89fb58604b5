#pragma once
// A config of any kind as a question: one interface to search it, to continue an interrupted
// search, and to write the result.  Callers do not depend on the kind of config.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "design/find_split.hpp"
#include "engine/answer/search_state.hpp"
#include "engine/calculon/find_execution.hpp"
#include "engine/plan/step_search.hpp"
#include "engine/search_result.hpp"
#include "engine/serving/find_deployment.hpp"
#include "engine/training/find_plan.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/config/load_config.hpp"
#include "io/report/report_words.hpp"
#include "io/report/sheet.hpp"
#include "io/result/event_text.hpp"
#include "model/evaluate.hpp"
#include "model/ruled_out.hpp"

namespace dfsearch {

/// A first incumbent: nothing, a mapping, the decisions of a plan or an execution, or
/// deployments.
using Hint = std::variant<std::monostate, Mapping, Decisions, std::vector<serving::Deployment>>;

/// Result of loading a file with a hint.
struct LoadedHint {
  Hint hint;
  std::string dropped;                  ///< why the search will not use it; else empty
  std::vector<std::string> notes = {};  ///< on how the file was read
};

/// The message to the user about a dropped hint.
std::string dropped_hint(const std::string& file, const std::string& why);

/// State of an interrupted search: for mappings, for splits of a budget, for plans and executions.
using SavedState = std::variant<SearchState, SplitState, StepState>;
SearchStats stats_of(const SavedState& state);

/// A request for a search: options of the command line, arguments of Python, the points of a study.
/// For limits that are left out, the limits of the config hold.
struct SearchRequest {
  int threads = 1;
  std::optional<double> gap{};
  std::optional<Seconds> time_limit{};
  std::optional<Bytes> memory_limit{};
  std::optional<std::int64_t> node_limit{};
  std::optional<std::int64_t> top{};  ///< left out: the best, and the distance to the next best
  bool deterministic = false;
  bool count = false;    ///< count the answers that fit
  bool robust = false;   ///< find the plan of least regret as well
  bool what_if = false;  ///< the gain of a tenth more of each quantity
  SearchBounds bounds{};
};

/// Options and listeners of a search for any question.  Listeners keep the rules of SearchOptions:
/// one at a time, and the first exception of one is in the result.
struct SolveOptions {
  std::optional<Limits> limits;  ///< nothing: the limits of the config
  int threads = 1;
  /// Expand the same nodes and return the same result for any number of threads.
  bool deterministic = false;
  std::int64_t top = 1;  ///< number of parallelisms or splits in the answer
  /// Look for the second parallelism with a small fixed effort, if `top` is 1.
  bool next_best = false;
  /// Search beyond the decisions fixed beforehand, with a small fixed effort.
  bool beyond_scope = false;
  /// Find changes that make an infeasible problem feasible, and the gain from more of each budget.
  bool explain = false;
  bool count = false;   ///< count the answers that fit, except mappings
  bool robust = false;  ///< find the plan of least regret as well, of a config with a stack
  SearchBounds bounds{};
  Hint hint;
  SavedState* resume = nullptr;  ///< consumed; null: a new search

  std::function<void(const Progress&)> on_progress = nullptr;
  Seconds progress_interval{1.0};
  std::int64_t progress_nodes = 1024;
  /// Called at every better answer, with its event: a line of JSON (docs/results.md).
  std::function<void(const Progress&, const std::string&)> on_incumbent = nullptr;
  /// Called now and then and at the end: a checkpoint as bytes, its counters, its open nodes.
  std::function<void(const std::string&, const SearchStats&, std::size_t)> on_checkpoint = nullptr;
};

/// The options of a request, except for the deadline.  `memory` is the limit if neither the request
/// nor the config has one.
SolveOptions options_of(const SearchRequest& request, const SearchSettings& settings,
                        Bytes memory = Bytes::infinity());

/// A given mapping and the verdict of the model on it.
struct JudgedMapping {
  Mapping mapping;
  std::variant<Cost, Infeasible> verdict;
};

struct Result : Proof, SearchReport {
  std::optional<Score> objective;  ///< of the best answer, if there is one
  /// Whether all requested answers are proved; false also if an evaluated plan may not fit.
  bool all_proved = true;
  StopReason last_stop = StopReason::None;  ///< of the search for the last answer
  std::vector<std::string> notes;           ///< on how a given answer was read
  RuledOut ruled_out;                       ///< reasons why the search rules out a given answer
  std::string dropped;                      ///< reason why the search dropped the hint, or empty
  std::variant<SearchResult, JudgedMapping, DesignResult, training::PlanResult,
               calculon::ExecutionResult, serving::ServingResult>
      found;
};

/// Evaluates a mapping by the model.
Result judged(const Problem& problem, Mapping mapping);

/// Refers to the config.  Any thread.
class Question {
 public:
  /// `notes` are the notes on the config, which must outlive the question.
  explicit Question(const std::vector<std::string>& notes) : notes_(notes) {}
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  virtual ~Question() = default;

  /// The workload and the machine, some lines for people.
  [[nodiscard]] virtual Sheet text() const = 0;
  [[nodiscard]] virtual ProgressScale scale() const = 0;
  [[nodiscard]] virtual SearchSubject subject() const = 0;
  /// Identifies the question in its checkpoints.
  [[nodiscard]] virtual Fingerprint fingerprint() const = 0;
  /// Loads an earlier result, or YAML with its keys, as a hint.  Throws InputError.
  [[nodiscard]] virtual LoadedHint load_hint(const std::filesystem::path& file) const = 0;
  /// Throws InputError for a file that is no checkpoint of this question.
  [[nodiscard]] virtual SavedState load_state(const std::filesystem::path& file) const = 0;

  /// Throws InputError for options that questions of this kind do not take.
  virtual void check(const SolveOptions& asked) const;
  /// Throws InputError for an inconsistent config.
  [[nodiscard]] virtual Result solve(const SolveOptions& options) const = 0;
  /// The answer in a file, Feasible or Infeasible, with its cost and the decisions that the
  /// question rules out.  For a plan or an execution with open decisions, it is the best one
  /// that agrees with the file.
  [[nodiscard]] virtual Result evaluate(const std::filesystem::path& file) const = 0;
  /// A result of solve() or evaluate() as one JSON object (docs/results.md) with all notes.  Throws
  /// InternalError for an impossible answer (result_json.hpp).
  [[nodiscard]] AnswerJson json(const Result& result) const;
  [[nodiscard]] Sheet sheet(const Result& result, const std::string& title,
                            bool with_details) const;

 private:
  [[nodiscard]] virtual AnswerJson json_of(const Result& result) const = 0;
  [[nodiscard]] virtual Sheet sheet_of(const Result& result, const std::string& title,
                                       bool with_details) const = 0;

  const std::vector<std::string>& notes_;
};

std::unique_ptr<const Question> question_of(const AnyConfig& config);

/// Whether the config is searched over splits of a budget, with a machine in each node.
bool searches_splits(const AnyConfig& config);
/// Notes on how files of other programs were read.
const std::vector<std::string>& notes_of(const AnyConfig& config);
const SearchSettings& settings_of(const AnyConfig& config);

/// Finds the best answer.  Throws InputError for an inconsistent config or invalid options; an
/// answer on which search and model disagree is an InternalError.  Several solves may run at once.
Result solve(const AnyConfig& config, const SolveOptions& options = {});
std::string result_json(const AnyConfig& config, const Result& result);

// The exact gain from a tenth more of each quantity of the machine, by the same search for other
// machines.

struct WhatIfMore {
  std::string_view more;  ///< name of the raised quantity, or of the switch of software
  bool is_switch = false;
  std::optional<Score> objective;  ///< of the best answer found; nothing if none was found
  bool is_proved = false;
};

/// Throws InputError for a machine that is derived from budgets and for deployments, whose results
/// contain such gains already.
void check_what_if(const AnyConfig& config);

/// Runs one search for each quantity that matters in the config, and for each other value of the
/// switches of its software, with the remaining limits and without listeners.
std::vector<WhatIfMore> what_if(const AnyConfig& config, const SolveOptions& options);

/// A line for each quantity and switch; `objective` belongs to the answer.
std::string what_if_text(const std::vector<WhatIfMore>& rows, Score objective);
/// Adds the rows to a result as its last key, `what_if`.
void add_what_if(AnswerJson& answer, const std::vector<WhatIfMore>& rows);

}  // namespace dfsearch
