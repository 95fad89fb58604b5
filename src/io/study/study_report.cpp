#include "io/study/study_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "io/report/report_words.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kMostRows = 25;
constexpr std::size_t kMostListed = 10;  // studies of so few points list all
constexpr std::size_t kNextListed = 4;

std::string counts_text(const StudyState& state) {
  const study::StudyCount& count = state.count;
  std::string text = fmt::format("{} solved of {}", count.solved, count.points);
  if (count.pruned > 0) text += fmt::format(", {} need not be solved", count.pruned);
  if (count.infeasible > 0) text += fmt::format("; {} infeasible", count.infeasible);
  if (count.failed > 0) text += fmt::format("; {} failed", count.failed);
  if (count.unproved > 0) text += fmt::format("; {} not proved", count.unproved);
  return text;
}

/// A word for each axis: "sram=64 KiB", "link=slow".
std::vector<std::string> point_words(const study::Grid& grid, study::PointIndex point) {
  std::vector<std::string> words;
  for (const auto& [axis, label] : grid.labels(point)) {
    words.push_back(
        fmt::format("{}={}{}", axis, label, words.size() + 1 < grid.axes().size() ? "," : ""));
  }
  return words;
}

std::map<study::Rates, std::int64_t> counts_of_rates(const study::PointAnswers& answers) {
  std::map<study::Rates, std::int64_t> counts;
  for (const auto& [index, answer] : answers) {
    if (answer.rates != study::Rates::Unknown) ++counts[answer.rates];
  }
  return counts;
}

class PointTable {
 public:
  /// If the answers have several rates, each row shows its own.
  PointTable(const study::Grid& grid, std::vector<study::Figure> figures,
             const study::PointAnswers& answers)
      : grid_(grid),
        figures_(std::move(figures)),
        answers_(answers),
        tells_rates_(counts_of_rates(answers).size() > 1),
        table_(header_of(figures_, tells_rates_)) {}

  /// `remark` is printed after the point.
  void add(study::PointIndex point, const study::Figures& figures, const std::string& remark = "") {
    std::vector<std::string> cells, words = point_words(grid_, point);
    for (const study::Figure figure : figures_) {
      cells.push_back(figures.has(figure) ? figure_text(figure, figures[figure]) : "none");
    }
    if (tells_rates_) {
      const auto answer = answers_.find(point);
      const bool is_known =
          answer != answers_.end() && answer->second.rates != study::Rates::Unknown;
      cells.emplace_back(is_known ? study::name_of(answer->second.rates) : "");
    }
    if (!remark.empty()) words.push_back("(" + remark + ")");
    table_.add(std::move(cells), std::move(words));
  }
  [[nodiscard]] std::string text() const { return table_.text(); }

 private:
  static std::vector<std::string> header_of(const std::vector<study::Figure>& figures,
                                            bool tells_rates) {
    std::vector<std::string> header;
    for (const study::Figure figure : figures) {
      std::string name(study::name_of(figure));
      std::replace(name.begin(), name.end(), '_', ' ');
      header.push_back(std::move(name));
    }
    if (tells_rates) header.emplace_back("rates");
    header.emplace_back("point");
    return header;
  }

  const study::Grid& grid_;
  const std::vector<study::Figure> figures_;
  const study::PointAnswers& answers_;
  const bool tells_rates_;
  TextTable table_;
};

std::string front_table(const Study& study, const study::Grid& grid,
                        const std::vector<study::Front::Member>& front,
                        const study::PointAnswers& answers) {
  PointTable table(grid, study.goal.figures, answers);
  for (std::size_t i = 0; i < front.size() && i < kMostRows; ++i) {
    table.add(front[i].index, front[i].figures);
  }
  std::string text = table.text();
  if (front.size() > kMostRows) {
    text += fmt::format("{} more in front.json\n", front.size() - kMostRows);
  }
  return text;
}

/// A remark on a point that is not among the best: why it has no answer, that it is not proved, or
/// that it is outside the limits.
std::string remark_on(const Study& study, const study::PointAnswer& answer) {
  if (answer.status == study::PointStatus::Infeasible ||
      answer.status == study::PointStatus::Failed) {
    // Changes that would help are left to the report of the single point.
    const std::string reason = answer.reason.substr(0, answer.reason.find(". "));
    return study::name_of(answer.status) + (reason.empty() ? "" : ": " + reason);
  }
  if (study::is_stopped(answer.status)) return "not proved";
  return study.goal.allows(answer.figures) ? "" : "outside the limits";
}

/// The points that a report lists beside the front: all if the study has few points, else the next
/// best if the goal has one figure.
std::vector<const study::PointAnswer*> other_points(const Study& study,
                                                    const study::PointAnswers& answers,
                                                    const std::vector<study::Front::Member>& front,
                                                    bool lists_all) {
  std::vector<const study::PointAnswer*> others;
  for (const auto& [index, answer] : answers) {
    const bool is_listed =
        std::any_of(front.begin(), front.end(),
                    [index = index](const auto& member) { return member.index == index; });
    if (!is_listed && (lists_all || study.goal.allows(answer.figures))) others.push_back(&answer);
  }
  const auto order = [&](const study::PointAnswer* a, const study::PointAnswer* b) {
    if (!study.goal.figures.empty()) {
      const study::Figure first = study.goal.figures.front();
      const bool in_a = study.goal.allows(a->figures), in_b = study.goal.allows(b->figures);
      if (in_a != in_b) return in_a;
      const double bad_a = a->figures.badness(first), bad_b = b->figures.badness(first);
      if (bad_a != bad_b) return bad_a < bad_b;
    }
    return a->index < b->index;
  };
  const std::size_t most = lists_all ? kMostListed : kNextListed;
  const auto end = others.begin() + static_cast<std::ptrdiff_t>(std::min(most, others.size()));
  std::partial_sort(others.begin(), end, others.end(), order);
  others.erase(end, others.end());
  return others;
}

std::string points_table(const Study& study, const study::Grid& grid, const StudyState& state,
                         const std::vector<study::Front::Member>& front,
                         const study::PointAnswers& answers) {
  std::vector<study::Figure> figures = study.goal.figures;
  const bool lists_all = answers.size() <= kMostListed;
  if (figures.empty()) {
    if (!lists_all) return "";
    // A study without a goal shows the first figure that any answer has.
    const auto known =
        std::find_if(study::kFigures.begin(), study::kFigures.end(), [&](study::Figure figure) {
          return std::any_of(answers.begin(), answers.end(),
                             [&](const auto& answer) { return answer.second.figures.has(figure); });
        });
    if (known == study::kFigures.end()) return "";
    figures = {*known};
  }
  const bool single = figures.size() == 1;
  if (!single && !lists_all)
    return front.empty() ? "" : "\n" + front_table(study, grid, front, answers);
  const auto others = other_points(study, answers, front, lists_all);
  std::string text;
  PointTable table(grid, figures, answers);
  if (single) {
    for (const auto& member : front) table.add(member.index, member.figures);
  } else if (!front.empty()) {
    text = "\n" + front_table(study, grid, front, answers);
  }
  for (const study::PointAnswer* other : others) {
    table.add(other->index, other->figures, remark_on(study, *other));
  }
  if (others.empty() && (!single || front.empty())) return text;
  if (!single && !front.empty())
    text += "\nnot on the front\n";
  else
    text += "\n";
  text += table.text();
  if (single && state.count.pruned > 0) {
    text += "the next best may be among the points that need not be solved: --all solves them\n";
  }
  return text;
}

/// The labels, by rates, of the axis that alone determines the rates of points; empty if none does.
using LabelsOfRates = std::map<study::Rates, std::string>;
LabelsOfRates labels_of_rates(const StudyAxis& axis, std::size_t at, const study::Grid& grid,
                              const study::PointAnswers& answers) {
  std::map<std::string, study::Rates> rates;
  for (const auto& [index, answer] : answers) {
    if (answer.rates == study::Rates::Unknown) continue;
    const auto known = rates.emplace(grid.label(at, grid.choices(index)), answer.rates).first;
    if (known->second != answer.rates) return {};
  }
  LabelsOfRates labels;
  for (const std::string& label : axis.labels) {
    const auto found = rates.find(label);
    if (found == rates.end()) continue;
    std::string& list = labels[found->second];
    list += (list.empty() ? axis.name + " " : ", ") + label;
  }
  return labels;
}

/// The warning that points of different rates must not be compared.
Sheet rates_line(const Study& study, const study::Grid& grid, const study::PointAnswers& answers) {
  const std::map<study::Rates, std::int64_t> counts = counts_of_rates(answers);
  if (counts.size() < 2) return "";
  LabelsOfRates labels;
  for (std::size_t a = 0; a < study.axes.size() && labels.empty(); ++a) {
    labels = labels_of_rates(study.axes[a], a, grid, answers);
  }
  std::string text;
  for (const auto& [rates, count] : counts) {
    const char* words = rates == study::Rates::Ideal      ? "ideal (the peaks of the chip)"
                        : rates == study::Rates::Measured ? "measured"
                                                          : "by a given efficiency";
    text += fmt::format("{}{} in {}{}", text.empty() ? "" : "; ", words, plural(count, "point"),
                        labels.empty() ? "" : ", " + labels[rates]);
  }
  text += ". Figures of one kind do not compare with those of another";
  return labelled("rates", text);
}

/// The line on the size of the search space, summed over all points that were solved.
Sheet space_line(const study::PointAnswers& answers) {
  double greatest = 0.0;
  for (const auto& [index, answer] : answers) {
    greatest = std::max(greatest, answer.space.value_or(0.0));
  }
  if (greatest == 0.0) return "";
  double share = 0.0;  // sum of all spaces / greatest
  std::size_t count = 0;
  for (const auto& [index, answer] : answers) {
    if (!answer.space) continue;
    share += std::pow(10.0, *answer.space - greatest);
    ++count;
  }
  return labelled(
      "space", fmt::format("10^{:.2f} answers that {} to choose from", greatest + std::log10(share),
                           count == 1 ? "one point has" : fmt::format("{} points have", count)));
}

/// Axes that no plan depends on.
Sheet not_modelled(const Study& study) {
  const auto plans = [](const StudyBase& base) {
    return base.config.tree_with(base.changes).find("training") != nullptr;
  };
  if (std::none_of(study.bases.begin(), study.bases.end(), plans)) return "";
  const std::vector<std::string> sram = {"system", "accelerator", "sram"};
  Sheet text;
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
                         const std::vector<study::Front::Member>& front,
                         const study::PointAnswers& answers) {
  Sheet text = labelled("study", study.name);
  text += labelled("points", counts_text(state)) + space_line(answers) +
          rates_line(study, grid, answers) + not_modelled(study);
  const std::string table = points_table(study, grid, state, front, answers) +
                            (state.ratios.empty() ? "" : ratios_text(state.ratios));
  if (study.goal.figures.empty()) return text_of(text + table);
  const bool single = study.goal.figures.size() == 1;
  if (front.empty()) {
    return text_of(text +
                   labelled(single ? "best" : "front",
                            "none: no point that was solved is within the limits and has the "
                            "figures") +
                   table);
  }
  std::string sure = state.is_exact()    ? "exact"
                     : state.is_proved() ? "within the gap that was allowed"
                                         : "not exact: some points are not proved";
  if (state.is_proved() && state.count.scoped > 0) {
    sure += fmt::format(
        " for what was searched; in {} of the points something was fixed before the search: see "
        "'scope' in results.ndjson",
        state.count.scoped == state.count.points ? "all" : fmt::format("{}", state.count.scoped));
  }
  text += single ? labelled("best", sure)
                 : labelled("front", fmt::format("{} points, {}", front.size(), sure));
  return text_of(text + table);
}

}  // namespace dfsearch
