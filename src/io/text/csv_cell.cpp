#include "io/text/csv_cell.hpp"

#include <string_view>

#include "base/error.hpp"
#include "base/units_text.hpp"

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

}  // namespace dfsearch
