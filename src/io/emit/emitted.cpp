// Each language has one function here that quotes for it.

#include "io/emit/emitted.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "io/text/input_messages.hpp"

namespace dfsearch {

std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./:,+").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string quoted = "'";
  for (const char c : escaped(text)) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string toml_string(const std::string& text) { return json_string(text); }

std::string comments(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "# " + escaped(line) + "\n";
  return text;
}

std::string command_text(const std::string& command, const Emitted& emitted) {
  std::string text = comments(emitted.comments()) + command;
  for (const std::string& argument : emitted.arguments) text += " \\\n  " + argument;
  return text + "\n";
}

}  // namespace dfsearch
