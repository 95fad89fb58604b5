#include "io/solve/question.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "io/solve/question_parts.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {

std::string dropped_hint(const std::string& file, const std::string& why) {
  return file + ": the hint does not fit and is dropped: " + why;
}

SolveOptions options_of(const SearchRequest& request, const SearchSettings& settings,
                        Bytes memory) {
  SolveOptions options;
  Limits& limits = options.limits.emplace();
  limits.memory = request.memory_limit.value_or(settings.memory_limit.value_or(memory));
  limits.gap = request.gap.value_or(settings.gap);
  limits.nodes = request.node_limit.value_or(limits.nodes);
  options.threads = request.threads;
  options.deterministic = request.deterministic;
  options.top = request.top.value_or(1);
  options.next_best = !request.top;
  options.beyond_scope = options.explain = true;
  options.count = request.count;
  options.robust = request.robust;
  options.bounds = request.bounds;
  return options;
}

void Question::check(const SolveOptions& asked) const {
  if (asked.robust) throw InputError("--robust: only valid for a config with 'training'");
}

void check_bounds(const SolveOptions& asked, std::string_view whose) {
  const auto others = asked.bounds.but_floors().dropped();
  if (others.empty()) return;
  throw InputError(fmt::format("--no-bound: expected floors for a config {}, got '{}'", whose,
                               fmt::join(others, "', '")));
}

namespace {

/// The texts with this label in a sheet.
std::vector<std::string> facts_labelled(const Sheet& sheet, std::string_view label) {
  std::vector<std::string> found;
  for (const Sheet::Block& block : sheet.blocks()) {
    const auto* facts = std::get_if<Facts>(&block);
    if (facts == nullptr) continue;
    for (const auto& [name, text] : facts->rows) {
      if (name == label) found.push_back(text);
    }
  }
  return found;
}

}  // namespace

AnswerJson Question::json(const Result& result) const {
  AnswerJson answer = json_of(result);
  Json& json = answer.tree;
  const Sheet sheet = sheet_of(result, "", false);
  const std::vector<std::string> rates = facts_labelled(sheet, "rates");
  json["rates"] = rates.empty() ? Json() : Json(rates.front());
  json["cautions"] = facts_labelled(sheet, "caution");
  if (!result.ruled_out.empty()) {
    json["status"] = name_of(result.status);
    json["ruled_out"] = result.ruled_out;
  }
  std::vector<std::string> all = notes_;
  all.insert(all.end(), result.notes.begin(), result.notes.end());
  json["notes"] = all;
  return answer;
}

Sheet Question::sheet(const Result& result, const std::string& title, bool with_details) const {
  static_cast<void>(json_of(result));  // for its check
  Sheet sheet = sheet_of(result, title, with_details);
  Facts facts;
  for (const std::string& note : notes_) facts.rows.emplace_back("note", escaped(note));
  if (!facts.rows.empty()) sheet.insert_after_title(std::move(facts));
  for (const std::string& reason : result.ruled_out) sheet += labelled("ruled out", reason);
  return sheet;
}

bool searches_splits(const AnyConfig& any) {
  const auto* config = std::get_if<Config>(&any);
  return config != nullptr && config->design && !config->chip;
}

const std::vector<std::string>& notes_of(const AnyConfig& any) {
  return std::visit(
      [](const auto& config) -> const auto& { return config.notes; }, any);
}

const SearchSettings& settings_of(const AnyConfig& any) {
  return std::visit([](const auto& config) -> const SearchSettings& { return config.search; }, any);
}

SearchStats stats_of(const SavedState& state) {
  return std::visit([](const auto& saved) { return saved.stats; }, state);
}

std::unique_ptr<const Question> question_of(const AnyConfig& any) {
  if (const auto* plan = std::get_if<TrainingConfig>(&any)) return step_question(*plan);
  if (const auto* execution = std::get_if<CalculonConfig>(&any)) return step_question(*execution);
  if (const auto* served = std::get_if<ServingConfig>(&any)) return serving_question(*served);
  const auto& config = std::get<Config>(any);
  return searches_splits(any) ? split_question(config) : mapping_question(config);
}

Result solve(const AnyConfig& config, const SolveOptions& options) {
  const auto question = question_of(config);
  question->check(options);
  return question->solve(options);
}

std::string result_json(const AnyConfig& config, const Result& result) {
  return json_text(question_of(config)->json(result).tree);
}

}  // namespace dfsearch
