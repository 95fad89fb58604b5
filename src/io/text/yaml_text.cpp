#include "io/text/yaml_tree.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "io/text/json_text.hpp"

namespace dfsearch {
namespace {

/// Whether a scalar may stand without quotes: words, numbers and quantities.
bool is_plain(const std::string& text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text == "null" || text == "~") {
    return false;
  }
  const auto is_safe = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isalnum(byte) != 0 || std::string_view(" ._/+%").find(c) != std::string_view::npos;
  };
  const bool dash = text.find('-') != std::string::npos && text.front() != '-';
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_safe(c) || (c == '-' && dash); });
}

std::string scalar_text(const std::string& text) {
  return is_plain(text) ? text : json_string(text);
}

/// Values of several lines begin on a new line after a key, and on the same line after a dash.
enum class After { Key, Dash };

void write(const YamlNode& node, std::size_t indent, After after, std::string& text) {
  const std::string blanks(indent, ' ');
  bool is_first = true;
  switch (node.type) {
    case YamlNode::Type::Null:
      text += " null\n";
      return;
    case YamlNode::Type::Scalar:
      text += " " + scalar_text(node.scalar) + "\n";
      return;
    case YamlNode::Type::Sequence:
      if (node.items.empty()) {
        text += " []\n";
        return;
      }
      for (const YamlNode& item : node.items) {
        text += is_first && after == After::Dash ? " " : is_first ? "\n" + blanks : blanks;
        text += "-";
        write(item, indent + 2, After::Dash, text);
        is_first = false;
      }
      return;
    case YamlNode::Type::Map:
      if (node.entries.empty()) {
        text += " {}\n";
        return;
      }
      for (const YamlEntry& entry : node.entries) {
        text += is_first && after == After::Dash ? " " : is_first ? "\n" + blanks : blanks;
        text += scalar_text(entry.key) + ":";
        write(entry.value, indent + 2, After::Key, text);
        is_first = false;
      }
      return;
  }
}

}  // namespace

std::string yaml_text(const YamlNode& root) {
  std::string text;
  write(root, 0, After::Key, text);
  text.erase(0, 1);  // the blank or the break before the first value
  return text;
}

}  // namespace dfsearch
