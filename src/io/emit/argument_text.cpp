// Reads the parts of shell scripts that flags need (words, quotes, comments, variables and their
// defaults), and sections of TOML with keys and values on one line.

#include "io/emit/argument_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace dfsearch {
namespace {

struct ShellWord {
  std::string text;
  int line = 1, column = 1;
};

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

/// Words of a shell script, without quotes, brackets of arrays and ends of lines; single quotes
/// keep a word together.
std::vector<ShellWord> shell_words(const std::string& text) {
  std::vector<ShellWord> words;
  ShellWord word;
  int line = 1, column = 0;
  bool quoted = false, comment = false;
  const auto end = [&] {
    if (!word.text.empty()) words.push_back(std::move(word));
    word.text.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    ++column;
    const bool is_end = c == '\n';
    if (is_end) comment = false;
    if (c == '#' && word.text.empty() && !quoted) comment = true;
    const bool joins =
        c == '\\' && i + 1 < text.size() && (text[i + 1] == '\n' || text[i + 1] == '\r');
    if (c == '\'' && !comment) {
      quoted = !quoted;
    } else if (!comment && !quoted &&
               (joins || c == ';' || c == '(' || c == ')' ||
                std::isspace(static_cast<unsigned char>(c)) != 0)) {
      end();
    } else if (!comment && (quoted || c != '"')) {
      if (word.text.empty()) word.line = line, word.column = column;
      word.text += c;
    }
    if (is_end) ++line, column = 0;
  }
  end();
  return words;
}

/// Expands $NAME, ${NAME} and ${NAME:-PRESET} of variables that are set earlier.
std::string expanded(const std::string& text, const std::map<std::string, std::string>& variables) {
  if (!text.starts_with('$')) return text;
  std::string name = text.substr(1);
  std::string preset = text;
  if (name.starts_with('{') && name.ends_with('}')) name = name.substr(1, name.size() - 2);
  if (const auto colon = name.find(":-"); colon != std::string::npos) {
    preset = name.substr(colon + 2);
    name.resize(colon);
  }
  const auto found = variables.find(name);
  return found == variables.end() ? preset : found->second;
}

void read_shell(const std::string& text, FlagList& list) {
  std::map<std::string, std::string> variables;
  std::vector<ShellWord> words = shell_words(text);
  for (ShellWord& word : words) {
    const auto equals = word.text.find('=');
    if (equals == std::string::npos || !is_name(word.text.substr(0, equals))) continue;
    // A variable may contain several flags; this is the first.
    std::string value = word.text.substr(equals + 1);
    if (value.starts_with("--")) {
      word.text = std::move(value);
    } else {
      variables[word.text.substr(0, equals)] = expanded(value, variables);
    }
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const ShellWord& word = words[i];
    if (!word.text.starts_with("--")) continue;
    const auto equals = word.text.find('=');
    std::string flag = word.text.substr(0, equals), value;
    if (equals != std::string::npos) {
      value = word.text.substr(equals + 1);
    } else if (i + 1 < words.size() && !words[i + 1].text.starts_with("--")) {
      value = words[i + 1].text;
      for (std::size_t j = i + 2; flag == kModulesFlag && j < words.size(); ++j) {
        if (words[j].text.starts_with("--")) break;
        value += " " + words[j].text;
      }
    }
    if (flag.find('.') != std::string::npos) flag.erase(0, 2);
    list.add(flag, {expanded(value, variables), list.at(word.line, word.column)});
  }
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Removes and returns the next line.
std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The name between the brackets of a line that begins a section, else nothing.
std::string_view section_of(std::string_view line) {
  line = trimmed(line.substr(0, line.find('#')));
  if (line.size() < 3 || line.front() != '[' || line.back() != ']') return {};
  line = line.substr(1, line.size() - 2);
  std::string name(line);
  std::erase(name, '.');
  return is_name(name) ? line : std::string_view();
}

/// Reads sections with `key = value`; the value of a list is its first line.
void read_toml(std::string_view text, FlagList& list) {
  std::string section;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    const std::string_view name = section_of(line);
    const auto equals = line.find('=');
    if (!name.empty()) section = name;
    if (!name.empty() || equals == std::string_view::npos || trimmed(line).starts_with('#'))
      continue;
    std::string_view value = trimmed(line.substr(equals + 1));
    if (value.starts_with('"') || value.starts_with('\'')) {
      value = value.substr(1, value.find(value.front(), 1) - 1);
    } else {
      value = trimmed(value.substr(0, value.find('#')));
    }
    list.add(
        section + "." + std::string(trimmed(line.substr(0, equals))),
        {std::string(value), list.at(number, static_cast<int>(line.find_first_not_of(" \t")) + 1)});
  }
}

bool is_toml(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    if (!line.empty() && !line.starts_with('#')) return !section_of(line).empty();
  }
  return false;
}

}  // namespace

void FlagList::add(const std::string& flag, FlagValue value) {
  const auto [entry, is_new] = flags.try_emplace(flag, value);
  if (!is_new && entry->second.value != value.value) {
    messages.add(value.place, flag,
                 fmt::format("is {} here, but {} at {}", in_quotes(value.value),
                             in_quotes(entry->second.value), entry->second.place.to_text()));
  }
}

bool are_launch_arguments(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] == '{') return false;
  if (is_toml(text)) return true;
  const std::vector<ShellWord> words = shell_words(text);
  return std::any_of(words.begin(), words.end(), [](const ShellWord& word) {
    const auto flag = word.text.find("--");
    const bool begins =
        flag == 0 || (flag != std::string::npos && flag > 0 && word.text[flag - 1] == '=');
    return begins && flag + 2 < word.text.size() &&
           std::isalpha(static_cast<unsigned char>(word.text[flag + 2])) != 0;
  });
}

void read_flags(const std::string& text, FlagList& list) {
  is_toml(text) ? read_toml(text, list) : read_shell(text, list);
}

}  // namespace dfsearch
