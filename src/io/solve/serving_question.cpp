// Configs for serving deployments.

#include <optional>
#include <utility>

#include "base/error.hpp"
#include "engine/serving/deployment_space.hpp"
#include "engine/serving/find_deployment.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/predict/serving_table.hpp"
#include "io/report/report.hpp"
#include "io/result/answer_files.hpp"
#include "io/result/result_json.hpp"
#include "io/solve/question_parts.hpp"
#include "io/text/files.hpp"
#include "io/text/joined.hpp"
#include "model/serving/pass.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch {
namespace {

constexpr const char* kNoFleetHint =
    "the search over mixes of a fleet does not use hints; 'dfsearch evaluate CONFIG --mapping "
    "FILE' evaluates one";

class ServingQuestion final : public Question {
 public:
  explicit ServingQuestion(const ServingConfig& config) : Question(config.notes), config_(config) {
    if (config.measured.empty()) return;
    // Runs before the search, whose time limit covers the whole answer.
    InputMessages messages;
    const CsvTable table(read_file(config.measured), config.measured.string(), messages);
    check_service_columns(table, messages);
    measured_ = measured_points(table, config.task);
  }

  [[nodiscard]] Sheet text() const override { return asked_text(config_.task); }
  [[nodiscard]] ProgressScale scale() const override { return {}; }
  [[nodiscard]] SearchSubject subject() const override {
    SearchSubject subject{.workload = "llm_serving"};
    for (const serving::Pool& pool : config_.task.pools) subject.chips += pool.chips;
    return subject;
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    refuse_fleet("--checkpoint");
    return fingerprint_of(config_.source->tree);
  }

  /// Loads a hint; one that breaks a limit is dropped.
  [[nodiscard]] LoadedHint load_hint(const std::filesystem::path& file) const override {
    if (is_fleet()) {
      RuledOut reasons;
      judged_fleet(config_.fleet, load_fleet(file, config_.fleet), reasons);
      return {.hint = {}, .dropped = text_of(reasons), .notes = {kNoFleetHint}};
    }
    std::vector<serving::Deployment> hint;
    RuledOut reasons;
    for (const serving::Deployment& deployment : load_deployments(file, config_.task)) {
      const JudgedDeployment point = judged(deployment, reasons);
      const auto name = [](serving::Broken limit) { return name_of(limit); };
      if (point.figures && !point.figures->feasible()) {
        reasons.push_back("it breaks " + joined(point.figures->broken, ", ", name));
      }
      hint.push_back(deployment);
    }
    if (!reasons.empty()) return {.hint = {}, .dropped = text_of(reasons)};
    return {.hint = std::move(hint), .dropped = "", .notes = {kHintNote}};
  }

  /// A checkpoint contains only the answers, with which a new search closes most intervals at once.
  [[nodiscard]] SavedState load_state(const std::filesystem::path& file) const override {
    return load_step_checkpoint(file, fingerprint());
  }

  void check(const SolveOptions& asked) const override {
    Question::check(asked);
    check_bounds(asked, "of kind llm_serving");
    if (!asked.bounds.use_all()) refuse_fleet("--no-bound");
    if (asked.count) refuse_fleet("--count");
    if (asked.top > 1) refuse_fleet("--top");
  }

  [[nodiscard]] Result solve(const SolveOptions& asked) const override {
    auto search = search_options<serving::ServingSearch>(asked, config_.search);
    search.count = asked.count;
    search.explain = asked.explain;
    search.bounds = asked.bounds;
    if (const auto* hint = std::get_if<std::vector<serving::Deployment>>(&asked.hint)) {
      search.known = *hint;
    }
    if (asked.resume != nullptr) {
      const auto& state = std::get<StepState>(*asked.resume);
      search.before = state.stats;
      for (const StepState::Finished& known : state.finished) {
        search.known.push_back(deployment_of(known.decisions));
      }
    }
    if (asked.on_checkpoint) {
      search.on_checkpoint = [&, problem = fingerprint()](
                                 const std::vector<serving::Deployment>& known,
                                 const SearchStats& stats) {
        StepState state;
        for (const serving::Deployment& deployment : known) {
          state.finished.push_back({.decisions = decisions_of(deployment), .lower_bound = {}});
        }
        state.stats = stats;
        asked.on_checkpoint(checkpoint_bytes(state, problem), stats, 0);
      };
    }
    if (asked.on_incumbent) {
      search.on_incumbent = [&](const Progress& progress, const serving::Deployment& deployment) {
        asked.on_incumbent(progress,
                           incumbent_event(progress, {decisions_json(config_.task, deployment)}));
      };
    }
    serving::ServingResult found =
        is_fleet() ? find_fleet(config_.fleet, search) : find_deployment(config_.task, search);
    std::optional<Score> objective;
    if (found.deployment || !found.fleet.empty()) objective = found.cost;
    Result result = result_of(found, objective);
    result.found = std::move(found);
    return result;
  }

  [[nodiscard]] Result evaluate(const std::filesystem::path& file) const override {
    RuledOut reasons;
    serving::ServingResult found;
    if (is_fleet()) {
      found = judged_fleet(config_.fleet, load_fleet(file, config_.fleet), reasons);
    } else {
      found = judged_deployments(load_deployments(file, config_.task), reasons);
    }
    const bool has_value = found.figures || !found.fleet.empty();
    Result result = result_of(found, has_value ? std::optional(found.cost) : std::nullopt);
    result.ruled_out = std::move(reasons);
    result.found = std::move(found);
    return result;
  }

  [[nodiscard]] AnswerJson json_of(const Result& result) const override {
    return {answer_json(config_.task, config_.fleet, measured_,
                        std::get<serving::ServingResult>(result.found))};
  }
  [[nodiscard]] Sheet sheet_of(const Result& result, const std::string& title,
                               bool with_details) const override {
    const auto& found = std::get<serving::ServingResult>(result.found);
    return is_fleet() ? report_text(config_.fleet, found, title)
                      : report_text(config_.task, found, title, with_details);
  }

 private:
  struct JudgedDeployment {
    serving::Deployment deployment;
    std::optional<serving::Figures> figures;  ///< nothing if its degrees are not allowed
  };

  /// Evaluates the deployment and adds the reasons that rule it out.
  [[nodiscard]] JudgedDeployment judged(const serving::Deployment& deployment,
                                        RuledOut& reasons) const {
    for (std::string& reason : ruled_out(config_.task, deployment)) {
      reasons.push_back(std::move(reason));
    }
    if (!has_room(config_.task, deployment)) return {deployment, std::nullopt};
    return {deployment, serving::evaluate(config_.task, deployment)};
  }

  /// A single deployment is the answer, several are the points of a front.
  [[nodiscard]] serving::ServingResult judged_deployments(
      const std::vector<serving::Deployment>& deployments, RuledOut& reasons) const {
    serving::ServingResult found;
    found.is_given = true;
    bool fits = true;
    for (const serving::Deployment& deployment : deployments) {
      const JudgedDeployment one = judged(deployment, reasons);
      fits = fits && one.figures && one.figures->feasible();
      if (deployments.size() == 1) {
        found.deployment = deployment;
        found.figures = one.figures;
      } else if (one.figures) {
        found.front.push_back({deployment, *one.figures});
      }
    }
    if (found.figures) {
      found.cost = Score(value_of(config_.task.objective, config_.task.front, *found.figures));
    }
    const bool is_answer = fits && reasons.empty();
    found.status = is_answer ? SearchStatus::Feasible : SearchStatus::Infeasible;
    if (!is_answer && reasons.empty() && all_fit_at_low(deployments)) {
      found.status = SearchStatus::NoSolution;
      found.at_low = {{deployments.front(), {}}};
    }
    return found;
  }

  /// Whether the deployments keep all limits at the low end of the memory.
  [[nodiscard]] bool all_fit_at_low(const std::vector<serving::Deployment>& deployments) const {
    serving::Task low = config_.task;
    low.level = memory::Level::Low;
    return has_low_end(config_.task) &&
           std::all_of(deployments.begin(), deployments.end(), [&](const auto& deployment) {
             return has_room(low, deployment) && serving::evaluate(low, deployment).feasible();
           });
  }

  [[nodiscard]] bool is_fleet() const { return !config_.fleet.models.empty(); }
  void refuse_fleet(const char* option) const {
    if (is_fleet()) throw InputError(std::string(option) + ": not valid for a fleet");
  }

  static Decisions decisions_of(const serving::Deployment& deployment) {
    Decisions decisions = {static_cast<std::int64_t>(deployment.mode)};
    for (const serving::Role& role : {deployment.prefill, deployment.decode}) {
      const serving::Structure& s = role.structure;
      decisions.insert(decisions.end(),
                       {static_cast<std::int64_t>(s.pool), s.tensor, s.pipeline, s.attention_data,
                        s.expert, static_cast<std::int64_t>(s.precision), role.replicas, role.chunk,
                        role.batch, role.depth, s.redundant_experts, s.sub_batches});
    }
    return decisions;
  }

  /// Throws InputError for decisions that no deployment of this question has.
  [[nodiscard]] serving::Deployment deployment_of(const Decisions& decisions) const {
    constexpr std::size_t kOfRole = 12;
    const auto refuse = [] {
      throw InputError("the checkpoint is damaged: a deployment does not belong to the problem");
    };
    if (decisions.size() != 1 + 2 * kOfRole || decisions[0] < 0 || decisions[0] > 1) refuse();
    serving::Deployment deployment;
    deployment.mode = static_cast<serving::Mode>(decisions[0]);
    const std::int64_t* at = &decisions[1];
    for (serving::Role* role : {&deployment.prefill, &deployment.decode}) {
      const auto pools = static_cast<std::int64_t>(config_.task.pools.size());
      const auto precisions = static_cast<std::int64_t>(config_.task.precisions.size());
      if (at[0] < 0 || at[0] >= pools || at[5] < 0 || at[5] >= precisions) refuse();
      role->structure = {static_cast<std::size_t>(at[0]), at[1], at[2], at[3], at[4],
                         static_cast<std::size_t>(at[5]), at[10]};
      role->replicas = at[6];
      role->chunk = at[7];
      role->batch = at[8];
      role->depth = at[9];
      at += kOfRole;
    }
    if (!ruled_out(config_.task, deployment).empty()) refuse();
    return deployment;
  }

  const ServingConfig& config_;
  std::vector<MeasuredPoint> measured_;
};

}  // namespace

std::unique_ptr<const Question> serving_question(const ServingConfig& config) {
  return std::make_unique<ServingQuestion>(config);
}

}  // namespace dfsearch
