// The question for a mapping onto a machine, whose chips may be derived from a technology.

#include <utility>

#include "base/error.hpp"
#include "engine/solve.hpp"
#include "graph/names.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/report/infeasible_text.hpp"
#include "io/report/report.hpp"
#include "io/result/answer_files.hpp"
#include "io/result/event_text.hpp"
#include "io/result/result_json.hpp"
#include "io/solve/question_parts.hpp"

namespace dfsearch {
namespace {

class MappingQuestion final : public Question {
 public:
  explicit MappingQuestion(const Config& config) : config_(config) {}

  [[nodiscard]] Sheet text() const override { return asked_text(config_.problem); }
  [[nodiscard]] ProgressScale scale() const override { return scale_of(config_.problem); }
  [[nodiscard]] SearchSubject subject() const override { return subject_of(config_.problem); }
  [[nodiscard]] Fingerprint fingerprint() const override {
    check_resumable();
    return fingerprint_of(config_.problem);
  }

  /// One that does not fit is dropped.
  [[nodiscard]] LoadedHint load_hint(const std::filesystem::path& file) const override {
    try {
      Mapping mapping = load_mapping(file, config_.problem);
      const auto verdict = dfsearch::evaluate(config_.problem, mapping);
      if (const auto* reason = std::get_if<Infeasible>(&verdict)) {
        return {.hint = {}, .dropped = infeasible_text(config_.problem, *reason)};
      }
      return {.hint = std::move(mapping), .dropped = "", .notes = {kHintNote}};
    } catch (const RuledOutMapping& wrong) {
      return {.hint = {}, .dropped = text_of(wrong.messages())};
    }
  }

  /// A search of stages that divide the graph gives one answer, and can leave out floors alone.
  void check(const SolveOptions& asked) const override {
    Question::check(asked);
    if (!config_.problem.divides_graph()) return;
    if (asked.top > 1) throw InputError("--top: 'stages: graph' has one answer, expected 1");
    check_bounds(asked, "with 'stages: graph'");
  }

  [[nodiscard]] SavedState load_state(const std::filesystem::path& file) const override {
    check_resumable();
    return load_checkpoint(file, config_.problem);
  }

  [[nodiscard]] Result solve(const SolveOptions& asked) const override {
    if (!has_chip()) return no_answer();
    SearchOptions options = mapping_options(asked, config_.search);
    if (asked.resume != nullptr) options.resume = &std::get<SearchState>(*asked.resume);
    if (asked.on_incumbent) {
      options.on_incumbent = [&](const Progress& progress, const Mapping& mapping) {
        asked.on_incumbent(progress, incumbent_event(progress, {decisions_json(mapping)}));
      };
    }
    if (asked.on_checkpoint) {
      options.on_checkpoint = [&](const SearchState& state) {
        asked.on_checkpoint(checkpoint_bytes(config_.problem, state), state.stats,
                            state.open.size());
      };
    }
    SearchResult found = dfsearch::solve(config_.problem, options);
    Result result =
        result_of(found, found.cost ? std::optional(found.cost->objective) : std::nullopt);
    result.dropped = text_of(found.hint);
    // A proof of the second answer was not requested.
    if (asked.next_best) result.all_proved = true;
    result.found = std::move(found);
    return result;
  }

  [[nodiscard]] Result evaluate(const std::filesystem::path& file) const override {
    try {
      return judged(config_.problem, load_mapping(file, config_.problem));
    } catch (const RuledOutMapping& wrong) {
      Result none = no_answer();
      none.ruled_out = wrong.messages();
      return none;
    }
  }

  [[nodiscard]] const std::vector<std::string>& notes() const override { return config_.notes; }
  [[nodiscard]] AnswerJson json_of(const Result& result) const override {
    return {answer_json(outcome(result))};
  }
  [[nodiscard]] Sheet sheet_of(const Result& result, const std::string& title,
                               bool with_details) const override {
    return report_text(outcome(result), title, with_details);
  }

 private:
  static Result no_answer() {
    Result none;
    none.status = SearchStatus::Infeasible;
    SearchResult found;
    found.status = none.status;
    none.found = std::move(found);
    return none;
  }

  void check_resumable() const {
    if (!config_.problem.divides_graph()) return;
    throw InputError("checkpoint: a config with 'stages: graph' has none");
  }
  /// False for a design whose budgets make none.
  [[nodiscard]] bool has_chip() const { return !config_.chip || config_.chip->infeasible.empty(); }

  [[nodiscard]] Outcome outcome(const Result& result) const {
    Outcome outcome{.problem = &config_.problem, .status = SearchStatus::Infeasible};
    if (const auto* judged = std::get_if<JudgedMapping>(&result.found)) {
      outcome = Outcome::of(config_.problem, judged->mapping, judged->verdict);
    } else if (has_chip()) {
      outcome = Outcome::of(config_.problem, std::get<SearchResult>(result.found));
    }
    if (config_.chip) {
      outcome.design = &*config_.design;
      outcome.chip = &*config_.chip;
    }
    return outcome;
  }

  const Config& config_;
};

}  // namespace

Result judged(const Problem& problem, Mapping mapping) {
  auto verdict = evaluate(problem, mapping);
  Result result;
  const Cost* cost = std::get_if<Cost>(&verdict);
  result.status = cost != nullptr ? SearchStatus::Feasible : SearchStatus::Infeasible;
  if (cost != nullptr) result.objective = cost->objective;
  result.found = JudgedMapping{std::move(mapping), std::move(verdict)};
  return result;
}

SearchSubject subject_of(const Problem& problem) {
  const Workload& workload = problem.workload;
  return {.workload = name_of(workload.kind),
          .kernels = workload.graph.kernel_count(),
          .tensors = workload.graph.tensor_count(),
          .chips = problem.system.chips};
}

SearchOptions mapping_options(const SolveOptions& asked, const SearchSettings& settings) {
  auto options = search_options<SearchOptions>(asked, settings);
  options.next_best = asked.next_best;
  options.beyond_scope = asked.beyond_scope;
  options.find_changes = asked.explain;
  options.bounds = asked.bounds;
  if (const auto* hint = std::get_if<Mapping>(&asked.hint)) options.hint = *hint;
  return options;
}

std::unique_ptr<const Question> mapping_question(const Config& config) {
  return std::make_unique<MappingQuestion>(config);
}

}  // namespace dfsearch
