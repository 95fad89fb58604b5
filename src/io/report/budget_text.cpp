#include "io/report/budget_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "technology/names.hpp"

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

}  // namespace

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
