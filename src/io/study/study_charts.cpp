#include "io/study/study_charts.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "io/study/study_combinations.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {
namespace {

/// A word, or a list of words.
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

/// The axes of a study by their names; what is none is reported.
std::vector<std::string> read_axes(const YamlEntry* entry, const Study& study,
                                   InputMessages& messages) {
  std::vector<std::string_view> names;
  for (const StudyAxis& axis : study.axes) names.push_back(axis.name);
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
    messages.add(item.place, "y", "a heat map is of one figure");
  }
  const YamlEntry* series = reader.optional("series");
  chart["series"] = read_axes(series, study, messages);
  if (series && chart["y"].size() > 1) {
    messages.add(series->place, series->key, "of several figures in 'y' each is a series");
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

void read_study_charts(const YamlEntry& section, Study& study, InputMessages& messages) {
  if (!holds_list(section, "a list of charts", messages)) return;
  for (const YamlNode& item : section.value.items) {
    study.charts.push_back(read_chart(item, study, messages));
  }
}

}  // namespace dfsearch
