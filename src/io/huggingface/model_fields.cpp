// JSON from strangers: the parser does not recurse, and nesting is refused on the way down, so
// that no reader or destructor after it can exhaust the stack.

#include "io/huggingface/model_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "io/huggingface/expression.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {
namespace {

using nlohmann::json;

constexpr int kDeepestField = 100;

[[noreturn]] void stop(const Place& place, std::string_view field, const std::string& what) {
  InputMessages messages;
  messages.add(place, field, what);
  messages.throw_if_any();
  throw InternalError("an input message was lost");
}

/// The place of a byte, counted from 1.
Place place_of_byte(const Place& file, const std::string& text, std::size_t byte) {
  Place place = file;
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  const auto last = std::find(std::make_reverse_iterator(end), text.rend(), '\n');
  place.line = 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
  place.column = std::max(1, static_cast<int>(end - last.base()));
  return place;
}

json parse_object(const std::string& text, const Place& file) {
  std::string field;  // of the outermost object, where the parser is
  std::set<std::string> fields;
  const auto where = [&field] { return field.empty() ? std::string() : in_quotes(field); };
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kDeepestField) {
      stop(file, where(),
           fmt::format("nested too deeply, expected at most {} levels", kDeepestField));
    }
    if (event == json::parse_event_t::key && depth == 1) {
      field = parsed.get<std::string>();
      if (!fields.insert(field).second)
        stop(file, "", "the field " + in_quotes(field) + " stands twice");
    }
    return true;
  };
  json object;
  try {
    object = json::parse(text, watch);
  } catch (const json::parse_error& error) {
    stop(place_of_byte(file, text, error.byte), "",
         "expected JSON, the text breaks off or is wrong here");
  } catch (const json::out_of_range&) {
    stop(file, where(), "a number is beyond all ranges");
  }
  if (!object.is_object()) stop(file, "", "expected a JSON object, the config of a model");
  return object;
}

}  // namespace

ModelFields::ModelFields(const std::string& text, const std::string& name)
    : place_{.source = std::make_shared<const std::string>(name)},
      object_(parse_object(text, place_)) {}

bool ModelFields::has(const std::string& field) const { return value(field) != nullptr; }

const nlohmann::json* ModelFields::value(const std::string& field) const {
  const auto found = object_.find(field);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void ModelFields::expected(const std::string& field, const std::string& what, const json& got) {
  messages_->add(place_, field, "expected " + what + ", got " + shown(got));
}

std::optional<std::int64_t> ModelFields::count(const std::string& field, std::int64_t least) {
  const json* found = value(field);
  if (!found) return std::nullopt;
  // The parser reads an integer beyond 64 bits as a floating-point number.
  if (found->is_number_integer()) {
    const bool fits = !found->is_number_unsigned() ||
                      found->get<std::uint64_t>() <= static_cast<std::uint64_t>(kLargestCount);
    const std::int64_t number = fits ? found->get<std::int64_t>() : 0;
    if (fits && number >= least && number <= kLargestCount) return number;
  }
  expected(field, fmt::format("a whole number from {} to 2^40", least), *found);
  return std::nullopt;
}

std::int64_t ModelFields::required_count(const std::string& field, std::int64_t least) {
  if (!value(field)) {
    messages_->add(place_, "", "missing field " + in_quotes(field));
    return least;
  }
  return count(field, least).value_or(least);
}

std::optional<std::string> ModelFields::word(const std::string& field) {
  const json* found = value(field);
  if (!found) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  expected(field, "a word", *found);
  return std::nullopt;
}

std::optional<std::vector<std::string>> ModelFields::list(const std::string& field) {
  const json* found = value(field);
  if (!found) return std::nullopt;
  if (!found->is_array()) {
    expected(field, "a list", *found);
    return std::nullopt;
  }
  std::vector<std::string> items;
  for (const json& item : *found) {
    items.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  }
  return items;
}

std::optional<ModelFields> ModelFields::map(const std::string& field) {
  const json* found = value(field);
  if (!found || found->is_object()) {
    return found ? std::optional(ModelFields(place_, *found, messages_)) : std::nullopt;
  }
  expected(field, "a map", *found);
  return std::nullopt;
}

void ModelFields::refuse(const std::string& field, const std::string& what) {
  messages_->add(place_, field, what);
}

}  // namespace dfsearch
