#include "io/study/study_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/text/map_reader.hpp"

namespace dfsearch {
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

/// A label of an axis, or a list of them, by their places.
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

  /// [a, b], or several such lists: axes that walk together.
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

  Study& study_;
  InputMessages& messages_;
  std::vector<std::vector<std::size_t>> zips_;
};

using Paths = std::set<std::vector<std::string>>;

/// All that an axis sets in some choice.
Paths paths_of(const StudyAxis& axis) {
  Paths paths;
  for (const auto& changes : axis.changes) {
    for (const Override& change : changes) paths.insert(change.path);
    if (!axis.key.empty()) break;  // all choices set the same
  }
  return paths;
}

/// Whether one path leads to the other, or to a part of it; a star is any index.
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
  if (grid.included(0, grid.count()) == 0) messages.add(place, "except", "leaves no point");
}

}  // namespace dfsearch
