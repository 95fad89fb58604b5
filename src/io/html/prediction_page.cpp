#include "io/html/pages.hpp"

#include "base/version.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kWorst = 20;

/// Timed runs as columns: a list over all of them for each.
Json columns_of_runs(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                     const std::vector<std::size_t>& timed) {
  Json columns = Json::object();
  const auto put = [&](const char* name, const auto& value) {
    Json& list = columns[name] = Json::array();
    for (const std::size_t i : timed) list.push_back(value(runs[i], *predictions[i]));
  };
  put("id", [](const auto& run, const auto&) { return run.id; });
  put("source", [](const auto& run, const auto&) { return short_source(run); });
  put("model", [](const auto& run, const auto&) { return run.model; });
  put("gpu", [](const auto& run, const auto&) { return run.gpu; });
  put("gpus", [](const auto& run, const auto&) { return run.gpus; });
  put("stack", [](const auto& run, const auto&) { return run.stack; });
  put("measured", [](const auto& run, const auto&) { return json_number(*run.step); });
  const auto seconds = [](Seconds time) { return json_number(time.in_base_units()); };
  put("predicted", [&](const auto&, const auto& of) { return seconds(of.typical.step); });
  put("low", [&](const auto&, const auto& of) { return seconds(of.low); });
  put("high", [&](const auto&, const auto& of) { return seconds(of.high); });
  put("part", [](const auto&, const auto& of) { return largest_part(of.typical).first; });
  put("share",
      [](const auto&, const auto& of) { return json_number(largest_part(of.typical).second); });
  return columns;
}

Json errors_json(const std::vector<MeasuredRun>& runs, const Predictions& predictions) {
  Json all = Json::object();
  for (const auto& word : words(RunGroup{})) {
    all[word.name] = json_list(errors_by(runs, predictions, word.value), [](const GroupErrors& of) {
      return Json{{"of", of.name},
                  {"runs", of.runs},
                  {"error", of.error},
                  {"median", of.median},
                  {"bias", of.bias},
                  {"worst", of.worst},
                  {"in_the_interval", of.held}};
    });
  }
  return all;
}

Json refused_json(const MemoryErrors::Refused& refused) {
  Json json = {{"runs", refused.runs}};
  for (const memory::Level level : memory::kLevels) json[name_of(level)] = refused.share(level);
  return json;
}

}  // namespace

std::string prediction_page(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                            RunGroup group, const std::string& title, const std::string& command) {
  const std::vector<std::size_t> timed = farthest_off(runs, predictions, runs.size());
  Json orders = json_list(orders_of_plans(runs, predictions), [](const PlanOrder& order) {
    return Json{{"of", order.name},
                {"pairs", order.pairs},
                {"in_order", order.right},
                {"best_is_slower_by", order.regret}};
  });
  const MemoryErrors memory = memory_errors(runs, predictions);
  return html_page(page_assets::predictions(),
                   {{"dfsearch", kVersion},
                    {"title", title},
                    {"command", command},
                    {"total", runs.size()},
                    {"worst", kWorst},
                    {"by", name_of(group)},
                    {"runs", columns_of_runs(runs, predictions, timed)},
                    {"errors", errors_json(runs, predictions)},
                    {"orders", std::move(orders)},
                    {"memory",
                     {{"ran", refused_json(memory.ran)},
                      {"out_of_memory", refused_json(memory.out_of_memory)},
                      {"measured", memory.measured},
                      {"within", memory.within},
                      {"error", memory.error},
                      {"bias", memory.bias}}}});
}

}  // namespace dfsearch
