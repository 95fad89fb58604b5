#include "io/study/study_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "io/report/report_words.hpp"
#include "io/study/study_sections.hpp"
#include "io/text/map_reader.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
namespace {

using study::Figure;

class RatiosReader {
 public:
  RatiosReader(Study& study, InputMessages& messages) : study_(study), messages_(messages) {}

  void read(const YamlEntry& section) {
    if (!holds_list(section, "a list of ratios", messages_)) return;
    if (!study_.solves_all) {
      messages_.add(section.place, section.key,
                    "need all points of their groups, expected 'solve: all' in 'study'");
    }
    for (const YamlNode& item : section.value.items) read_one(item);
  }

 private:
  void read_one(const YamlNode& item) {
    MapReader reader(item, "ratios", item.place, messages_);
    StudyRatio ratio;
    if (const YamlEntry* name = reader.required("name")) {
      ratio.name = read_word(*name, messages_).value_or("");
    }
    if (const YamlEntry* of = reader.required("of")) ratio.of = selection(of->value, "of");
    if (const YamlEntry* over = reader.required("over")) {
      ratio.over = selection(over->value, "over");
    }
    for (const YamlNode& out : list(reader.optional("except"))) {
      ratio.except.push_back(selection(out, "except"));
    }
    for (const YamlNode& times : list(reader.optional("times"))) read_times(times, ratio);
    if (const YamlEntry* printed = reader.optional("printed")) {
      for_each_figure(printed->value, {}, messages_, [&](Figure figure, const YamlEntry& entry) {
        if (read_number(entry, {0.0, 1e300}, messages_)) {
          ratio.printed.emplace(figure, entry.value.scalar);
        }
      });
    }
    reader.finish();
    study_.ratios.push_back(std::move(ratio));
  }

  study::Selection selection(const YamlNode& map, std::string_view key) {
    return read_selection(map, key, study_, messages_);
  }

  static std::vector<YamlNode> list(const YamlEntry* entry) {
    if (!entry) return {};
    if (entry->value.type == YamlNode::Type::Sequence) return entry->value.items;
    return {entry->value};
  }

  /// Reads {of: POINTS, FIGURE: FACTOR}.
  void read_times(const YamlNode& map, StudyRatio& ratio) {
    const YamlEntry* of = map.find("of");
    if (!of) {
      messages_.add(map.place, "times", "expected {of: {AXIS: LABEL}, FIGURE: FACTOR}");
      return;
    }
    auto& factors =
        ratio.times.emplace_back(selection(of->value, "of"), std::map<Figure, double>()).second;
    for_each_figure(map, "of", messages_, [&](Figure figure, const YamlEntry& entry) {
      const auto factor = read_number(entry, {1e-300, 1e300}, messages_);
      factors.emplace(figure, factor.value_or(1.0));
    });
  }

  Study& study_;
  InputMessages& messages_;
};

/// The mean logarithm of each figure over a group of points.
class Group {
 public:
  void add(const StudyRatio& ratio, const study::Choices& choices, const study::Figures* figures) {
    ++count_;
    for (const Figure figure : study::kFigures) {
      double value = figures ? (*figures)[figure] : std::nan("");
      for (const auto& [points, factors] : ratio.times) {
        const auto factor = factors.find(figure);
        if (factor != factors.end() && points.has(choices)) value *= factor->second;
      }
      logs_[static_cast<std::size_t>(figure)] += std::log(value);
    }
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// NaN if some point lacks the figure.
  [[nodiscard]] double mean(Figure figure) const {
    return logs_[static_cast<std::size_t>(figure)] / static_cast<double>(count_);
  }

 private:
  std::int64_t count_ = 0;
  std::array<double, study::kFigures.size()> logs_{};
};

}  // namespace

void read_study_ratios(const YamlEntry& section, Study& study, InputMessages& messages) {
  RatiosReader(study, messages).read(section);
}

std::optional<bool> RatioResult::agrees(Figure figure) const {
  const auto digits = printed.find(figure);
  if (digits == printed.end()) return std::nullopt;
  const auto value = values.find(figure);
  const std::size_t point = digits->second.find('.');
  const std::size_t decimals = point == std::string::npos ? 0 : digits->second.size() - point - 1;
  return value != values.end() &&
         fmt::format("{:.{}f}", value->second, decimals) ==
             fmt::format("{:.{}f}", parse_number(digits->second), decimals);
}

std::vector<RatioResult> ratios_of(const Study& study, const study::Grid& grid,
                                   const study::PointAnswers& answers) {
  std::vector<RatioResult> results;
  for (const StudyRatio& ratio : study.ratios) {
    Group of, over;
    for (study::PointIndex i = 0; i < grid.count(); ++i) {
      const study::Choices choices = grid.choices(i);
      const auto is_in = [&](const study::Selection& points) { return points.has(choices); };
      if (grid.is_excluded(choices) ||
          std::any_of(ratio.except.begin(), ratio.except.end(), is_in)) {
        continue;
      }
      const auto answer = answers.find(i);
      const study::Figures* figures = answer == answers.end() ? nullptr : &answer->second.figures;
      if (is_in(ratio.of)) of.add(ratio, choices, figures);
      if (is_in(ratio.over)) over.add(ratio, choices, figures);
    }
    RatioResult result{.name = ratio.name,
                       .of = of.count(),
                       .over = over.count(),
                       .values = {},
                       .printed = ratio.printed};
    for (const Figure figure : study::kFigures) {
      const double value = std::exp(of.mean(figure) - over.mean(figure));
      if (std::isfinite(value)) result.values.emplace(figure, value);
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::string ratios_text(const std::vector<RatioResult>& ratios) {
  TextTable table({"utilization", "per $", "per W", "ratio, and its published value"});
  for (const RatioResult& ratio : ratios) {
    std::vector<std::string> cells, words = {ratio.name};
    for (const Figure figure :
         {Figure::Utilization, Figure::CostEfficiency, Figure::PowerEfficiency}) {
      const auto value = ratio.values.find(figure);
      cells.push_back(value == ratio.values.end() ? "" : fmt::format("{:.5g}", value->second));
    }
    for (const auto& [figure, digits] : ratio.printed) {
      words.push_back(fmt::format("{}{}{}", words.size() == 1 ? ": " : ", ", digits,
                                  *ratio.agrees(figure) ? "" : " (differs)"));
    }
    std::string all;
    for (const std::string& word : words) all += word;
    table.add(std::move(cells), {all});
  }
  return "\n" + table.text();
}

}  // namespace dfsearch
