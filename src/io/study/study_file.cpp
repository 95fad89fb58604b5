// The parts of a study are read by their readers; rules across axes are checked at the end.

#include "io/study/study_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "io/config/config_tree.hpp"
#include "io/config/shelf.hpp"
#include "io/study/study_sections.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {
namespace {

class StudyReader {
 public:
  StudyReader(const std::filesystem::path& file, YamlNode tree)
      : file_(file), tree_(std::move(tree)) {}

  Study read() {
    const Place start{
        .source = std::make_shared<const std::string>(file_.string()), .line = 1, .column = 1};
    if (tree_.type == YamlNode::Type::Null) {
      throw InputError(file_.string() +
                       ": the file is empty, expected a study with a base and axes");
    }
    if (tree_.find("workload") && !tree_.find("study")) {
      throw InputError(fmt::format(
          "{0}: is a config, which 'dfsearch {0}' solves; expected a study", file_.string()));
    }
    MapReader reader(tree_, "", start, messages_);
    const YamlEntry* goal = reader.required("study");
    const YamlEntry* base = reader.required("base");
    const YamlEntry* axes = reader.required("axes");
    const YamlEntry* zip = reader.optional("zip");
    const YamlEntry* except = reader.optional("except");
    const YamlEntry* ratios = reader.optional("ratios");
    const YamlEntry* charts = reader.optional("charts");
    reader.finish();
    if (goal) read_study_goal(*goal, study_, messages_);
    if (base) read_bases(*base);
    if (axes) read_study_axes(*axes, study_, messages_);
    read_combinations(zip, except, study_, messages_);
    if (ratios) read_study_ratios(*ratios, study_, messages_);
    if (charts) read_study_charts(*charts, study_, messages_);
    messages_.throw_if_any();
    check_keys(study_, messages_);
    check_count(study_, except ? except->place : axes->place, messages_);
    messages_.throw_if_any();
    return std::move(study_);
  }

 private:
  /// A file beside the study, or a config of the shelf by its name or its path there.
  [[nodiscard]] std::filesystem::path config_of(const std::string& word) const {
    std::filesystem::path beside = (file_.parent_path() / word).lexically_normal();
    std::error_code error;
    const bool named = is_shelf_name(word) && !std::filesystem::exists(beside, error);
    if (named) return find_input(word, ShelfKind::Configs);
    const ShelfFile* path = find_path_on_shelf(ShelfKind::Configs, file_.parent_path(), word);
    return path ? std::filesystem::path(path->source()) : beside;
  }

  void add_base(std::string name, const YamlEntry& entry) {
    MapReader reader(entry, messages_);
    if (const YamlEntry* given = name.empty() ? reader.optional("name") : nullptr) {
      name = read_word(*given, messages_).value_or("");
    }
    const YamlEntry* from = reader.required("from");
    std::vector<Override> changes;
    if (const YamlEntry* set = reader.optional("set")) {
      changes = read_changes(*set, "base", messages_);
    }
    reader.finish();
    if (!from) return;
    const std::optional<std::string> word = read_word(*from, messages_);
    if (!word) return;
    try {
      const std::filesystem::path config = config_of(*word);
      study_.bases.push_back({name.empty() ? config.stem().string() : name, config,
                              ConfigTemplate(config), std::move(changes)});
    } catch (const InputError& wrong) {
      for (const std::string& message : wrong.messages()) {
        messages_.add(from->value.place, "from", message);
      }
    }
  }

  void read_bases(const YamlEntry& section) {
    const YamlNode& value = section.value;
    if (value.type == YamlNode::Type::Sequence) {
      for (const YamlNode& item : value.items) {
        add_base("", {.key = section.key, .place = item.place, .value = item});
      }
      return add_base_axis(section);
    }
    if (value.type != YamlNode::Type::Map || value.find("from")) return add_base("", section);
    if (value.find("workload") && value.find("system")) {
      study_.bases.push_back({"base", file_, ConfigTemplate(file_, value), {}});
      return;
    }
    if (value.entries.empty()) {
      messages_.add(section.place, "base", "expected {from: FILE}, such maps by name, or a config");
    }
    for (const YamlEntry& entry : value.entries) add_base(entry.key, entry);
    add_base_axis(section);
  }

  /// Several bases are the choices of the first axis.
  void add_base_axis(const YamlEntry& section) {
    if (study_.bases.size() < 2) return;
    StudyAxis axis{.name = "base", .key = {}, .labels = {}, .changes = {}, .place = section.place};
    for (const StudyBase& base : study_.bases) {
      axis.labels.push_back(base.name);
      axis.changes.emplace_back();
    }
    check_labels(axis, messages_);
    study_.axes.push_back(std::move(axis));
  }

  const std::filesystem::path file_;
  const YamlNode tree_;
  InputMessages messages_;
  Study study_;
};

}  // namespace

Study load_study(const std::filesystem::path& file) {
  return StudyReader(file, load_config_tree(file)).read();
}

Study parse_study(const std::string& text, const std::filesystem::path& name) {
  return StudyReader(name, parse_yaml(text, name.string(), true)).read();
}

study::Grid grid_of(const Study& study) {
  std::vector<study::Axis> axes;
  for (const StudyAxis& axis : study.axes) axes.push_back({axis.name, axis.labels, axis.dimension});
  return {std::move(axes), study.excluded};
}

namespace {

template <class Item>
std::vector<Item> kept_of(std::vector<Item> items, const std::vector<bool>& keeps) {
  std::vector<Item> kept;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (keeps[i]) kept.push_back(std::move(items[i]));
  }
  return kept;
}

/// Restricts a dimension, with all its axes, to some choices; exclusions stay.
void keep_places(Study& study, std::size_t dimension, const std::vector<bool>& keeps) {
  for (StudyAxis& axis : study.axes) {
    if (axis.dimension != dimension) continue;
    axis.labels = kept_of(std::move(axis.labels), keeps);
    axis.changes = kept_of(std::move(axis.changes), keeps);
    if (&axis == &study.axes.front() && study.has_base_axis()) {
      study.bases = kept_of(std::move(study.bases), keeps);
    }
  }
  std::vector<std::int32_t> place_of;  // index among the kept choices
  std::int32_t next = 0;
  for (const bool keep : keeps) place_of.push_back(keep ? next++ : -1);
  const auto keep = [&](study::Selection& selection) {
    for (auto& [of, places] : selection.places) {
      if (of != dimension) continue;
      for (std::int32_t& place : places) place = place_of[static_cast<std::size_t>(place)];
      std::erase(places, -1);
    }
  };
  for (study::Selection& exclusion : study.excluded) keep(exclusion);
  for (StudyRatio& ratio : study.ratios) {
    keep(ratio.of);
    keep(ratio.over);
    for (study::Selection& exclusion : ratio.except) keep(exclusion);
    for (auto& [points, factors] : ratio.times) keep(points);
  }
}

}  // namespace

void restrict_to(Study& study, const std::string& labels) {
  const std::size_t equals = labels.find('=');
  const std::string name = labels.substr(0, equals);
  const auto axis = std::find_if(study.axes.begin(), study.axes.end(),
                                 [&](const StudyAxis& other) { return other.name == name; });
  const auto names = names_of(study.axes, &StudyAxis::name);
  if (equals == std::string::npos || axis == study.axes.end()) {
    throw InputError("--only: expected AXIS=LABEL with an axis of " + joined_choices(names) +
                     ", got " + in_quotes(labels) + suggestion(name, names));
  }
  std::set<std::string> kept;
  for (std::size_t at = equals + 1; at <= labels.size();) {
    const std::size_t comma = std::min(labels.find(',', at), labels.size());
    const std::string label = labels.substr(at, comma - at);
    if (std::find(axis->labels.begin(), axis->labels.end(), label) == axis->labels.end()) {
      const std::vector<std::string_view> known(axis->labels.begin(), axis->labels.end());
      throw InputError("--only: the axis " + in_quotes(name) + " has no " + in_quotes(label) +
                       suggestion(label, known));
    }
    kept.insert(label);
    at = comma + 1;
  }
  std::vector<bool> keeps;
  for (const std::string& label : axis->labels) keeps.push_back(kept.contains(label));
  keep_places(study, axis->dimension, keeps);
  const study::Grid grid = grid_of(study);
  if (grid.included(0, grid.count()) == 0) throw InputError("--only: excludes all points");
}

}  // namespace dfsearch
