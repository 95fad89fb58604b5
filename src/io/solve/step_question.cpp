// Configs for whole steps: a plan of training, an execution of Calculon's model.

#include <fmt/format.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "engine/calculon/find_execution.hpp"
#include "engine/training/find_plan.hpp"
#include "engine/training/plan_rules.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/config/hint_changes.hpp"
#include "io/report/report.hpp"
#include "io/result/result_json.hpp"
#include "io/solve/question_parts.hpp"
#include "model/training/framework.hpp"
#include "model/training/plan.hpp"

namespace dfsearch {
namespace {

/// Checks that the machine has the place of a plan from a file.
void check_place(const PlanHint& hint, const Machine& machine) {
  InputMessages messages;
  const auto wrong = [&](std::string what) {
    messages.add(hint.network_place, "network", std::move(what));
  };
  const std::size_t dimensions = machine.network.size();
  if (hint.network.size() != dimensions) {
    wrong(fmt::format("expected {} dimensions, got {}", dimensions, hint.network.size()));
  }
  for (std::size_t d = 0; d < std::min(dimensions, hint.network.size()); ++d) {
    const training::Division& division = hint.network[d];
    const std::int64_t degree = *machine.network[d].degree;
    std::int64_t left = degree;
    for (const training::Role role : training::kRoles) {
      left = left % division[role] == 0 ? left / division[role] : 0;
    }
    if (left != 1)
      wrong(fmt::format("dimension {}: expected degrees whose product is {}", d, degree));
    if (!machine.network[d].mesh && !division.order.empty()) {
      wrong(fmt::format("dimension {}: 'order' is only valid on a mesh", d));
    }
    if (machine.network[d].mesh && !training::is_placed(division)) {
      wrong(
          fmt::format("dimension {}: expected an 'order' that has each role of more than one "
                      "chip once",
                      d));
    }
  }
  messages.throw_if_any();
}

/// Functions and constants of the search for plans of training.
struct Plans {
  using Config = TrainingConfig;
  using Found = training::PlanResult;
  static constexpr auto kDecided = &Found::plan;
  static constexpr const char* kConfig = "'training'";
  static constexpr bool kIsRobust = true;

  static Found find(const training::Task& task, const StepSearch& search) {
    return training::find_plan(task, search);
  }
  static Score objective_of(const training::Cost& cost) { return cost.objective; }
  static training::Plan decided(const training::Task& task, const Decisions& decisions) {
    return training::plan_of(decisions, task);
  }
  /// Whether attention writes scores, which selective recomputation leaves out.
  static bool has_scores(const training::Task& task) {
    return task.stack || (!task.pass.fused && task.style != Style::Dataflow);
  }
  /// The task's value of a workload key that launch arguments may give.
  static std::int64_t given(const training::Task& task, const std::string& key) {
    if (key == "global_batch") return task.global_batch;
    return key == "sequence" ? task.pass.tokens : task.model.layers;
  }
  static WorkloadKind workload(const training::Task&) { return WorkloadKind::LlmTraining; }
  static ProgressScale scale(const training::Task& task) {
    return scale_of(task.objective, training::model_flops(task),
                    task.machine.matrix.peak * static_cast<double>(task.machine.chips));
  }
};

/// Functions and constants of the search for executions.
struct Executions {
  using Config = CalculonConfig;
  using Found = calculon::ExecutionResult;
  static constexpr auto kDecided = &Found::execution;
  static constexpr const char* kConfig = "'equations: calculon'";
  static constexpr bool kIsRobust = false;

  static Found find(const calculon::Task& task, const StepSearch& search) {
    return calculon::find_execution(task, search);
  }
  static Score objective_of(const calculon::Cost& cost) {
    return Score(cost.step_time.in_base_units());
  }
  static calculon::Execution decided(const calculon::Task&, const Decisions& decisions) {
    return *calculon::execution_of(decisions);
  }
  static bool has_scores(const calculon::Task&) { return true; }
  static std::int64_t given(const calculon::Task& task, const std::string& key) {
    if (key == "global_batch") return task.choices.global_batch.value_or(0);
    return key == "sequence" ? task.transformer.sequence : task.transformer.layers;
  }
  static WorkloadKind workload(const calculon::Task& task) {
    return task.transformer.training ? WorkloadKind::LlmTraining : WorkloadKind::LlmPrefill;
  }
  static ProgressScale scale(const calculon::Task&) { return {}; }
};

template <class Kind>
class StepQuestion final : public Question {
 public:
  explicit StepQuestion(const typename Kind::Config& config)
      : Question(config.notes), config_(config) {}

  [[nodiscard]] Sheet text() const override { return asked_text(config_.task); }
  [[nodiscard]] ProgressScale scale() const override { return Kind::scale(config_.task); }
  [[nodiscard]] SearchSubject subject() const override {
    return {.workload = name_of(Kind::workload(config_.task)), .chips = config_.task.machine.chips};
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    return fingerprint_of(config_.source->tree);
  }

  /// Loads a hint; open decisions take the values of the best step that agrees with the hint.
  [[nodiscard]] LoadedHint load_hint(const std::filesystem::path& file) const override {
    std::vector<std::string> notes;
    const typename Kind::Found found = answer_from_file(file, notes);
    if (const auto& decided = found.*Kind::kDecided) {
      std::string dropped = text_of(ruled_out(config_.task, *decided));
      if (dropped.empty() && !is_searched(config_.task, *decided)) {
        dropped = "it fits, but the search leaves steps like it out (docs/search.md)";
      }
      if (!Kind::kIsRobust && dropped.empty()) notes.emplace_back(kHintNote);
      // The search ignores a dropped hint, and the report has the reason.
      return {
          .hint = decisions_of(*decided), .dropped = std::move(dropped), .notes = std::move(notes)};
    }
    const std::string reason = reason_text(config_.task, found);
    return {.hint = {},
            .dropped = reason.empty() ? "no step matches the hint" : reason,
            .notes = std::move(notes)};
  }

  [[nodiscard]] Result evaluate(const std::filesystem::path& file) const override {
    std::vector<std::string> notes;
    typename Kind::Found found = answer_from_file(file, notes, true);
    const bool may_not_fit = found.status == SearchStatus::Feasible;
    if (found.status == SearchStatus::Optimal) found.status = SearchStatus::Feasible;
    const auto& decided = found.*Kind::kDecided;
    RuledOut reasons = decided ? ruled_out(config_.task, *decided) : RuledOut();
    Result result = answer(std::move(found));
    result.all_proved = !may_not_fit;
    if (!reasons.empty()) result.status = SearchStatus::Infeasible;
    result.ruled_out = std::move(reasons);
    result.notes = std::move(notes);
    return result;
  }

  [[nodiscard]] SavedState load_state(const std::filesystem::path& file) const override {
    return load_step_checkpoint(file, fingerprint());
  }

  void check(const SolveOptions& asked) const override {
    SolveOptions others = asked;
    if (Kind::kIsRobust) others.robust = false;
    Question::check(others);
    if constexpr (Kind::kIsRobust) {
      if (asked.robust && !config_.task.stack) {
        throw InputError(
            "--robust: only valid with 'execution.stack', whose constants have ranges, such as "
            "--set execution='{stack: te, chip: h100_80gb}' (docs/truth.md)");
      }
      if (asked.robust && config_.task.objective != training::Objective::StepTime) {
        throw InputError(
            "--robust: regret is that of a step time: expected the objective 'step_time', got '" +
            std::string(name_of(config_.task.objective)) + "'");
      }
    }
    check_bounds(asked, fmt::format("with {}", Kind::kConfig));
  }

  [[nodiscard]] Result solve(const SolveOptions& asked) const override {
    auto search = search_options<StepSearch>(asked, config_.search);
    search.count = asked.count;
    search.robust = asked.robust;
    search.floors = asked.bounds.use(SearchBound::Floors);
    if (const auto* hint = std::get_if<Decisions>(&asked.hint)) search.hint = *hint;
    if (asked.resume != nullptr) search.resume = &std::get<StepState>(*asked.resume);
    if (asked.on_incumbent) {
      search.on_incumbent = [&](const Progress& progress, const Decisions& decisions) {
        asked.on_incumbent(
            progress,
            incumbent_event(
                progress, {decisions_json(config_.task, Kind::decided(config_.task, decisions))}));
      };
    }
    if (asked.on_checkpoint) {
      search.on_checkpoint = [&, problem = fingerprint()](const StepState& state) {
        asked.on_checkpoint(checkpoint_bytes(state, problem), state.stats, state.open.size());
      };
    }
    typename Kind::Found found = Kind::find(config_.task, search);
    if constexpr (std::is_same_v<typename Kind::Config, TrainingConfig>) {
      try_software(config_, search.limits.deadline, found);
      if (asked.explain && found.misfit) {
        TrainingConfig decided = config_;
        decided.task.decide = found.decided;
        find_enough_numbers(decided, search.limits.deadline, asked.deterministic, *found.misfit);
      }
    }
    return answer(std::move(found));
  }

  [[nodiscard]] AnswerJson json_of(const Result& result) const override {
    return {answer_json(config_.task, std::get<typename Kind::Found>(result.found))};
  }
  [[nodiscard]] Sheet sheet_of(const Result& result, const std::string& title,
                               bool) const override {
    return report_text(config_.task, std::get<typename Kind::Found>(result.found), title);
  }

 private:
  /// The best step that agrees with the file; if `placed`, at the file's place in the network, if
  /// it has one.
  [[nodiscard]] typename Kind::Found answer_from_file(const std::filesystem::path& file,
                                                      std::vector<std::string>& notes,
                                                      bool placed = false) const {
    PlanHint hint = hint_changes(file);
    if (hint.launches) ignore_selective_recompute(hint);
    notes = hint.notes;
    InputMessages others;
    for (const YamlEntry& entry : hint.workload) {
      const std::int64_t own = Kind::given(config_.task, entry.key);
      if (std::to_string(own) == entry.value.scalar) continue;
      others.add(entry.place, entry.key,
                 fmt::format("the config has {}, got {}", own, entry.value.scalar));
    }
    others.throw_if_any();
    if constexpr (std::is_same_v<typename Kind::Config, TrainingConfig>) {
      if (!hint.network.empty()) check_place(hint, config_.task.machine);
    }
    std::vector<std::string> changes;
    for (const HintChange& change : hint.changes) changes.push_back(change.text);
    try {
      AnyConfig asked = changed_config(*config_.source, changes);
      if (auto* config = std::get_if<typename Kind::Config>(&asked)) {
        if constexpr (std::is_same_v<typename Kind::Config, TrainingConfig>) {
          if (placed && !hint.network.empty()) {
            // Omitted here: `ruled_out` checks the framework and the strategies of the config.
            config->task.framework.reset();
            config->task.choices.network.clear();
            config->task.choices.divisions = hint.network;
          }
        }
        // Do not compare a user-supplied plan with plans of other frameworks.
        typename Kind::Found found = Kind::find(config->task, {.any_framework = false});
        if constexpr (std::is_same_v<typename Kind::Config, TrainingConfig>) {
          if (found.plan) note_place(hint, *found.plan, file, notes);
        }
        return found;
      }
    } catch (const InputError& error) {
      std::vector<std::string> messages;
      for (const std::string& message : error.messages()) {
        std::string at = file.string() + ": " + message;
        for (const auto& [text, place] : hint.changes) {
          const std::string source = "--set " + text + ": ";
          if (message.starts_with(source)) {
            at = place.to_text() + ": " + message.substr(source.size());
          }
        }
        messages.push_back(at);
      }
      throw InputError(messages);
    }
    return {};
  }

  /// Adds a note if the file has no place: the plan is then timed at its best one.
  static void note_place(const PlanHint& hint, const training::Plan& plan,
                         const std::filesystem::path& file, std::vector<std::string>& notes) {
    const training::RankOrder order =
        hint.stages_inside ? training::kStagesInside : training::kUsualOrder;
    if (hint.launches && !training::is_numbered_so(plan.network, order)) {
      notes.push_back(file.string() +
                      ": the plan is timed at its best place in the network, where these arguments "
                      "do not number its ranks");
    }
  }

  /// Replaces selective recomputation by none if attention is fused: it keeps no scores to
  /// recompute.
  void ignore_selective_recompute(PlanHint& hint) const {
    if (Kind::has_scores(config_.task)) return;
    for (HintChange& change : hint.changes) {
      if (change.text != R"(training.recompute="selective")") continue;
      change.text = R"(training.recompute="none")";
      hint.notes.push_back(change.place.to_text() +
                           ": recompute: selective is taken as none, as fused attention keeps no "
                           "scores to compute again");
    }
  }

  static Result answer(typename Kind::Found found) {
    std::optional<Score> objective;
    if (found.cost) objective = Kind::objective_of(*found.cost);
    Result result = result_of(found, objective);
    if constexpr (Kind::kIsRobust) {
      if (found.robust) {
        result.all_proved = result.all_proved && found.robust->status == SearchStatus::Optimal;
        result.last_stop = found.robust->stopped_by;
      }
    }
    result.found = std::move(found);
    return result;
  }

  const typename Kind::Config& config_;
};

}  // namespace

std::unique_ptr<const Question> step_question(const TrainingConfig& config) {
  return std::make_unique<StepQuestion<Plans>>(config);
}

std::unique_ptr<const Question> step_question(const CalculonConfig& config) {
  return std::make_unique<StepQuestion<Executions>>(config);
}

}  // namespace dfsearch
