// The question for a deployment that serves.

#include <utility>

#include "base/error.hpp"
#include "io/config/tree_fingerprint.hpp"
#include "io/report/serving_report.hpp"
#include "io/result/deployment_file.hpp"
#include "io/result/event_text.hpp"
#include "io/result/serving_json.hpp"
#include "io/solve/question_parts.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch {
namespace {

class ServingQuestion final : public Question {
 public:
  explicit ServingQuestion(const ServingConfig& config) : config_(config) {}

  [[nodiscard]] std::string text() const override { return task_text(config_.task); }
  [[nodiscard]] ProgressScale scale() const override { return {}; }
  [[nodiscard]] std::string start_event(const std::string& title, int threads,
                                        const SearchStats& before) const override {
    return dfsearch::start_event(config_.task, title, threads, before);
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    return fingerprint_of(config_.source->tree);
  }

  /// One that breaks a limit is dropped.
  [[nodiscard]] LoadedHint load_hint(const std::filesystem::path& file) const override {
    serving::Deployment deployment = load_deployment(file, config_.task);
    const serving::Figures figures = serving::evaluate(config_.task, deployment);
    if (figures.feasible()) return {.hint = deployment, .dropped = ""};
    std::string broken;
    for (const serving::Broken limit : figures.broken) {
      broken += (broken.empty() ? "it breaks " : ", ") + std::string(name_of(limit));
    }
    return {.hint = {}, .dropped = broken};
  }

  [[nodiscard]] SavedState load_state(const std::filesystem::path&) const override {
    throw InputError("--resume: a search for deployments takes seconds and has no checkpoints");
  }

  void check(const SolveOptions& asked) const override {
    if (!asked.bounds.use_all()) {
      throw InputError("--no-bound: a config of kind llm_serving does not take it");
    }
    if (asked.on_checkpoint) {
      throw InputError(
          "--checkpoint: a search for deployments takes seconds and has no checkpoints");
    }
  }

  [[nodiscard]] Result solve(const SolveOptions& asked) const override {
    auto search = search_options<serving::ServingSearch>(asked, config_.search);
    search.count = asked.count;
    if (const auto* hint = std::get_if<serving::Deployment>(&asked.hint)) search.hint = *hint;
    if (asked.on_incumbent) {
      search.on_incumbent = [&](const Progress& progress, const serving::Deployment& deployment) {
        asked.on_incumbent(progress, incumbent_event(progress, config_.task, deployment));
      };
    }
    serving::ServingResult found = find_deployment(config_.task, search);
    std::optional<Score> objective;
    if (found.deployment) objective = found.cost;
    Result result = result_of(found, objective);
    result.found = std::move(found);
    return result;
  }

  [[nodiscard]] Result evaluate(const std::filesystem::path& file) const override {
    serving::ServingResult found;
    found.is_given = true;
    found.deployment = load_deployment(file, config_.task);
    found.figures = serving::evaluate(config_.task, *found.deployment);
    found.status = found.figures->feasible() ? SearchStatus::Feasible : SearchStatus::Infeasible;
    found.cost = Score(value_of(config_.task.objective, config_.task.front, *found.figures));
    Result result = result_of(found, found.cost);
    result.found = std::move(found);
    return result;
  }

  [[nodiscard]] std::string json(const Result& result) const override {
    return serving_json(config_.task, std::get<serving::ServingResult>(result.found));
  }
  [[nodiscard]] std::string report(const Result& result, const std::string& title,
                                   bool) const override {
    return serving_report(config_.task, std::get<serving::ServingResult>(result.found), title);
  }

 private:
  const ServingConfig& config_;
};

}  // namespace

std::unique_ptr<const Question> serving_question(const ServingConfig& config) {
  return std::make_unique<ServingQuestion>(config);
}

}  // namespace dfsearch
