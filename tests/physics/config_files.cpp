#include "physics/config_files.hpp"

#include <cmath>
#include <cstdlib>

#include "io/config/config_tree.hpp"
#include "io/config/load_config.hpp"

namespace dfsearch::test {
namespace {

Json json_of_scalar(const std::string& text) {
  if (text == "true" || text == "yes") return true;
  if (text == "false" || text == "no") return false;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(number)) return text;
  if (text.find_first_not_of("-0123456789") == std::string::npos) return std::stoll(text);
  return number;
}

}  // namespace

Json json_of(const YamlNode& node) {
  switch (node.type) {
    case YamlNode::Type::Scalar:
      return json_of_scalar(node.scalar);
    case YamlNode::Type::Sequence: {
      Json list = Json::array();
      for (const YamlNode& item : node.items) list.push_back(json_of(item));
      return list;
    }
    case YamlNode::Type::Map: {
      Json map = Json::object();
      for (const YamlEntry& entry : node.entries) map[entry.key] = json_of(entry.value);
      return map;
    }
    case YamlNode::Type::Null:
      break;
  }
  return nullptr;
}

Json measured_chip(const Json& chip) {
  if (chip.is_object() && !chip.contains("from")) return chip;
  const std::string name = chip.is_string() ? chip : chip["from"];
  InputMessages messages;
  Json measured = json_of(named_tree(name, ".", ShelfKind::Curves, Place{}, messages));
  if (chip.is_object()) measured.update(chip);
  return measured;
}

Json stack_states(const Json& config) {
  const Json execution = config.value("execution", Json::object());
  if (!execution.contains("stack")) return {};
  Json stack = execution["stack"];
  if (stack.is_string()) {
    InputMessages messages;
    stack =
        json_of(named_tree(stack.get<std::string>(), ".", ShelfKind::Stacks, Place{}, messages));
  }
  const bool is_own = config.value("training", Json::object()).contains("states") ||
                      config["workload"].contains("lora");
  if (is_own || !stack.contains("states")) return Json::object();
  Json states = stack["states"];
  if (stack.value("gradients", "kept") != "kept") states["gradient"] = 0.0;
  return states;
}

Json config_of_file(const std::filesystem::path& file) {
  return json_of(ConfigTemplate(file).tree_with({}));
}

}  // namespace dfsearch::test
