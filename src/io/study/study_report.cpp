#include "io/study/study_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.hpp"
#include "io/report/report_words.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kMostRows = 25;

std::string counts_text(const StudyState& state) {
  const study::StudyCount& count = state.count;
  std::string text = fmt::format("{} solved of {}", count.solved, count.points);
  if (count.pruned > 0) text += fmt::format(", {} need not be", count.pruned);
  if (count.infeasible > 0) text += fmt::format("; {} infeasible", count.infeasible);
  if (count.failed > 0) text += fmt::format("; {} failed", count.failed);
  if (count.unproved > 0) text += fmt::format("; {} not proved", count.unproved);
  return text;
}

std::string front_table(const Study& study, const study::Grid& grid,
                        const std::vector<study::Front::Member>& front) {
  std::vector<std::string> header;
  for (const study::Figure figure : study.goal.figures) {
    std::string name(study::name_of(figure));
    for (char& c : name) c = c == '_' ? ' ' : c;
    header.push_back(std::move(name));
  }
  header.emplace_back("point");
  TextTable table(header);
  for (std::size_t i = 0; i < front.size() && i < kMostRows; ++i) {
    std::vector<std::string> cells, words;
    for (const study::Figure figure : study.goal.figures) {
      cells.push_back(figure_text(figure, front[i].figures[figure]));
    }
    const study::Choices choices = grid.choices(front[i].index);
    for (std::size_t a = 0; a < study.axes.size(); ++a) {
      const char* comma = a + 1 < study.axes.size() ? "," : "";
      words.push_back(fmt::format("{}={}{}", study.axes[a].name, grid.label(a, choices), comma));
    }
    table.add(std::move(cells), std::move(words));
  }
  std::string text = table.text();
  if (front.size() > kMostRows) {
    text += fmt::format("{} more in front.json\n", front.size() - kMostRows);
  }
  return text;
}

}  // namespace

std::string figure_text(study::Figure figure, double value) {
  switch (figure) {
    case study::Figure::StepTime:
    case study::Figure::TimeToFirstToken:
    case study::Figure::TimePerOutputToken:
      return to_text(Seconds(value));
    case study::Figure::Price:
      return to_text(Dollars(value));
    case study::Figure::Power:
      return to_text(Watts(value));
    case study::Figure::Utilization:
      return fmt::format("{:.2f} %", 100.0 * value);
    case study::Figure::CostEfficiency:
      return to_text(FlopsPerSecondPerDollar(value));
    case study::Figure::PowerEfficiency:
      return to_text(FlopsPerSecondPerWatt(value));
    case study::Figure::TokensPerSecond:
    case study::Figure::TokensPerSecondPerChip:
      return fmt::format("{:.6g}/s", value);
    case study::Figure::DollarsPerMtoken:
      return fmt::format("{:.4g} $", value);
    case study::Figure::JoulePerToken:
      return fmt::format("{:.4g} J", value);
  }
  return "";
}

namespace {

/// Axes that no plan depends on.
std::string not_modelled(const Study& study) {
  const auto plans = [](const StudyBase& base) {
    return base.config.tree_with(base.changes).find("training") != nullptr;
  };
  if (std::none_of(study.bases.begin(), study.bases.end(), plans)) return "";
  const std::vector<std::string> sram = {"system", "accelerator", "sram"};
  std::string text;
  for (const StudyAxis& axis : study.axes) {
    const bool varies = std::any_of(axis.changes.begin(), axis.changes.end(), [&](const auto& all) {
      return std::any_of(all.begin(), all.end(),
                         [&](const Override& change) { return change.path == sram; });
    });
    if (!varies) continue;
    text += labelled("not modelled", fmt::format("on-chip memory, which axis {} varies: kernels of "
                                                 "a plan read from memory and write to it",
                                                 axis.name));
  }
  return text;
}

}  // namespace

std::string study_report(const Study& study, const study::Grid& grid, const StudyState& state,
                         const std::vector<study::Front::Member>& front) {
  std::string text = labelled("study", study.name);
  text += labelled("points", counts_text(state)) + not_modelled(study);
  const std::string ratios = state.ratios.empty() ? "" : ratios_text(state.ratios);
  if (study.goal.figures.empty()) return text + ratios;
  const bool single = study.goal.figures.size() == 1;
  if (front.empty()) {
    return text +
           labelled(single ? "best" : "front",
                    "none: no point that was solved is within "
                    "the limits and has the figures") +
           ratios;
  }
  std::string sure = state.is_exact()    ? "exact"
                     : state.is_proved() ? "within the gap asked for"
                                         : "not exact: some points are not proved";
  if (state.is_proved() && state.count.scoped > 0) sure += ", for what its points fix (scope)";
  text += single ? labelled("best", sure)
                 : labelled("front", fmt::format("{} points, {}", front.size(), sure));
  return text + "\n" + front_table(study, grid, front) + ratios;
}

}  // namespace dfsearch
