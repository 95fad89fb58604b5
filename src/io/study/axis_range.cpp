#include "io/study/axis_range.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/units_text.hpp"

namespace dfsearch {
namespace {

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
  // Six digits are what a label can show; the value set is what it shows.
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

}  // namespace

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

}  // namespace dfsearch
