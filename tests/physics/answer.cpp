#include "physics/answer.hpp"

#include <limits>

#include "base/error.hpp"
#include "engine/solve.hpp"

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

Answer solved(Config config) {
  SearchOptions options;
  options.limits.nodes = kNodes;
  options.node_effort.steps = 1000;
  SearchResult result = solve(config.problem, options);
  Answer answer{.of = MappingAnswer{std::move(config), std::move(result)}};
  take(answer, std::get<MappingAnswer>(answer.of).result);
  return answer;
}

Answer solved(TrainingConfig config) {
  StepSearch search;
  search.limits.nodes = kNodes;
  training::PlanResult result = training::find_plan(config.task, search);
  Answer answer{.of = PlanAnswer{std::move(config), std::move(result)}};
  take(answer, std::get<PlanAnswer>(answer.of).result);
  return answer;
}

}  // namespace

std::optional<Answer> answer_to(const Json& config) {
  try {
    AnyConfig any = parse_any_config(config.dump(), "physics.json");
    if (auto* plan = std::get_if<TrainingConfig>(&any)) return solved(std::move(*plan));
    return solved(std::move(std::get<Config>(any)));
  } catch (const InputError&) {
    return std::nullopt;
  }
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
