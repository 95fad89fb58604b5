#include "io/report/report_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units_text.hpp"
#include "io/report/report_words.hpp"
#include "io/text/text_table.hpp"
#include "technology/chip.hpp"

namespace dfsearch {
namespace {

constexpr double kBar = 20.0;  // columns of a whole budget

/// A share that is too small for a mark shows as a dot.
std::string bar(double share) {
  const double marks = std::round(kBar * std::clamp(share, 0.0, 1.0));
  if (marks < 1.0) return share > 0.0 ? "." : "";
  return std::string(static_cast<std::size_t>(marks), '#');
}

std::string cell(double share) {
  return fmt::format("  {:>6} {:<{}}", fmt::format("{:.1f} %", 100.0 * share), bar(share),
                     static_cast<int>(kBar));
}

std::string row(std::string line) {
  while (line.back() == ' ') line.pop_back();
  return line + "\n";
}

std::string amount_text(BudgetClass budget, double amount) {
  if (budget == BudgetClass::Power) return to_small_text(Watts(amount));
  if (budget == BudgetClass::Edge) return to_text(Length(amount));
  return to_text(Area(amount));
}

const char* part_name(const BudgetGain& gain) { return gain.part ? name_of(*gain.part) : "-"; }

std::string change_text(double change) {
  if (change == 0.0) return "no change";
  return fmt::format("{:.3g} % {}", 100.0 * std::abs(change), change < 0.0 ? "faster" : "slower");
}

std::string effect_text(const BudgetGain& gain) {
  switch (gain.known) {
    case WhatIf::Known:
      return change_text(gain.change);
    case WhatIf::NoChip:
      return "no such chip";
    case WhatIf::NoMapping:
      return "no mapping fits";
    case WhatIf::Unknown:
      return "not known: the limits came first";
  }
  return "";
}

template <class Q>
void add_shares(std::string& text, const char* name, const PerComponent<bool>& open,
                const PerComponent<Q>& has, Q total) {
  std::string list;
  for (const Component part : kComponents) {
    if (!open[part]) continue;
    list += fmt::format("{}{} {:.4g}", list.empty() ? " " : ", ", name_of(part), has[part] / total);
  }
  if (!list.empty()) text += (text.empty() ? "" : "; ") + std::string(name) + list;
}

}  // namespace

std::string split_text(const ChipDesign& design, const Chip& chip) {
  const Budget& budget = design.budget;
  const OpenShares open = open_shares(budget, design.technology);
  std::string text;
  add_shares(text, "area", open.area, chip.split.area, budget.die);
  add_shares(text, "power", open.power, chip.split.power, budget.total);
  add_shares(text, "edge", open.edge, chip.split.edge, budget.perimeter());
  return text;
}

Sheet gains_text(const std::vector<BudgetGain>& gains) {
  if (gains.empty()) return "";
  if (std::all_of(gains.begin(), gains.end(),
                  [](const BudgetGain& gain) { return gain.known == WhatIf::Unknown; })) {
    return "\n" + labelled("binds", "not known: the limits came first");
  }
  TextTable table({"budget", "part", "has", "more", "step time", "with that much more alone"});
  const BudgetGain* most = nullptr;
  bool all_known = true;
  for (const BudgetGain& gain : gains) {
    const bool known = gain.known == WhatIf::Known;
    table.add({name_of(gain.budget), part_name(gain), amount_text(gain.budget, gain.has),
               amount_text(gain.budget, gain.more),
               known ? to_text(Seconds(gain.objective.in_base_units())) : "-"},
              {effect_text(gain)});
    all_known = all_known && gain.known != WhatIf::Unknown;
    if (known && gain.change < (most == nullptr ? 0.0 : most->change)) most = &gain;
  }
  std::string binds = all_known ? "no budget alone: none makes the step faster by itself"
                                : "not known: the limits came first";
  if (most != nullptr) {
    binds = fmt::format("{} of {}: {} with {} more", name_of(most->budget),
                        most->part ? name_of(*most->part) : "the chip", change_text(most->change),
                        amount_text(most->budget, most->more));
  }
  return TitledTable{"a step more of what was searched, a tenth more of what was given",
                     std::move(table)} +
         labelled("binds", binds);
}

std::string budget_bars(const ChipDesign& design, const Chip& chip) {
  const Budget& budget = design.budget;
  const Split& split = chip.split;
  const auto heading = [](const char* name) {
    return fmt::format("  {:>6} {:<{}}", name, "", static_cast<int>(kBar));
  };
  std::string text =
      row(fmt::format("{:>9}", "of the") + heading("area") + heading("power") + heading("edge"));
  const auto add = [&](const char* name, double area, double power, std::optional<double> edge) {
    text += row(fmt::format("{:>9}", name) + cell(area) + cell(power) +
                (edge ? cell(*edge) : std::string()));
  };
  for (const Component part : kComponents) {
    if (!is_part_of(design.technology, part)) continue;
    std::optional<double> edge;
    if (has_edge(part)) edge = split.edge[part] / budget.perimeter();
    add(name_of(part), split.area[part] / budget.die, split.power[part] / budget.total, edge);
  }
  add("left", 1.0 - sum_of(split.area) / budget.die, 1.0 - sum_of(split.power) / budget.total,
      1.0 - sum_of(split.edge) / budget.perimeter());
  return text;
}

}  // namespace dfsearch
