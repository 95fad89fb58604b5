#include "io/study/study_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {
namespace {

std::vector<std::string_view> figure_names() {
  return names_of(study::kFigures, [](study::Figure figure) { return study::name_of(figure); });
}

class GoalReader {
 public:
  GoalReader(Study& study, InputMessages& messages) : study_(study), messages_(messages) {}

  void read(const YamlEntry& section) {
    MapReader reader(section, messages_);
    if (const YamlEntry* name = reader.required("name")) {
      study_.name = read_word(*name, messages_).value_or("");
    }
    const YamlEntry* objective = reader.optional("objective");
    const YamlEntry* front = reader.optional("front");
    if (objective && front) {
      messages_.add(front->place, "front", "expected an objective or a front, got both");
    }
    if (objective) add_figure(*objective);
    if (front) read_front(*front);
    if (const YamlEntry* limits = reader.optional("limits")) read_limits(*limits);
    const Choices<bool> all = {{"all", true}, {"front", false}};
    const auto solve = reader.optional_choice("solve", all);
    study_.solves_all = solve.value_or(study_.goal.figures.empty());
    if (!study_.solves_all && study_.goal.figures.empty()) {
      messages_.add(section.place, "solve", "front needs an objective or a front");
    }
    reader.finish();
  }

 private:
  void add_figure(const YamlEntry& entry) {
    const auto index = read_choice(entry, figure_names(), messages_);
    if (!index) return;
    const study::Figure figure = study::kFigures[*index];
    auto& figures = study_.goal.figures;
    if (std::find(figures.begin(), figures.end(), figure) != figures.end()) {
      messages_.add(entry.value.place, entry.key, in_quotes(entry.value.scalar) + " stands twice");
    }
    figures.push_back(figure);
    study_.figure_places.emplace_back(figure, entry.value.place);
  }

  void read_front(const YamlEntry& front) {
    constexpr std::size_t kMostFigures = 3;
    const auto& items = front.value.items;
    if (front.value.type != YamlNode::Type::Sequence || items.empty() ||
        items.size() > kMostFigures) {
      messages_.add(front.value.place, "front",
                    fmt::format("expected a list of one to {} of {}, got {}", kMostFigures,
                                joined_choices(figure_names()), front.value.description()));
      return;
    }
    for (const YamlNode& item : items) {
      add_figure({.key = front.key, .place = front.place, .value = item});
    }
  }

  /// Figures with ranges like ..20e6 or 0.5..; in SI base units and dollars.
  void read_limits(const YamlEntry& limits) {
    if (!holds_map(limits, "a map of figures and ranges", messages_)) return;
    for_each_figure(limits.value, "", messages_, [&](study::Figure figure, const YamlEntry& entry) {
      read_limit(figure, entry);
    });
  }

  void read_limit(study::Figure figure, const YamlEntry& entry) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    study::FigureLimit limit{figure, -kInfinity, kInfinity};
    const std::string& text = entry.value.scalar;
    const std::size_t dots = text.find("..");
    const bool is_range =
        entry.value.type == YamlNode::Type::Scalar && dots != std::string::npos && text.size() > 2;
    try {
      if (!is_range) throw InputError("");
      if (dots > 0) limit.least = parse_number(text.substr(0, dots));
      if (dots + 2 < text.size()) limit.most = parse_number(text.substr(dots + 2));
    } catch (const InputError&) {
      messages_.add(entry.value.place, entry.key,
                    fmt::format("expected a range like ..20e6, 0.5.. or 1..2{}{}, got {}",
                                study::unit_of(figure).empty() ? "" : " in ",
                                study::unit_of(figure), entry.value.description()));
      return;
    }
    if (limit.least > limit.most) {
      messages_.add(entry.value.place, entry.key,
                    "expected a range from less to more, got " + entry.value.description());
    }
    study_.goal.limits.push_back(limit);
    study_.figure_places.emplace_back(figure, entry.place);
  }

  Study& study_;
  InputMessages& messages_;
};

std::vector<std::string> read_list(const YamlEntry* entry, InputMessages& messages) {
  std::vector<std::string> words;
  if (!entry) return words;
  const bool is_list = entry->value.type == YamlNode::Type::Sequence;
  for (const YamlNode& item : is_list ? entry->value.items : std::vector{entry->value}) {
    const auto word = read_word({.key = entry->key, .place = item.place, .value = item}, messages);
    if (word) words.push_back(*word);
  }
  return words;
}

/// The axes of a study by their names; other names are reported.
std::vector<std::string> read_axes(const YamlEntry* entry, const Study& study,
                                   InputMessages& messages) {
  const auto names = names_of(study.axes, &StudyAxis::name);
  std::vector<std::string> axes = read_list(entry, messages);
  for (const std::string& axis : axes) {
    if (std::find(names.begin(), names.end(), axis) != names.end()) continue;
    messages.add(entry->value.place, entry->key,
                 "no axis " + in_quotes(axis) + suggestion(axis, names));
  }
  return axes;
}

Json read_chart(const YamlNode& item, const Study& study, InputMessages& messages) {
  MapReader reader(item, "charts", item.place, messages);
  Json chart = {{"name", nullptr}, {"kind", nullptr}};
  if (const YamlEntry* name = reader.required("name")) {
    chart["name"] = read_word(*name, messages).value_or("");
  }
  if (const YamlEntry* kind = reader.required("kind")) {
    const std::vector<std::string_view> kinds = {"lines", "bars", "heat"};
    if (const auto chosen = read_choice(*kind, kinds, messages)) chart["kind"] = kinds[*chosen];
  }
  chart["x"] = read_axes(reader.required("x"), study, messages);
  chart["y"] = read_list(reader.required("y"), messages);
  if (chart["kind"] == "heat" && chart["y"].size() > 1) {
    messages.add(item.place, "y", "expected one figure for a heat map");
  }
  const YamlEntry* series = reader.optional("series");
  chart["series"] = read_axes(series, study, messages);
  if (series && chart["y"].size() > 1) {
    messages.add(series->place, series->key, "not allowed with several figures in 'y'");
  }
  chart["only"] = Json::object();
  if (const YamlEntry* only = reader.optional("only")) {
    read_selection(only->value, only->key, study, messages);
    for (const YamlEntry& labels : only->value.entries) {
      chart["only"][labels.key] = read_list(&labels, messages);
    }
  }
  const YamlEntry* log = reader.optional("log");
  chart["log"] = log && read_flag(*log, messages).value_or(false);
  reader.finish();
  return chart;
}

}  // namespace

void for_each_figure(const YamlNode& map, std::string_view but, InputMessages& messages,
                     const std::function<void(study::Figure, const YamlEntry&)>& call) {
  const std::vector<std::string_view> names = figure_names();
  for (const YamlEntry& entry : map.entries) {
    if (entry.key == but) continue;
    const auto name = std::find(names.begin(), names.end(), entry.key);
    if (name == names.end()) {
      messages.add(
          entry.place, entry.key,
          "unknown figure, expected " + joined_choices(names) + suggestion(entry.key, names));
      continue;
    }
    call(study::kFigures[static_cast<std::size_t>(name - names.begin())], entry);
  }
}

void read_study_charts(const YamlEntry& section, Study& study, InputMessages& messages) {
  if (!holds_list(section, "a list of charts", messages)) return;
  for (const YamlNode& item : section.value.items) {
    study.charts.push_back(read_chart(item, study, messages));
  }
}

void read_study_goal(const YamlEntry& section, Study& study, InputMessages& messages) {
  GoalReader(study, messages).read(section);
}

}  // namespace dfsearch
