#include "io/study/study_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "io/text/map_reader.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kMostLabels = 100'000;
constexpr std::int64_t kMostSteps = 100'000;

/// A number and the unit behind it.
struct Amount {
  double number = 0.0;
  std::string unit;
};

std::optional<Amount> read_amount(const YamlEntry& entry, InputMessages& messages) {
  const std::string& text = entry.value.scalar;
  if (entry.value.type == YamlNode::Type::Scalar) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    std::string unit(end);
    unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size()
                                                                   : unit.find_first_not_of(' '));
    if (end != text.c_str() && std::isfinite(number)) return Amount{number, std::move(unit)};
  }
  messages.add(entry.value.place, entry.key,
               "expected a number with its unit, got " + entry.value.description());
  return std::nullopt;
}

std::string text_of(double number, const std::string& unit) {
  // The value is rounded to the six digits of its label.
  std::string text = fmt::format("{:.6g}", number);
  if (!unit.empty()) text += " " + unit;
  return text;
}

std::vector<YamlNode> read_range(MapReader& reader, const Place& place, InputMessages& messages) {
  const YamlEntry* from = reader.required("from", ", or 'values'");
  const YamlEntry* to = reader.required("to");
  const auto steps = reader.required_count("steps", {.least = 2, .most = kMostSteps});
  const Choices<bool> scales = {{"linear", false}, {"log", true}};
  const bool log = reader.optional_choice("scale", scales).value_or(false);
  if (!from || !to || !steps) return {};
  const auto first = read_amount(*from, messages);
  const auto last = read_amount(*to, messages);
  if (!first || !last) return {};
  if (first->unit != last->unit) {
    messages.add(to->value.place, "to",
                 fmt::format("expected the unit of 'from', {}, got {}", in_quotes(first->unit),
                             in_quotes(last->unit)));
    return {};
  }
  if (log && !(first->number > 0.0 && last->number > 0.0)) {
    messages.add(from->value.place, "from", "a logarithmic scale needs numbers above 0");
    return {};
  }
  if (!std::isfinite(log ? last->number / first->number : last->number - first->number)) {
    messages.add(to->value.place, "to", "the range is too wide to be cut into steps");
    return {};
  }
  std::vector<YamlNode> values;
  for (std::int64_t i = 0; i < *steps; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(*steps - 1);
    const double number = log ? first->number * std::pow(last->number / first->number, share)
                              : first->number + (last->number - first->number) * share;
    YamlNode value;
    value.type = YamlNode::Type::Scalar;
    value.place = place;
    value.scalar = text_of(number, first->unit);
    values.push_back(std::move(value));
  }
  return values;
}

/// Values of `values: [...]`, or of `from`, `to`, `steps` and `scale`, as scalars of a config.
std::vector<YamlNode> read_axis_values(MapReader& reader, const Place& place,
                                       InputMessages& messages) {
  const YamlEntry* list = reader.optional("values");
  if (!list) return read_range(reader, place, messages);
  std::vector<YamlNode> values;
  if (!holds_some_list(*list, "a list of values", messages)) return values;
  for (const YamlNode& item : list->value.items) {
    if (item.type == YamlNode::Type::Scalar) {
      values.push_back(item);
    } else {
      messages.add(item.place, "values",
                   "expected a plain value, got " + item.description() + "; 'choices' set more");
    }
  }
  return values;
}

class AxesReader {
 public:
  AxesReader(Study& study, InputMessages& messages) : study_(study), messages_(messages) {}

  void read(const YamlEntry& section) {
    if (!holds_some_list(section, "a list of axes", messages_)) return;
    for (const YamlNode& item : section.value.items) {
      read_axis({.key = "axes", .place = item.place, .value = item});
    }
  }

 private:
  void read_axis(const YamlEntry& entry) {
    MapReader reader(entry, messages_);
    StudyAxis axis;
    if (const YamlEntry* name = reader.required("name")) {
      axis.name = read_word(*name, messages_).value_or("");
      const bool taken =
          std::any_of(study_.axes.begin(), study_.axes.end(),
                      [&](const StudyAxis& other) { return other.name == axis.name; });
      if (taken) {
        messages_.add(name->value.place, "name", "another axis is named " + in_quotes(axis.name));
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
      for (const YamlNode& value : read_axis_values(reader, entry.place, messages_)) {
        Override change{.text = axis.name + ": " + value.scalar,
                        .path = path,
                        .value = value,
                        .at = value.place};
        axis.labels.push_back(value.scalar);
        axis.changes.push_back({std::move(change)});
      }
    }
    reader.finish();
    axis.place = entry.place;
    check_labels(axis, messages_);
    study_.axes.push_back(std::move(axis));
  }

  void read_choices(const YamlEntry& choices, StudyAxis& axis) {
    if (!holds_some_map(choices, "a map of names and what they set", messages_)) return;
    for (const YamlEntry& choice : choices.value.entries) {
      axis.labels.push_back(choice.key);
      axis.changes.push_back(read_changes(choice, axis.name + "=" + choice.key, messages_));
    }
  }

  Study& study_;
  InputMessages& messages_;
};

}  // namespace

/// Changes of a map like {system.memory.bandwidth: 100 GB/s}.
std::vector<Override> read_changes(const YamlEntry& section, const std::string& owner,
                                   InputMessages& messages) {
  std::vector<Override> changes;
  if (!holds_map(section, "a map of keys and values", messages)) return changes;
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

void check_labels(const StudyAxis& axis, InputMessages& messages) {
  if (axis.labels.size() > kMostLabels) {
    messages.add(axis.place, axis.name, fmt::format("expected at most {} choices", kMostLabels));
  }
  std::set<std::string_view> seen;
  for (const std::string& label : axis.labels) {
    const bool is_new = seen.insert(label).second;
    const bool breaks_lines = std::any_of(label.begin(), label.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    if (!is_new) messages.add(axis.place, axis.name, in_quotes(label) + " stands twice");
    if (label.find(',') != std::string::npos) {
      messages.add(axis.place, axis.name, "expected labels without ',', got " + in_quotes(label));
    }
    if (breaks_lines) {
      messages.add(axis.place, axis.name,
                   "expected labels without control characters, got " + in_quotes(label));
    }
    // One message is enough: if steps are too fine, many labels repeat.
    if (!is_new) return;
  }
}

void read_study_axes(const YamlEntry& section, Study& study, InputMessages& messages) {
  AxesReader(study, messages).read(section);
}

namespace {

constexpr double kMostCombinations = 1e12;

std::optional<std::size_t> axis_named(const std::string& name, const Place& place,
                                      std::string_view key, const Study& study,
                                      InputMessages& messages) {
  std::vector<std::string_view> names;
  for (const StudyAxis& known : study.axes) {
    if (known.name == name) return names.size();
    names.push_back(known.name);
  }
  messages.add(place, key, "no axis " + in_quotes(name) + suggestion(name, names));
  return std::nullopt;
}

/// Places of a label of an axis, or of a list of labels.
std::vector<std::int32_t> read_labels(const YamlEntry& entry, const StudyAxis& of,
                                      InputMessages& messages) {
  std::vector<YamlNode> labels = entry.value.items;
  if (entry.value.type == YamlNode::Type::Scalar) labels = {entry.value};
  if (labels.empty()) {
    messages.add(entry.value.place, entry.key,
                 "expected a label or a list of labels, got " + entry.value.description());
  }
  std::set<std::int32_t> places;
  for (const YamlNode& label : labels) {
    const auto place = std::find(of.labels.begin(), of.labels.end(), label.scalar);
    if (label.type == YamlNode::Type::Scalar && place != of.labels.end()) {
      places.insert(static_cast<std::int32_t>(place - of.labels.begin()));
      continue;
    }
    const std::vector<std::string_view> names(of.labels.begin(), of.labels.end());
    messages.add(label.place, entry.key,
                 "the axis has no " + label.description() + suggestion(label.scalar, names));
  }
  return {places.begin(), places.end()};
}

class CombinationsReader {
 public:
  CombinationsReader(Study& study, InputMessages& messages) : study_(study), messages_(messages) {}

  /// [a, b], or several such lists: axes that are advanced together.
  void read_zip(const YamlEntry& section) {
    const auto& items = section.value.items;
    const bool nested = !items.empty() && items.front().type == YamlNode::Type::Sequence;
    if (!holds_some_list(section, "a list of axes, or lists of them", messages_)) return;
    if (!nested) return zip_axes(section.value);
    for (const YamlNode& list : items) {
      if (list.type != YamlNode::Type::Sequence || list.items.empty()) {
        messages_.add(list.place, "zip", "expected a list of axes, got " + list.description());
      }
      zip_axes(list);
    }
  }

  /// Zipped axes have the dimension of the first of them.
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
    if (!holds_list(section, "a list of maps of axes and labels", messages_)) return;
    for (const YamlNode& item : section.value.items) {
      study_.excluded.push_back(read_selection(item, "except", study_, messages_));
    }
  }

 private:
  void zip_axes(const YamlNode& list) {
    std::vector<std::size_t> together;
    for (const YamlNode& item : list.items) {
      const auto axis = axis_named(item.scalar, item.place, "zip", study_, messages_);
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
        messages_.add(
            item.place, "zip",
            fmt::format("expected axes with equal numbers of choices: {} has {}, got {} of {}",
                        in_quotes(study_.axes[together[0]].name),
                        study_.axes[together[0]].labels.size(), study_.axes[*axis].labels.size(),
                        in_quotes(item.scalar)));
        continue;
      }
      together.push_back(*axis);
    }
    zips_.push_back(std::move(together));
  }

  Study& study_;
  InputMessages& messages_;
  std::vector<std::vector<std::size_t>> zips_;
};

using Paths = std::set<std::vector<std::string>>;

/// The paths that some choice of an axis sets.
Paths paths_of(const StudyAxis& axis) {
  Paths paths;
  for (const auto& changes : axis.changes) {
    for (const Override& change : changes) paths.insert(change.path);
    if (!axis.key.empty()) break;  // all choices set the same
  }
  return paths;
}

/// Whether one path is a prefix of the other; a star matches any index.
bool overlap(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const std::size_t n = std::min(a.size(), b.size());
  return std::equal(
      a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin(),
      [](const std::string& x, const std::string& y) { return x == y || x == "*" || y == "*"; });
}

}  // namespace

study::Selection read_selection(const YamlNode& map, std::string_view key, const Study& study,
                                InputMessages& messages) {
  study::Selection selection;
  if (map.type != YamlNode::Type::Map || map.entries.empty()) {
    messages.add(map.place, key, "expected a map of axes and labels, got " + map.description());
    return selection;
  }
  for (const YamlEntry& entry : map.entries) {
    const auto axis = axis_named(entry.key, entry.place, key, study, messages);
    if (!axis) continue;
    const StudyAxis& of = study.axes[*axis];
    selection.places.emplace_back(of.dimension, read_labels(entry, of, messages));
  }
  return selection;
}

void read_combinations(const YamlEntry* zip, const YamlEntry* except, Study& study,
                       InputMessages& messages) {
  CombinationsReader reader(study, messages);
  if (zip) reader.read_zip(*zip);
  reader.settle_dimensions();
  if (except) reader.read_except(*except);
}

void check_keys(const Study& study, InputMessages& messages) {
  std::vector<Paths> paths;
  for (const StudyAxis& axis : study.axes) paths.push_back(paths_of(axis));
  for (std::size_t a = 0; a < study.axes.size(); ++a) {
    for (std::size_t b = a + 1; b < study.axes.size(); ++b) {
      // Bounds of boxes of points treat each axis by itself.  If all points are solved, a later
      // axis may set a part of the value of an earlier one, such as the bandwidth of a network's
      // links.
      const auto conflicts = [&](const std::vector<std::string>& later) {
        return std::any_of(paths[a].begin(), paths[a].end(), [&](const auto& earlier) {
          const bool is_part = later.size() > earlier.size();
          return overlap(later, earlier) && !(study.solves_all && is_part);
        });
      };
      const auto both = std::find_if(paths[b].begin(), paths[b].end(), conflicts);
      if (both == paths[b].end()) continue;
      messages.add(study.axes[b].place, study.axes[b].name,
                   fmt::format("sets {}, as does the axis {}",
                               in_quotes(fmt::format("{}", fmt::join(*both, "."))),
                               in_quotes(study.axes[a].name)));
    }
  }
}

void check_count(const Study& study, const Place& place, InputMessages& messages) {
  double points = 1.0;
  std::size_t dimension = 0;
  for (const StudyAxis& axis : study.axes) {
    if (axis.dimension != dimension) continue;
    points *= static_cast<double>(axis.labels.size());
    ++dimension;
  }
  if (points > kMostCombinations) {
    messages.add(place, "axes", fmt::format("expected at most 1e12 points, got {:.3g}", points));
    return;
  }
  const study::Grid grid = grid_of(study);
  if (grid.included(0, grid.count()) == 0) messages.add(place, "except", "excludes all points");
}

}  // namespace dfsearch
