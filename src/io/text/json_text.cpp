#include "io/text/json_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/error.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kWidth = 100;

/// Escapes the control characters that JSON allows, U+007F to U+009F, since JSON goes to terminals,
/// too.
std::string with_escapes(std::string text) {
  if (text.find_first_of("\x7f\xc2") == std::string::npos) return text;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (text[i] == '\x7f') {
      out += "\\u007f";
    } else if (text[i] == '\xc2' && next >= 0x80 && next < 0xA0) {
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// Doubles are written by fmt: Json::dump does not always write the shortest text, and appends ".0"
/// to whole numbers.
std::string scalar_text(const Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    return std::isfinite(number) ? fmt::format("{}", number) : "null";
  }
  // A name that is no UTF-8 gets replacement characters, not an exception.
  return with_escapes(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// Stops once `out` is longer than `most`, since the caller only needs to know that it is.
void append_line(std::string& out, const Json& value, std::size_t most) {
  if (value.is_primitive()) {
    out += scalar_text(value);
    return;
  }
  out += value.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& item : value.items()) {
    if (out.size() > most) return;
    if (!std::exchange(first, false)) out += ", ";
    if (value.is_object()) out += json_string(item.key()) + ": ";
    append_line(out, item.value(), most);
  }
  out += value.is_object() ? '}' : ']';
}

bool only_scalars(const Json& array) {
  for (const Json& element : array) {
    if (!element.is_primitive()) return false;
  }
  return true;
}

/// Writes the words of an array side by side and breaks lines where the next word does not fit.
void append_filled(std::string& out, const Json& array, std::size_t indent) {
  const std::string margin = "\n" + std::string(indent + 2, ' ');
  std::size_t column = kWidth;
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::string word = scalar_text(array[i]) + (i + 1 < array.size() ? "," : "");
    if (column + 1 + word.size() > kWidth) {
      out += margin + word;
      column = indent + 2 + word.size();
    } else {
      out += " " + word;
      column += 1 + word.size();
    }
  }
  out += "\n" + std::string(indent, ' ');
}

void append_text(std::string& out, const Json& value, std::size_t indent, std::size_t column) {
  std::string line;
  append_line(line, value, kWidth);
  if (value.is_primitive() || value.empty() || column + line.size() + 1 <= kWidth) {
    out += line;
    return;
  }
  out += value.is_object() ? '{' : '[';
  if (value.is_array() && only_scalars(value)) {
    append_filled(out, value, indent);
    out += ']';
    return;
  }
  bool first = true;
  for (const auto& item : value.items()) {
    if (!std::exchange(first, false)) out += ',';
    const std::string key = value.is_object() ? json_string(item.key()) + ": " : "";
    out += "\n" + std::string(indent + 2, ' ') + key;
    append_text(out, item.value(), indent + 2, indent + 2 + key.size());
  }
  out += "\n" + std::string(indent, ' ') + (value.is_object() ? '}' : ']');
}

constexpr int kDeepestValue = 64;

}  // namespace

std::string json_text(const Json& value) {
  std::string out;
  append_text(out, value, 0, kWidth);  // the outermost object is always broken
  return out + "\n";
}

std::string json_line(const Json& value) {
  std::string out;
  append_line(out, value, out.max_size());
  return out;
}

std::string json_string(const std::string& text) { return scalar_text(Json(text)); }

Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

void append(Json& object, const std::string& key, Json value) {
  object.get_ref<Json::object_t&>().emplace_back(key, std::move(value));
}

std::string what_is_wrong(const Json::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

Json parse_json_object(const std::string& text, const std::string& name) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw InputError(name + ": is empty, expected a JSON object, as --json FILE writes one");
  }
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepestValue) throw InputError(name + ": is nested too deep to be a result");
    return true;
  };
  try {
    Json json = Json::parse(text, shallow);
    if (json.is_object()) return json;
  } catch (const Json::exception& error) {
    throw InputError(name + ": is no JSON: " + what_is_wrong(error));
  }
  throw InputError(name + ": is no result, expected a JSON object");
}

}  // namespace dfsearch
