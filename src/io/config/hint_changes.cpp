#include "io/config/hint_changes.hpp"

#include "base/error.hpp"
#include "io/text/json_text.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {
namespace {

/// On one line.
std::string flow_text(const YamlNode& node) {
  if (node.type == YamlNode::Type::Scalar) return json_string(node.scalar);
  std::string text;
  for (const YamlNode& item : node.items) text += (text.empty() ? "" : ", ") + flow_text(item);
  return '[' + text + ']';
}

class Changes {
 public:
  void put(const std::string& path, const YamlNode& value) {
    texts_.push_back(path + '=' + flow_text(value));
  }
  /// Each key of a map, under another path.
  void put_all(const YamlNode& map, const std::string& path) {
    for (const YamlEntry& entry : map.entries) put(path + '.' + entry.key, entry.value);
  }

  [[nodiscard]] std::vector<std::string> texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
};

}  // namespace

std::vector<std::string> hint_changes(const std::filesystem::path& file) {
  const YamlNode root = load_yaml(file);
  const auto map_of = [&](const char* key) -> const YamlNode* {
    const YamlEntry* entry = root.find(key);
    return entry && entry->value.type == YamlNode::Type::Map ? &entry->value : nullptr;
  };
  Changes changes;
  if (const YamlNode* execution = map_of("execution")) {
    for (const YamlEntry& entry : execution->entries) {
      // The batch follows from the degrees.
      if (entry.key != "global_batch") changes.put("calculon." + entry.key, entry.value);
    }
    return changes.texts();
  }
  if (const YamlNode* plan = map_of("plan")) changes.put_all(*plan, "training");
  if (const YamlNode* degrees = map_of("parallelism")) changes.put_all(*degrees, "parallelism");
  const YamlEntry* micro_batch = root.find("micro_batch");
  if (micro_batch && micro_batch->value.type == YamlNode::Type::Scalar) {
    changes.put("workload.micro_batch", micro_batch->value);
  }
  if (changes.texts().empty()) {
    throw InputError(file.string() +
                     ": expected a result with a plan or an execution, or YAML with its keys "
                     "'parallelism', 'micro_batch', 'plan', or 'execution'");
  }
  return changes.texts();
}

}  // namespace dfsearch
