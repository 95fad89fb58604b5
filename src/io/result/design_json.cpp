#include "io/result/design_json.hpp"

#include "engine/names.hpp"
#include "io/result/answer_json.hpp"
#include "io/result/chip_json.hpp"
#include "technology/chip.hpp"

namespace dfsearch {
namespace {

const char* effect_of(const BudgetGain& gain) {
  switch (gain.known) {
    case WhatIf::Known:
      if (gain.change == 0.0) return "same";
      return gain.change < 0.0 ? "faster" : "slower";
    case WhatIf::NoChip:
      return "no_chip";
    case WhatIf::NoMapping:
      return "no_mapping";
    case WhatIf::Unknown:
      return "unknown";
  }
  return "";
}

}  // namespace

Json best_splits_json(const ChipDesign& design, const DesignResult& result) {
  return json_list(result.best, [&](const FoundSplit& found) -> Json {
    return {{"status", name_of(found.status)},
            {"stopped_by", stop_json(found.stopped_by)},
            {"objective", found.chip ? number(found.objective) : Json()},
            {"lower_bound",
             found.status == SearchStatus::Infeasible ? Json() : number(found.lower_bound)},
            {"split", found.chip ? split_json(design, *found.chip) : Json()}};
  });
}

Json gains_json(const DesignResult& result) {
  return json_list(result.gains, [](const BudgetGain& gain) -> Json {
    const bool known = gain.known == WhatIf::Known;
    return {{"budget", name_of(gain.budget)},
            {"part", name_or_null(gain.part)},
            {"searched", gain.searched},
            {"has", json_number(gain.has)},
            {"more", json_number(gain.more)},
            {"effect", effect_of(gain)},
            {"step_time", known ? number(gain.objective) : Json()},
            {"change", known ? json_number(gain.change) : Json()}};
  });
}

}  // namespace dfsearch
