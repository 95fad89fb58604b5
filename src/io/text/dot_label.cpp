#include "io/text/dot_label.hpp"

#include "io/text/input_messages.hpp"

namespace dfsearch {

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
