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
  // A label shows six digits, and the value is the label.
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

/// Values of `values: [...]`, or of `from`, `to`, `steps` and `scale`: scalars as they would stand
/// in a config.
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

/// Of a map like {system.memory.bandwidth: 100 GB/s}.
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
    // One is enough: steps that are too fine are all alike.
    if (!is_new) return;
  }
}

void read_study_axes(const YamlEntry& section, Study& study, InputMessages& messages) {
  AxesReader(study, messages).read(section);
}

}  // namespace dfsearch
