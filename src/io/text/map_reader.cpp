#include "io/text/map_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dfsearch {
namespace {

void expected(const YamlEntry& entry, std::string_view what, InputMessages& messages) {
  messages.add(entry.value.place, entry.key,
               fmt::format("expected {}, got {}", what, entry.value.description()));
}

bool told_unless(bool right, const YamlEntry& entry, std::string_view what,
                 InputMessages& messages) {
  if (!right) expected(entry, what, messages);
  return right;
}

/// Accepts digits only: no exponent, no fraction, and no leading zero, which older YAML reads as
/// octal.
std::optional<std::int64_t> whole_number(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc()) return value;
  // A number beyond 64 bits becomes a value outside every range.
  return text.starts_with('-') ? std::numeric_limits<std::int64_t>::min()
                               : std::numeric_limits<std::int64_t>::max();
}

std::string range_text(CountRange range) {
  if (range.least == range.most) return std::to_string(range.least);
  if (range.most != kLargestCount) return fmt::format("{} to {}", range.least, range.most);
  return fmt::format("{} to 2^40", range.least);
}

}  // namespace

Place place_of_conflict(std::initializer_list<const YamlEntry*> entries) {
  const YamlEntry* first = nullptr;
  for (const YamlEntry* entry : entries) {
    if (!entry) continue;
    if (entry->value.place.is_override()) return entry->value.place;
    if (!first) first = entry;
  }
  return first ? first->value.place : Place{};
}

bool holds_list(const YamlEntry& entry, std::string_view what, InputMessages& messages) {
  return told_unless(entry.value.type == YamlNode::Type::Sequence, entry, what, messages);
}
bool holds_map(const YamlEntry& entry, std::string_view what, InputMessages& messages) {
  return told_unless(entry.value.type == YamlNode::Type::Map, entry, what, messages);
}
bool holds_some_list(const YamlEntry& entry, std::string_view what, InputMessages& messages) {
  return told_unless(!entry.value.items.empty(), entry, what, messages);
}
bool holds_some_map(const YamlEntry& entry, std::string_view what, InputMessages& messages) {
  return told_unless(!entry.value.entries.empty(), entry, what, messages);
}

std::optional<std::string> read_word(const YamlEntry& entry, InputMessages& messages) {
  if (entry.value.type == YamlNode::Type::Scalar && !entry.value.scalar.empty()) {
    return entry.value.scalar;
  }
  expected(entry, "a word", messages);
  return std::nullopt;
}

std::optional<std::int64_t> read_count(const YamlEntry& entry, CountRange range,
                                       InputMessages& messages) {
  if (entry.value.type == YamlNode::Type::Scalar) {
    const std::optional<std::int64_t> value = whole_number(entry.value.scalar);
    if (value && *value >= range.least && *value <= range.most) return value;
  }
  expected(entry, "a whole number from " + range_text(range), messages);
  return std::nullopt;
}

std::optional<double> read_number(const YamlEntry& entry, const Interval& range,
                                  InputMessages& messages) {
  const std::string what = fmt::format("a number from {} to {}", range.least, range.most);
  if (entry.value.type != YamlNode::Type::Scalar) {
    expected(entry, what, messages);
    return std::nullopt;
  }
  try {
    const double value = parse_number(entry.value.scalar);
    if (value >= range.least && value <= range.most) return value;
    expected(entry, what, messages);
  } catch (const InputError& error) {
    messages.add(entry.value.place, entry.key, error.messages().front());
  }
  return std::nullopt;
}

std::optional<bool> read_flag(const YamlEntry& entry, InputMessages& messages) {
  return read_choice<bool>(entry, {{"true", true}, {"false", false}}, messages);
}

std::optional<std::size_t> read_choice(const YamlEntry& entry,
                                       const std::vector<std::string_view>& choices,
                                       InputMessages& messages) {
  if (entry.value.type == YamlNode::Type::Scalar) {
    const auto found = std::find(choices.begin(), choices.end(), entry.value.scalar);
    if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  }
  const std::string near = entry.value.type == YamlNode::Type::Scalar
                               ? suggestion(entry.value.scalar, choices)
                               : std::string();
  messages.add(entry.value.place, entry.key,
               fmt::format("expected {}, got {}{}", joined_choices(choices),
                           entry.value.description(), near));
  return std::nullopt;
}

MapReader::MapReader(const YamlNode& node, std::string name, Place place, InputMessages& messages)
    : node_(node),
      name_(std::move(name)),
      place_(std::move(place)),
      messages_(messages),
      is_map_(node.type == YamlNode::Type::Map) {
  if (!is_map_) messages_.add(node.place, name_, "expected a map, got " + node.description());
}

const YamlEntry* MapReader::optional(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  return node_.find(key);
}

const YamlEntry* MapReader::required(std::string_view key, std::string_view why) {
  const YamlEntry* entry = optional(key);
  if (!entry && is_map_) {
    messages_.add(place_, name_,
                  fmt::format("missing key '{}'{}{}", key, why.empty() ? "" : ": ", why));
  }
  return entry;
}

std::optional<std::int64_t> MapReader::required_count(std::string_view key, CountRange range) {
  const YamlEntry* entry = required(key);
  return entry ? read_count(*entry, range, messages_) : std::nullopt;
}

std::optional<std::int64_t> MapReader::optional_count(std::string_view key, CountRange range) {
  const YamlEntry* entry = optional(key);
  return entry ? read_count(*entry, range, messages_) : std::nullopt;
}

void MapReader::finish() {
  for (const YamlEntry& entry : node_.entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    std::string near = suggestion(entry.key, known_);
    if (near.empty()) near = ", expected " + joined_choices(known_);
    messages_.add(entry.place, name_, fmt::format("unknown key {}{}", in_quotes(entry.key), near));
  }
}

}  // namespace dfsearch
