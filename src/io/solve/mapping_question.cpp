// Configs for mappings onto a machine, whose chips may be derived from a technology.

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "design/machine_answers.hpp"
#include "design/split_space.hpp"
#include "engine/solve.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/report/report.hpp"
#include "io/result/answer_files.hpp"
#include "io/result/chip_json.hpp"
#include "io/result/event_text.hpp"
#include "io/result/result_json.hpp"
#include "io/solve/question_parts.hpp"
#include "model/mapping_rules.hpp"
#include "model/objective_rows.hpp"

namespace dfsearch {
namespace {

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

/// Parts that searches for mappings and for splits share.
class AnyMappingQuestion : public Question {
 public:
  AnyMappingQuestion(const Config& config, std::vector<std::string> hint_notes)
      : Question(config.notes),
        config_(config),
        problem_(config.problem),
        hint_notes_(std::move(hint_notes)) {}

  [[nodiscard]] Sheet text() const override { return asked_text(problem_); }
  [[nodiscard]] SearchSubject subject() const override { return subject_of(problem_); }

  /// Loads a hint; one that does not fit is dropped.
  [[nodiscard]] LoadedHint load_hint(const std::filesystem::path& file) const override {
    try {
      Mapping mapping = load_mapping(file, problem_);
      if (const auto reason = reason_against(mapping)) {
        return {.hint = {}, .dropped = infeasible_text(problem_, *reason)};
      }
      return {.hint = std::move(mapping), .dropped = "", .notes = hint_notes_};
    } catch (const RuledOutMapping& wrong) {
      return {.hint = {}, .dropped = text_of(wrong.messages())};
    }
  }

  [[nodiscard]] AnswerJson json_of(const Result& result) const override {
    return {answer_json(outcome(result))};
  }
  [[nodiscard]] Sheet sheet_of(const Result& result, const std::string& title,
                               bool with_details) const override {
    return report_text(outcome(result), title, with_details);
  }

 protected:
  /// The reason why a mapping is no hint.
  [[nodiscard]] virtual std::optional<Infeasible> reason_against(const Mapping& mapping) const = 0;
  [[nodiscard]] virtual Outcome outcome(const Result& result) const = 0;

  const Config& config_;
  const Problem& problem_;

 private:
  const std::vector<std::string> hint_notes_;
};

class MappingQuestion final : public AnyMappingQuestion {
 public:
  explicit MappingQuestion(const Config& config) : AnyMappingQuestion(config, {kHintNote}) {}

  [[nodiscard]] ProgressScale scale() const override { return scale_of(problem_); }
  [[nodiscard]] Fingerprint fingerprint() const override {
    check_resumable();
    return fingerprint_of(problem_);
  }

  /// Checks options: a search of stages that divide the graph has one answer, and floors are the
  /// only bound that it can leave out.
  void check(const SolveOptions& asked) const override {
    Question::check(asked);
    if (!problem_.divides_graph()) return;
    if (asked.top > 1) throw InputError("--top: 'stages: graph' has one answer, expected 1");
    check_bounds(asked, "with 'stages: graph'");
  }

  [[nodiscard]] SavedState load_state(const std::filesystem::path& file) const override {
    check_resumable();
    return load_checkpoint(file, problem_);
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
        asked.on_checkpoint(checkpoint_bytes(problem_, state), state.stats, state.open.size());
      };
    }
    SearchResult found = dfsearch::solve(problem_, options);
    Result result =
        result_of(found, found.cost ? std::optional(found.cost->objective) : std::nullopt);
    result.dropped = text_of(found.hint);
    // A second answer that was not requested needs no proof.
    if (asked.next_best) result.all_proved = true;
    result.found = std::move(found);
    return result;
  }

  [[nodiscard]] Result evaluate(const std::filesystem::path& file) const override {
    try {
      return judged(problem_, load_mapping(file, problem_));
    } catch (const RuledOutMapping& wrong) {
      Result none = no_answer();
      none.ruled_out = wrong.messages();
      return none;
    }
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
    if (!problem_.divides_graph()) return;
    throw InputError("checkpoint: a config with 'stages: graph' has none");
  }
  /// False if no chip can be built from the budgets of a design.
  [[nodiscard]] bool has_chip() const { return !config_.chip || config_.chip->infeasible.empty(); }

  [[nodiscard]] std::optional<Infeasible> reason_against(const Mapping& mapping) const override {
    const auto verdict = dfsearch::evaluate(problem_, mapping);
    const auto* reason = std::get_if<Infeasible>(&verdict);
    return reason ? std::optional(*reason) : std::nullopt;
  }
  [[nodiscard]] Outcome outcome(const Result& result) const override {
    Outcome outcome{.problem = &problem_, .status = SearchStatus::Infeasible};
    if (const auto* judged = std::get_if<JudgedMapping>(&result.found)) {
      outcome = Outcome::of(problem_, judged->mapping, judged->verdict);
    } else if (has_chip() && result.ruled_out.empty()) {
      outcome = Outcome::of(problem_, std::get<SearchResult>(result.found));
    }
    if (config_.chip) {
      outcome.design = &*config_.design;
      outcome.chip = &*config_.chip;
    }
    return outcome;
  }
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

std::unique_ptr<const Question> mapping_question(const Config& config) {
  return std::make_unique<MappingQuestion>(config);
}

// Configs for the split of a chip's budgets and the mapping onto its chip.

namespace {

class SplitQuestion final : public AnyMappingQuestion {
 public:
  /// A hint is tried on every chip.
  explicit SplitQuestion(const Config& config)
      : AnyMappingQuestion(config, {}), design_(*config.design) {}

  /// The peak of the machine is searched, so the log shows no utilization.
  [[nodiscard]] ProgressScale scale() const override {
    return {.text = row_of(problem_.objective).text, .work = {}, .peak = {}};
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    return fingerprint_of(problem_, design_);
  }

  /// Evaluates the mapping of a result on the chip of its split.
  [[nodiscard]] Result evaluate(const std::filesystem::path& file) const override {
    Result result;
    DesignResult found{.is_given = true, .problem = problem_};
    if (const auto split = load_split(file, design_, result.ruled_out)) {
      found.chip = derive(design_, SplitSpace(design_).split(*split), problem_.system.network);
      if (const auto machine = machine_with(problem_, design_, *found.chip)) {
        found.problem = *machine;
        judge(file, found.problem, found.search, result.ruled_out);
      }
    }
    const bool fits = found.search.cost.has_value();
    found.status = fits ? SearchStatus::Feasible : SearchStatus::Infeasible;
    result.status = found.search.status = found.status;
    if (fits) result.objective = found.search.cost->objective;
    result.found = std::move(found);
    return result;
  }

  [[nodiscard]] SavedState load_state(const std::filesystem::path& file) const override {
    return load_checkpoint(file, problem_, design_);
  }

  [[nodiscard]] Result solve(const SolveOptions& asked) const override {
    DesignOptions options;
    options.search = mapping_options(asked, config_.search);
    options.find_gains = asked.explain;
    if (asked.resume != nullptr) {
      options.resume = std::move(std::get<SplitState>(*asked.resume));
    }
    if (asked.on_incumbent) {
      options.on_split = [&](const Progress& progress, const Mapping& mapping, const Chip& chip) {
        AnswerJson answer{decisions_json(mapping)};
        answer.tree["split"] = split_json(design_, chip);
        asked.on_incumbent(progress, incumbent_event(progress, answer));
      };
    }
    if (asked.on_checkpoint) {
      options.on_checkpoint = [&](const SplitState& state) {
        asked.on_checkpoint(checkpoint_bytes(problem_, design_, state), state.stats,
                            state.open.size());
      };
    }
    DesignResult found = find_split(problem_, design_, options);
    const SearchResult& search = found.search;
    Result result =
        result_of(search, search.cost ? std::optional(search.cost->objective) : std::nullopt);
    // A proof that no further answers exist counts as well.
    result.all_proved =
        std::all_of(found.best.begin(), found.best.end(),
                    [](const FoundSplit& split) { return split.stopped_by == StopReason::None; });
    result.last_stop = found.best.back().stopped_by;
    result.found = std::move(found);
    return result;
  }

 private:
  static void judge(const std::filesystem::path& file, const Problem& machine, SearchResult& found,
                    RuledOut& reasons) {
    try {
      found.mapping = load_mapping(file, machine);
      auto verdict = dfsearch::evaluate(machine, *found.mapping);
      if (const auto* reason = std::get_if<Infeasible>(&verdict)) found.infeasible = *reason;
      if (auto* cost = std::get_if<Cost>(&verdict)) found.cost = std::move(*cost);
    } catch (const RuledOutMapping& wrong) {
      reasons = wrong.messages();
    }
  }

  [[nodiscard]] std::optional<Infeasible> reason_against(const Mapping& mapping) const override {
    return broken_rule(problem_, mapping);
  }
  [[nodiscard]] Outcome outcome(const Result& result) const override {
    const auto& split = std::get<DesignResult>(result.found);
    Outcome outcome = Outcome::of(split.problem, split.search);
    outcome.design = &design_;
    outcome.chip = split.chip ? &*split.chip : nullptr;
    if (split.is_given) {
      outcome.search = nullptr;
    } else {
      outcome.split = &split;
    }
    return outcome;
  }

  const ChipDesign& design_;
};

}  // namespace

std::unique_ptr<const Question> split_question(const Config& config) {
  return std::make_unique<SplitQuestion>(config);
}

}  // namespace dfsearch
