// Limits on every answer whatever its decisions, and so on the rows of a study, which do not
// contain decisions.

#include <algorithm>
#include <cmath>

#include "physics/limits.hpp"
#include "physics/numbers.hpp"

namespace dfsearch::test {
namespace {

double samples_of(const Json& workload) { return count_of(workload, "global_batch"); }

/// Layers as numbers count them.
double layers_of(const Json& workload) {
  return workload["kind"] == "lstm" ? 1.0 : count_of(workload, "layers");
}

/// Elements of all layers.
double weights_of(const Json& workload) {
  return layers_of(workload) * layer_numbers(workload).weights;
}

double copies_of(const Json& workload) { return count_of(workload, "copies"); }

}  // namespace

double least_step(const Json& config) {
  const Json& workload = config["workload"];
  const Json& system = config["system"];
  const double chips = count_of(system, "chips") / copies_of(workload);
  const LayerNumbers layer = layer_numbers(workload);
  const double work = layers_of(workload) * samples_of(workload);
  double least = work * layer.flops / (chips * peak_of(config));
  const double bandwidth = amount(system["memory"]["bandwidth"]);
  const double word = word_of(workload);
  if (workload["kind"] == "llm_decode") {
    least = std::max(least, work * (layer.read + layer.cache) * word / (chips * bandwidth));
  } else if (!workload.contains("experts")) {
    // Weights that no SRAM holds come from memory once a step, each into some chip.
    const double sram = chips * amount(system["accelerator"]["sram"]);
    least = std::max(least, (weights_of(workload) * word - sram) / (chips * bandwidth));
  }
  return least / copies_of(workload);
}

double least_held(const Json& config) {
  const Json& workload = config["workload"];
  return copies_of(workload) * weights_of(workload) * word_of(workload);
}

namespace {

std::vector<NamedCheck> make_study_limits() {
  const auto add = [](const char* name,
                      std::function<std::optional<Violation>(const StudyRow&)> check) {
    return NamedCheck{
        name,
        [check = std::move(check)](const Json&, const Answer& answer) -> std::optional<Violation> {
          const auto* of = std::get_if<StudyAnswer>(&answer.of);
          if (!of) return std::nullopt;
          for (const StudyRow& row : of->rows) {
            if (!row.result["step_time"].is_number()) continue;
            if (auto v = check(row)) return v;
          }
          return std::nullopt;
        }};
  };
  return {add("study: FLOP and weights over what all chips have",
              [](const StudyRow& row) {
                return at_least("study: FLOP and weights over what all chips have",
                                least_step(row.config), count_of(row.result, "step_time"));
              }),
          add("study: weights over the capacity",
              [](const StudyRow& row) -> std::optional<Violation> {
                const Json& memory = row.config["system"]["memory"];
                if (!memory.contains("capacity")) return std::nullopt;
                double capacity = amount(memory["capacity"]);
                if (memory.contains("second")) capacity += amount(memory["second"]["capacity"]);
                return at_least("study: weights over the capacity", least_held(row.config),
                                count_of(row.config["system"], "chips") * capacity);
              }),
          add("study: utilization is at most 1", [](const StudyRow& row) {
            return at_least("study: utilization is at most 1",
                            count_of(row.result, "utilization", 0.0), 1.0);
          })};
}

}  // namespace

const std::vector<NamedCheck>& study_limits() {
  static const std::vector<NamedCheck> checks = make_study_limits();
  return checks;
}

const std::vector<NamedCheck>& rooflines() {
  static const std::vector<NamedCheck> checks = [] {
    std::vector<NamedCheck> all;
    for (const auto* some :
         {&mapping_limits(), &layout_limits(), &plan_limits(), &execution_limits(),
          &serving_limits(), &budget_limits(), &stages_limits(), &study_limits()}) {
      all.insert(all.end(), some->begin(), some->end());
    }
    return all;
  }();
  return checks;
}

}  // namespace dfsearch::test
