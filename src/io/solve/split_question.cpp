// The question for the split of a chip's budgets and the mapping onto its chip.

#include <algorithm>
#include <utility>

#include "design/machine_answers.hpp"
#include "design/split_space.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/report/infeasible_text.hpp"
#include "io/report/report.hpp"
#include "io/result/answer_files.hpp"
#include "io/result/chip_json.hpp"
#include "io/result/result_json.hpp"
#include "io/solve/question_parts.hpp"
#include "model/mapping_rules.hpp"

namespace dfsearch {
namespace {

class SplitQuestion final : public Question {
 public:
  explicit SplitQuestion(const Config& config)
      : search_(config.search),
        problem_(config.problem),
        design_(*config.design),
        notes_(config.notes) {}

  [[nodiscard]] Sheet text() const override { return asked_text(problem_); }
  /// The peak of the machine is searched, so the log shows no utilization.
  [[nodiscard]] ProgressScale scale() const override {
    return {.objective = problem_.objective, .work = {}, .peak = {}};
  }
  [[nodiscard]] SearchSubject subject() const override { return subject_of(problem_); }
  [[nodiscard]] Fingerprint fingerprint() const override {
    return fingerprint_of(problem_, design_);
  }

  /// The hint is tried on every chip.
  [[nodiscard]] LoadedHint load_hint(const std::filesystem::path& file) const override {
    try {
      Mapping mapping = load_mapping(file, problem_);
      const auto wrong = broken_rule(problem_, mapping);
      if (wrong) return {.hint = {}, .dropped = infeasible_text(problem_, *wrong)};
      return {.hint = std::move(mapping), .dropped = ""};
    } catch (const RuledOutMapping& wrong) {
      return {.hint = {}, .dropped = text_of(wrong.messages())};
    }
  }
  /// The mapping of a result onto the chip of its split.
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
    options.search = mapping_options(asked, search_);
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
    // A proof that there are no more answers counts as well.
    result.all_proved =
        std::all_of(found.best.begin(), found.best.end(),
                    [](const FoundSplit& split) { return split.stopped_by == StopReason::None; });
    result.last_stop = found.best.back().stopped_by;
    result.found = std::move(found);
    return result;
  }

  [[nodiscard]] const std::vector<std::string>& notes() const override { return notes_; }
  [[nodiscard]] AnswerJson json_of(const Result& result) const override {
    return {answer_json(outcome(result))};
  }
  [[nodiscard]] Sheet sheet_of(const Result& result, const std::string& title,
                               bool with_details) const override {
    return report_text(outcome(result), title, with_details);
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

  [[nodiscard]] Outcome outcome(const Result& result) const {
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

  const SearchSettings& search_;
  const Problem& problem_;
  const ChipDesign& design_;
  const std::vector<std::string>& notes_;
};

}  // namespace

std::unique_ptr<const Question> split_question(const Config& config) {
  return std::make_unique<SplitQuestion>(config);
}

}  // namespace dfsearch
