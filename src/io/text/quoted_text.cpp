#include "io/text/quoted_text.hpp"

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

bool is_numeric(std::string_view text) {
  try {
    parse_number(text);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// Whether a spreadsheet would run the text; the last four are wide forms of the first four.
bool looks_like_formula(std::string_view text) {
  for (const std::string_view first : {"=", "+", "-", "@", "\t", "\r", "\n", "\xef\xbc\x9d",
                                       "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"}) {
    if (text.starts_with(first)) return !is_numeric(text.substr(first == "+" ? 1 : 0));
  }
  return false;
}

}  // namespace

std::string csv_cell(const std::string& text) {
  const bool formula = looks_like_formula(text);
  if (!formula && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = formula ? "\"'" : "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string dot_label(std::initializer_list<std::string_view> lines) {
  std::string label = "\"";
  for (const std::string_view line : lines) {
    if (label.size() > 1) label += "\\n";
    for (const char c : escaped(line)) {
      if (c == '"' || c == '\\') label += '\\';
      label += c;
    }
  }
  return label + "\"";
}

}  // namespace dfsearch
