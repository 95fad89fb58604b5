#pragma once
// The objectives of mappings: all properties of an objective that search, configs and reports use
// are one row of a table.

#include <array>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "base/units_text.hpp"
#include "base/words.hpp"
#include "model/machine/price_power.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

struct ObjectiveRow {
  Objective value;
  const char* name;
  /// A score with its unit: "78.99 s", "1.403 G$ s", "40.39 MJ".
  std::string (*text)(double score);
  /// The factor on the step time.  It depends on the network alone, so bounds hold.  Null: 1.
  double (*weight)(const Problem& problem,
                   const std::vector<Mapping::Dimension>& network) = nullptr;
  /// The section of configs that the weight needs, and the unit of its values.  Null: none.
  const char* section = nullptr;
  const char* unit = nullptr;
};

inline constexpr std::array kObjectiveRows = {
    ObjectiveRow{Objective::StepTime, "step_time", quantity_text<Seconds>},
    ObjectiveRow{Objective::CostEfficiency, "cost_efficiency", quantity_text<DollarSeconds>,
                 [](const Problem& problem, const std::vector<Mapping::Dimension>& network) {
                   return system_price(problem, network).in_base_units();
                 },
                 "price", "DOLLARS"},
    ObjectiveRow{Objective::PowerEfficiency, "power_efficiency", quantity_text<Joules>,
                 [](const Problem& problem, const std::vector<Mapping::Dimension>& network) {
                   return system_power(problem, network).in_base_units();
                 },
                 "power", "WATTS"},
    ObjectiveRow{Objective::Bottleneck, "bottleneck", quantity_text<Seconds>}};

constexpr auto words(Objective) { return words_of(kObjectiveRows); }

constexpr const ObjectiveRow& row_of(Objective objective) {
  return row_with(kObjectiveRows, objective);
}
inline std::string objective_text(Objective objective, Score score) {
  return row_of(objective).text(score.in_base_units());
}

}  // namespace dfsearch
