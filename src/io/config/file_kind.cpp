#include "io/config/file_kind.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {
namespace {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = text[0] == '\0' ? 0 : utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::string kind_of_text(const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return "an empty file";
  if (!is_utf8(text)) return "no text";
  YamlNode root;
  try {
    root = parse_yaml(text, "", false);
  } catch (const InputError&) {
    return "";
  }
  const auto has = [&](std::string_view key) { return root.find(key) != nullptr; };
  if (has("dfsearch")) return "a result of dfsearch, which 'dfsearch report' shows";
  if (has("study") && has("base")) return "a study of dfsearch, which 'dfsearch study' runs";
  if (has("workload") || has("system") || has("training")) {
    return "a config of dfsearch, or a part of one";
  }
  if (has("weight_map")) return "the index of a model's weights, its config.json is beside it";
  return "";
}

}  // namespace dfsearch
