#include "physics/answer.hpp"

#include <limits>

#include "base/error.hpp"
#include "engine/solve.hpp"
#include "io/result/result_json.hpp"
#include "io/solve/question.hpp"
#include "io/study/study_file.hpp"
#include "io/study/study_points.hpp"
#include "physics/config_files.hpp"
#include "physics/numbers.hpp"

namespace dfsearch::test {
namespace {

// Small worlds are proved with fewer, and what is not has a bound that is checked as well.
constexpr std::int64_t kNodes = 100;

template <class Found>
void take(Answer& answer, const Found& found) {
  answer.status = found.status;
  answer.step = std::numeric_limits<double>::infinity();
  if (found.cost) answer.step = found.cost->step_time.in_base_units();
  answer.lower_bound = found.status == SearchStatus::Infeasible
                           ? std::numeric_limits<double>::infinity()
                           : found.lower_bound.in_base_units();
}

Answer solved(Config config, const Deadline& deadline) {
  SearchOptions options;
  options.limits.deadline = deadline;
  options.limits.nodes = kNodes;
  options.node_effort.steps = 1000;
  SearchResult result = solve(config.problem, options);
  Answer answer{.config = {}, .of = MappingAnswer{std::move(config), std::move(result)}};
  take(answer, std::get<MappingAnswer>(answer.of).result);
  return answer;
}

Answer solved(TrainingConfig config, const Deadline& deadline) {
  StepSearch search;
  search.limits.deadline = deadline;
  search.limits.nodes = kNodes;
  training::PlanResult result = training::find_plan(config.task, search);
  Answer answer{.config = {}, .of = PlanAnswer{std::move(config), std::move(result)}};
  take(answer, std::get<PlanAnswer>(answer.of).result);
  return answer;
}

SearchStatus status_of(const Json& result) {
  const std::string status = result["status"];
  if (status == "optimal") return SearchStatus::Optimal;
  if (status == "feasible") return SearchStatus::Feasible;
  return status == "infeasible" ? SearchStatus::Infeasible : SearchStatus::NoSolution;
}

Answer solved(const AnyConfig& config, const Deadline& deadline) {
  SolveOptions options;
  options.limits = Limits{.deadline = deadline, .nodes = 20 * kNodes};
  const Result found = solve(config, options);
  ResultAnswer result{Json::parse(result_json(config, found))};
  Answer answer{.config = {}, .of = result};
  answer.status = status_of(result.result);
  answer.step = count_of(result.result, "step_time", std::numeric_limits<double>::infinity());
  answer.lower_bound = count_of(result.result, "lower_bound", 0.0);
  return answer;
}

Answer studied(const Json& config) {
  const Study study = parse_study(config.dump(), "physics.json");
  const StudyPoints points(study, {.request = {.node_limit = kNodes, .deterministic = true}});
  points.check();
  StudyAnswer rows;
  Answer answer;
  for (study::PointIndex point = 0; point < points.grid().count(); ++point) {
    StudyRow row{.config = json_of(parse_yaml(points.config_text(point), "physics.json", false)),
                 .result = Json::parse(points.solve(point, {}).row)};
    if (row.result["status"] == "failed") throw InputError(row.result["reason"].get<std::string>());
    const SearchStatus status = status_of(row.result);
    if (status == SearchStatus::Optimal || status == SearchStatus::Feasible) answer.status = status;
    rows.rows.push_back(std::move(row));
  }
  answer.of = std::move(rows);
  return answer;
}

/// Mappings of layers onto chips that the config has are judged by the mapping itself.
bool is_mapping(const Json& config) {
  return config["workload"]["kind"] != "lstm" && !config["system"].contains("technology") &&
         !config.value("/execution/stages"_json_pointer, Json()).is_string();
}

Answer asked(AnyConfig any, const Json& config, const Deadline& deadline) {
  if (auto* plan = std::get_if<TrainingConfig>(&any)) {
    Json with_files = json_of(plan->source->tree);
    Answer answer = solved(std::move(*plan), deadline);
    answer.config = std::move(with_files);
    return answer;
  }
  if (auto* mapping = std::get_if<Config>(&any); mapping != nullptr && is_mapping(config)) {
    return solved(std::move(*mapping), deadline);
  }
  return solved(any, deadline);
}

}  // namespace

const std::vector<NamedCheck>& sign_checks() {
  static const std::vector<NamedCheck> kChecks = {
      {"signs", [](const Json&, const Answer& answer) -> std::optional<Violation> {
         try {
           if (const auto* plan = std::get_if<PlanAnswer>(&answer.of)) {
             answer_json(plan->config.task, plan->result);
           } else {
             const auto& mapping = std::get<MappingAnswer>(answer.of);
             answer_json(Outcome::of(mapping.config.problem, mapping.result));
           }
         } catch (const InternalError& error) {
           return Violation{error.what()};
         }
         return std::nullopt;
       }}};
  return kChecks;
}

std::optional<Answer> answer_to(const Json& config) {
  try {
    Answer answer = config.contains("study")
                        ? studied(config)
                        : asked(parse_any_config(config.dump(), "physics.json"), config, {});
    if (answer.config.is_null()) answer.config = config;
    return answer;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

Answer answer_to_file(const std::filesystem::path& file, Seconds most) {
  const Json config = config_of_file(file);
  Answer answer = asked(load_any_config(file, {}), config, Deadline(most));
  answer.config = config;
  return answer;
}

namespace {

/// All configs that are a little less than this one.
std::vector<Json> smaller(const Json& config) {
  std::vector<Json> result;
  const Json flat = config.flatten();
  // Whole sections and keys first.
  const std::function<void(const Json&, const std::string&)> leave_out =
      [&](const Json& node, const std::string& path) {
        if (!node.is_structured()) return;
        for (const auto& [key, value] : node.items()) {
          const std::string at = path + "/" + key;
          Json without = config;
          Json& parent = without[Json::json_pointer(path)];
          if (parent.is_array()) {
            parent.erase(std::stoul(key));
          } else {
            parent.erase(key);
          }
          result.push_back(std::move(without));
          leave_out(value, at);
        }
      };
  leave_out(config, "");
  for (const auto& [path, value] : flat.items()) {
    const Json::json_pointer at(path);
    if (value.is_number_integer() && value.get<std::int64_t>() > 1) {
      for (const std::int64_t less :
           {std::int64_t{1}, value.get<std::int64_t>() / 2, value.get<std::int64_t>() - 1}) {
        result.push_back(config);
        result.back()[at] = less;
      }
    }
  }
  // The chips follow the degrees.
  for (std::size_t i = 0, count = result.size(); i < count; ++i) {
    std::int64_t chips = value_or<std::int64_t>(result[i]["workload"], "copies", 1);
    bool whole = true;
    for (const Json& d : result[i].value("/system/network"_json_pointer, Json::array())) {
      whole = whole && d.contains("degree");
      chips *= value_or<std::int64_t>(d, "degree", 1);
    }
    if (whole && result[i].contains("system")) {
      result.push_back(result[i]);
      result.back()["system"]["chips"] = chips;
    }
  }
  return result;
}

}  // namespace

Json shrunk(Json config, const Check& check, const std::string& violation) {
  constexpr int kMostTries = 600;
  int tries = 0;
  for (bool again = true; again && tries < kMostTries;) {
    again = false;
    for (Json& less : smaller(config)) {
      if (++tries > kMostTries) break;
      const auto answer = answer_to(less);
      const auto found = answer ? check(less, *answer) : std::nullopt;
      if (!found || found->check != violation) continue;
      config = std::move(less);
      again = true;
      break;
    }
  }
  return config;
}

}  // namespace dfsearch::test
