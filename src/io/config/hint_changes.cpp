#include "io/config/hint_changes.hpp"

#include <utility>

#include "base/error.hpp"
#include "io/emit/argument_text.hpp"
#include "io/emit/read_arguments.hpp"
#include "io/text/joined.hpp"
#include "io/text/json_text.hpp"
#include "io/text/read_file.hpp"

namespace dfsearch {
namespace {

/// On one line.
std::string flow_text(const YamlNode& node) {
  if (node.type == YamlNode::Type::Scalar) return json_string(node.scalar);
  return '[' + joined(node.items, ", ", flow_text) + ']';
}

class Changes {
 public:
  void put(const std::string& path, const YamlNode& value) {
    hint_.changes.push_back({path + '=' + flow_text(value), value.place});
  }
  /// Each key of a map, under another path.
  void put_all(const YamlNode& map, const std::string& path) {
    for (const YamlEntry& entry : map.entries) put(path + '.' + entry.key, entry.value);
  }

  [[nodiscard]] const PlanHint& hint() const { return hint_; }

 private:
  PlanHint hint_;
};

}  // namespace

PlanHint hint_changes(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  const bool launches = are_launch_arguments(text);
  LaunchArguments arguments;
  if (launches) arguments = read_launch_arguments(text, file.string());
  const YamlNode root =
      launches ? std::move(arguments.plan) : parse_yaml(text, file.string(), true);
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
    return changes.hint();
  }
  if (const YamlNode* plan = map_of("plan")) changes.put_all(*plan, "training");
  if (const YamlNode* degrees = map_of("parallelism")) changes.put_all(*degrees, "parallelism");
  const YamlEntry* micro_batch = root.find("micro_batch");
  if (micro_batch && micro_batch->value.type == YamlNode::Type::Scalar) {
    changes.put("workload.micro_batch", micro_batch->value);
  }
  if (changes.hint().changes.empty()) {
    throw InputError(file.string() +
                     ": expected a hint: a result with a plan or an execution; YAML with keys of "
                     "these ('parallelism', 'micro_batch', 'plan' or 'execution'); or launch "
                     "arguments of Megatron-LM or torchtitan");
  }
  PlanHint hint = changes.hint();
  hint.launches = launches;
  hint.stages_inside = arguments.stages_inside;
  if (const YamlEntry* network = root.find("network")) hint.network = network->value;
  hint.notes = std::move(arguments.notes);
  if (launches && map_of("workload")) hint.workload = map_of("workload")->entries;
  return hint;
}

}  // namespace dfsearch
