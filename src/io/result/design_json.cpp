#include "io/result/design_json.hpp"

#include "engine/names.hpp"
#include "io/result/chip_json.hpp"
#include "technology/names.hpp"

namespace dfsearch {
namespace {

Json number(Score score) { return json_number(score.in_base_units()); }

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
  Json list = Json::array();
  for (const FoundSplit& found : result.best) {
    const bool stopped = found.stopped_by != StopReason::None;
    list.push_back({{"status", name_of(found.status)},
                    {"stopped_by", stopped ? Json(name_of(found.stopped_by)) : Json()},
                    {"objective", found.chip ? number(found.objective) : Json()},
                    {"lower_bound",
                     found.status == SearchStatus::Infeasible ? Json() : number(found.lower_bound)},
                    {"split", found.chip ? split_json(design, *found.chip) : Json()}});
  }
  return list;
}

Json gains_json(const DesignResult& result) {
  Json list = Json::array();
  for (const BudgetGain& gain : result.gains) {
    const bool known = gain.known == WhatIf::Known;
    list.push_back({{"budget", name_of(gain.budget)},
                    {"part", gain.part ? Json(name_of(*gain.part)) : Json()},
                    {"searched", gain.searched},
                    {"has", json_number(gain.has)},
                    {"more", json_number(gain.more)},
                    {"effect", effect_of(gain)},
                    {"step_time", known ? number(gain.objective) : Json()},
                    {"change", known ? json_number(gain.change) : Json()}});
  }
  return list;
}

}  // namespace dfsearch
