// Section by section; what involves several axes is checked at the end.

#include "io/study/study_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "io/study/axis_range.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kMostLabels = 100'000;
constexpr double kMostPoints = 1e12;

std::vector<std::string_view> figure_names() {
  std::vector<std::string_view> names;
  for (const study::Figure figure : study::kFigures) names.push_back(study::name_of(figure));
  return names;
}

/// Of a map like {system.memory.bandwidth: 100 GB/s}.
std::vector<Override> read_changes(const YamlEntry& section, const std::string& owner,
                                   InputMessages& messages) {
  std::vector<Override> changes;
  if (section.value.type != YamlNode::Type::Map) {
    messages.add(section.value.place, section.key,
                 "expected a map of keys and values, got " + section.value.description());
    return changes;
  }
  for (const YamlEntry& entry : section.value.entries) {
    Override change{.text = owner + ": " + entry.key,
                    .path = components_of(entry.key),
                    .value = entry.value,
                    .at = entry.place};
    if (change.path.empty()) {
      messages.add(entry.place, entry.key, "expected a key like system.memory.bandwidth");
      continue;
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

class StudyReader {
 public:
  explicit StudyReader(const std::filesystem::path& file) : file_(file), tree_(load_yaml(file)) {}

  Study read() {
    const Place start{
        .source = std::make_shared<const std::string>(file_.string()), .line = 1, .column = 1};
    MapReader reader(tree_, "", start, messages_);
    const YamlEntry* head = reader.required("study");
    const YamlEntry* base = reader.required("base");
    const YamlEntry* axes = reader.required("axes");
    const YamlEntry* zip = reader.optional("zip");
    const YamlEntry* except = reader.optional("except");
    if (head) read_head(*head);
    if (base) read_bases(*base);
    if (axes) read_axes(*axes);
    if (zip) read_zip(*zip);
    settle_dimensions();
    if (except) read_except(*except);
    reader.finish();
    messages_.throw_if_any();
    check_keys();
    check_count(axes->place);
    messages_.throw_if_any();
    return std::move(study_);
  }

 private:
  void read_head(const YamlEntry& section) {
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

  void add_figure(const YamlEntry& entry) {
    const auto index = read_choice(entry, figure_names(), messages_);
    if (!index) return;
    const study::Figure figure = study::kFigures[*index];
    auto& figures = study_.goal.figures;
    if (std::find(figures.begin(), figures.end(), figure) != figures.end()) {
      messages_.add(entry.value.place, entry.key, in_quotes(entry.value.scalar) + " stands twice");
    }
    figures.push_back(figure);
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
    if (limits.value.type != YamlNode::Type::Map) {
      messages_.add(limits.value.place, "limits",
                    "expected a map of figures and ranges, got " + limits.value.description());
      return;
    }
    const std::vector<std::string_view> names = figure_names();
    for (const YamlEntry& entry : limits.value.entries) {
      const auto found = std::find(names.begin(), names.end(), entry.key);
      if (found == names.end()) {
        messages_.add(
            entry.place, entry.key,
            "unknown figure, expected " + joined_choices(names) + suggestion(entry.key, names));
        continue;
      }
      const study::Figure figure = study::kFigures[static_cast<std::size_t>(found - names.begin())];
      read_limit(figure, entry);
    }
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
    study_.goal.limits.push_back(limit);
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
    const std::filesystem::path config = (file_.parent_path() / *word).lexically_normal();
    try {
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
    if (value.entries.empty()) {
      messages_.add(section.place, "base", "expected {from: FILE}, or such maps by name");
    }
    for (const YamlEntry& entry : value.entries) add_base(entry.key, entry);
    add_base_axis(section);
  }

  /// Several bases are the choices of the first axis.
  void add_base_axis(const YamlEntry& section) {
    if (study_.bases.size() < 2) return;
    StudyAxis axis{.name = "base", .key = {}, .labels = {}, .changes = {}};
    for (const StudyBase& base : study_.bases) {
      axis.labels.push_back(base.name);
      axis.changes.emplace_back();
    }
    study_.axes.push_back(std::move(axis));
    places_.push_back(section.place);
  }

  void read_axes(const YamlEntry& section) {
    if (section.value.type != YamlNode::Type::Sequence || section.value.items.empty()) {
      messages_.add(section.value.place, "axes",
                    "expected a list of axes, got " + section.value.description());
      return;
    }
    for (const YamlNode& item : section.value.items) {
      read_axis({.key = "axes", .place = item.place, .value = item});
    }
  }

  void read_axis(const YamlEntry& entry) {
    MapReader reader(entry, messages_);
    StudyAxis axis;
    if (const YamlEntry* name = reader.required("name")) {
      axis.name = read_word(*name, messages_).value_or("");
      const bool taken =
          std::any_of(study_.axes.begin(), study_.axes.end(),
                      [&](const StudyAxis& other) { return other.name == axis.name; });
      if (taken) {
        messages_.add(name->value.place, "name", "a second axis " + in_quotes(axis.name));
      }
      if (axis.name.find_first_of("=,") != std::string::npos) {
        messages_.add(name->value.place, "name", "expected a name without '=' and ','");
      }
    }
    if (const YamlEntry* choices = reader.optional("choices")) {
      read_choices(*choices, axis);
    } else if (const YamlEntry* key = reader.required("key", ", or 'choices'")) {
      axis.key = read_word(*key, messages_).value_or("");
      const std::vector<std::string> path = components_of(axis.key);
      if (path.empty()) {
        messages_.add(key->value.place, "key", "expected a key like system.memory.bandwidth");
      }
      for (YamlNode& value : axis_values(reader, entry.place)) {
        Override change{.text = axis.name + ": " + value.scalar,
                        .path = path,
                        .value = value,
                        .at = value.place};
        axis.labels.push_back(value.scalar);
        axis.changes.push_back({std::move(change)});
      }
    }
    reader.finish();
    check_labels(axis, entry.place);
    study_.axes.push_back(std::move(axis));
    places_.push_back(entry.place);
  }

  void read_choices(const YamlEntry& choices, StudyAxis& axis) {
    if (choices.value.type != YamlNode::Type::Map || choices.value.entries.empty()) {
      messages_.add(
          choices.value.place, "choices",
          "expected a map of names and what they set, got " + choices.value.description());
      return;
    }
    for (const YamlEntry& choice : choices.value.entries) {
      axis.labels.push_back(choice.key);
      axis.changes.push_back(read_changes(choice, axis.name + "=" + choice.key, messages_));
    }
  }

  void check_labels(const StudyAxis& axis, const Place& place) {
    if (axis.labels.size() > kMostLabels) {
      messages_.add(place, axis.name, fmt::format("expected at most {} choices", kMostLabels));
    }
    std::set<std::string> seen;
    for (const std::string& label : axis.labels) {
      if (!seen.insert(label).second) {
        messages_.add(place, axis.name, in_quotes(label) + " stands twice");
      }
      if (label.find(',') != std::string::npos) {
        messages_.add(place, axis.name, "expected labels without ',', got " + in_quotes(label));
      }
    }
  }

  [[nodiscard]] std::optional<std::size_t> find_axis(const std::string& name) const {
    for (std::size_t a = 0; a < study_.axes.size(); ++a) {
      if (study_.axes[a].name == name) return a;
    }
    return std::nullopt;
  }

  std::optional<std::size_t> read_axis_name(const std::string& name, const Place& place,
                                            std::string_view key) {
    const std::optional<std::size_t> axis = find_axis(name);
    if (axis) return axis;
    std::vector<std::string_view> names;
    for (const StudyAxis& known : study_.axes) names.push_back(known.name);
    messages_.add(place, key, "no axis " + in_quotes(name) + suggestion(name, names));
    return std::nullopt;
  }

  /// [a, b], or several such lists: axes that walk together.
  void read_zip(const YamlEntry& section) {
    const auto& items = section.value.items;
    const bool nested = !items.empty() && items.front().type == YamlNode::Type::Sequence;
    if (section.value.type != YamlNode::Type::Sequence || items.empty()) {
      messages_.add(
          section.value.place, "zip",
          "expected a list of axes, or lists of them, got " + section.value.description());
      return;
    }
    if (!nested) return zip_axes(section.value);
    for (const YamlNode& list : items) zip_axes(list);
  }

  void zip_axes(const YamlNode& list) {
    std::vector<std::size_t> together;
    for (const YamlNode& item : list.items) {
      const auto axis = read_axis_name(item.scalar, item.place, "zip");
      if (!axis) continue;
      const bool taken = std::any_of(zips_.begin(), zips_.end(), [&](const auto& other) {
        return std::find(other.begin(), other.end(), *axis) != other.end();
      });
      if (taken || std::find(together.begin(), together.end(), *axis) != together.end()) {
        messages_.add(item.place, "zip", in_quotes(item.scalar) + " stands twice");
        continue;
      }
      if (!together.empty() &&
          study_.axes[*axis].labels.size() != study_.axes[together[0]].labels.size()) {
        messages_.add(item.place, "zip",
                      fmt::format("axes that walk together have equally many choices, expected {} "
                                  "of {} as of {}, got {}",
                                  study_.axes[together[0]].labels.size(), in_quotes(item.scalar),
                                  in_quotes(study_.axes[together[0]].name),
                                  study_.axes[*axis].labels.size()));
        continue;
      }
      together.push_back(*axis);
    }
    zips_.push_back(std::move(together));
  }

  /// Axes that walk together have the dimension of the first of them.
  void settle_dimensions() {
    std::size_t next = 0;
    std::vector<bool> settled(study_.axes.size(), false);
    for (std::size_t a = 0; a < study_.axes.size(); ++a) {
      if (settled[a]) continue;
      study_.axes[a].dimension = next;
      for (const auto& zip : zips_) {
        if (std::find(zip.begin(), zip.end(), a) == zip.end()) continue;
        for (const std::size_t other : zip) {
          study_.axes[other].dimension = next;
          settled[other] = true;
        }
      }
      ++next;
    }
  }

  void read_except(const YamlEntry& section) {
    if (section.value.type != YamlNode::Type::Sequence) {
      messages_.add(
          section.value.place, "except",
          "expected a list of maps of axes and labels, got " + section.value.description());
      return;
    }
    for (const YamlNode& item : section.value.items) {
      if (item.type != YamlNode::Type::Map || item.entries.empty()) {
        messages_.add(item.place, "except",
                      "expected a map of axes and labels, got " + item.description());
        continue;
      }
      std::vector<study::Exclusion> found{{}};
      for (const YamlEntry& entry : item.entries) found = excluded_by(entry, found);
      study_.excluded.insert(study_.excluded.end(), found.begin(), found.end());
    }
  }

  /// Each of `before` with each label of one axis.
  std::vector<study::Exclusion> excluded_by(const YamlEntry& entry,
                                            const std::vector<study::Exclusion>& before) {
    std::vector<study::Exclusion> found;
    const auto axis = read_axis_name(entry.key, entry.place, "except");
    if (!axis) return before;
    const StudyAxis& of = study_.axes[*axis];
    std::vector<YamlNode> labels = entry.value.items;
    if (entry.value.type == YamlNode::Type::Scalar) labels = {entry.value};
    for (const YamlNode& label : labels) {
      const auto place = std::find(of.labels.begin(), of.labels.end(), label.scalar);
      if (place == of.labels.end()) {
        const std::vector<std::string_view> names(of.labels.begin(), of.labels.end());
        messages_.add(
            label.place, entry.key,
            "the axis has no " + in_quotes(label.scalar) + suggestion(label.scalar, names));
        continue;
      }
      for (study::Exclusion exclusion : before) {
        exclusion.labels.emplace_back(of.dimension,
                                      static_cast<std::int32_t>(place - of.labels.begin()));
        found.push_back(std::move(exclusion));
      }
    }
    return found;
  }

  /// What two axes set must not overlap: it would depend on their order.
  void check_keys() {
    for (std::size_t a = 0; a < study_.axes.size(); ++a) {
      for (std::size_t b = a + 1; b < study_.axes.size(); ++b) {
        // What bounds boxes of points looks at each axis by itself; where all are solved a later
        // axis may set a part of what an earlier one sets, as the bandwidth of a network's links.
        const auto conflict = [&](const Override& later, const Override& earlier) {
          const bool is_part = later.path.size() > earlier.path.size();
          return overlap(later, earlier) && !(study_.solves_all && is_part);
        };
        if (const Override* both = first_overlap(study_.axes[a], study_.axes[b], conflict)) {
          messages_.add(places_[b], study_.axes[b].name,
                        fmt::format("sets {}, as does the axis {}",
                                    in_quotes(fmt::format("{}", fmt::join(both->path, "."))),
                                    in_quotes(study_.axes[a].name)));
        }
      }
    }
  }

  /// Whether one sets what the other sets, or a part of it; a star is any index.
  static bool overlap(const Override& a, const Override& b) {
    const std::size_t n = std::min(a.path.size(), b.path.size());
    return std::equal(
        a.path.begin(), a.path.begin() + static_cast<std::ptrdiff_t>(n), b.path.begin(),
        [](const std::string& x, const std::string& y) { return x == y || x == "*" || y == "*"; });
  }

  template <class Overlap>
  static const Override* first_overlap(const StudyAxis& a, const StudyAxis& b,
                                       const Overlap& overlap) {
    // Choices of a `key` all set the same.
    const std::size_t most = !b.key.empty() ? 1 : b.changes.size();
    for (std::size_t i = 0; i < std::min(most, b.changes.size()); ++i) {
      for (const Override& change : b.changes[i]) {
        const std::size_t of_a = !a.key.empty() ? 1 : a.changes.size();
        for (std::size_t j = 0; j < std::min(of_a, a.changes.size()); ++j) {
          for (const Override& other : a.changes[j]) {
            if (overlap(change, other)) return &change;
          }
        }
      }
    }
    return nullptr;
  }

  void check_count(const Place& place) {
    double points = 1.0;
    std::size_t dimension = 0;
    for (const StudyAxis& axis : study_.axes) {
      if (axis.dimension != dimension) continue;
      points *= static_cast<double>(axis.labels.size());
      ++dimension;
    }
    if (points > kMostPoints) {
      messages_.add(place, "axes", fmt::format("expected at most 1e12 points, got {:.3g}", points));
    }
  }

  std::vector<YamlNode> axis_values(MapReader& reader, const Place& place) {
    return read_axis_values(reader, place, messages_);
  }

  const std::filesystem::path file_;
  const YamlNode tree_;
  InputMessages messages_;
  Study study_;
  std::vector<Place> places_;  // of the axes
  std::vector<std::vector<std::size_t>> zips_;
};

}  // namespace

Study load_study(const std::filesystem::path& file) { return StudyReader(file).read(); }

study::Grid grid_of(const Study& study) {
  std::vector<study::Axis> axes;
  for (const StudyAxis& axis : study.axes) axes.push_back({axis.name, axis.labels, axis.dimension});
  return {std::move(axes), study.excluded};
}

namespace {

/// What is kept of a list.
template <class Item>
std::vector<Item> kept_of(std::vector<Item> items, const std::vector<bool>& keeps) {
  std::vector<Item> kept;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (keeps[i]) kept.push_back(std::move(items[i]));
  }
  return kept;
}

/// Leaves some choices of a dimension, of all its axes; what was excluded stays so.
void keep_places(Study& study, std::size_t dimension, const std::vector<bool>& keeps) {
  for (StudyAxis& axis : study.axes) {
    if (axis.dimension != dimension) continue;
    axis.labels = kept_of(std::move(axis.labels), keeps);
    axis.changes = kept_of(std::move(axis.changes), keeps);
    if (&axis == &study.axes.front() && study.has_base_axis()) {
      study.bases = kept_of(std::move(study.bases), keeps);
    }
  }
  std::vector<std::int32_t> place_of;  // among those that are left
  std::int32_t next = 0;
  for (const bool keep : keeps) place_of.push_back(keep ? next++ : -1);
  std::erase_if(study.excluded, [&](study::Exclusion& exclusion) {
    for (auto& [of, place] : exclusion.labels) {
      if (of == dimension) place = place_of[static_cast<std::size_t>(place)];
    }
    return std::any_of(exclusion.labels.begin(), exclusion.labels.end(),
                       [](const auto& label) { return label.second < 0; });
  });
}

}  // namespace

void restrict_to(Study& study, const std::string& labels) {
  const std::size_t equals = labels.find('=');
  const std::string name = labels.substr(0, equals);
  const auto axis = std::find_if(study.axes.begin(), study.axes.end(),
                                 [&](const StudyAxis& other) { return other.name == name; });
  std::vector<std::string_view> names;
  for (const StudyAxis& known : study.axes) names.push_back(known.name);
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
}

}  // namespace dfsearch
