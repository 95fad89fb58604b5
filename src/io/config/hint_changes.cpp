#include "io/config/hint_changes.hpp"

#include <utility>

#include "base/error.hpp"
#include "io/emit/argument_text.hpp"
#include "io/emit/read_arguments.hpp"
#include "io/schema/read_schema.hpp"
#include "io/text/files.hpp"
#include "io/text/joined.hpp"
#include "io/text/json_text.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {
namespace {

std::string flow_text(const YamlNode& node) {
  if (node.type == YamlNode::Type::Scalar) return json_string(node.scalar);
  return '[' + joined(node.items, ", ", flow_text) + ']';
}

class Changes {
 public:
  void put(const std::string& path, const YamlNode& value) {
    hint_.changes.push_back({path + '=' + flow_text(value), value.place});
  }
  /// Puts each key of a map under another path.
  void put_all(const YamlNode& map, const std::string& path) {
    for (const YamlEntry& entry : map.entries) put(path + '.' + entry.key, entry.value);
  }

  [[nodiscard]] const PlanHint& hint() const { return hint_; }

 private:
  PlanHint hint_;
};

/// Reads roles with their degrees and, on a mesh, their places, as in a result.
training::Division read_division(const YamlNode& item, InputMessages& messages) {
  constexpr Field kOrder = field<&training::Division::order>("order", "of roles, innermost first");
  constexpr Field kFill = field<&training::Division::fill>("fill", "of the lines of a mesh");
  MapReader reader(item, "network", item.place, messages);
  training::Division division;
  for (const training::Role role : training::kRoles) {
    division[role] = reader.optional_count(training::name_of(role)).value_or(1);
  }
  if (const YamlEntry* order = reader.optional(kOrder.key)) {
    read_value(*order, kOrder, &division.order, messages);
  }
  if (const YamlEntry* fill = reader.optional(kFill.key)) {
    read_value(*fill, kFill, &division.fill, messages);
    if (division.order.empty()) messages.add(fill->place, "fill", "only valid with 'order'");
  }
  reader.finish();
  return division;
}

}  // namespace

PlanHint hint_changes(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  const bool launches = are_launch_arguments(text);
  LaunchArguments arguments;
  if (launches) arguments = read_launch_arguments(text, file.string());
  const YamlNode root =
      launches ? std::move(arguments.plan) : parse_yaml(text, file.string(), true);
  using enum YamlNode::Type;
  InputMessages messages;
  MapReader reader(root, "", root.place, messages);
  // The value of a key; results have null for a missing value.
  const auto value_of = [&](const char* key, YamlNode::Type type,
                            const char* expected) -> const YamlNode* {
    const YamlEntry* entry = reader.optional(key);
    if (entry == nullptr || entry->value.type == Null) return nullptr;
    if (entry->value.type == type) return &entry->value;
    messages.add(entry->value.place, key, expected);
    return nullptr;
  };
  const auto map_of = [&](const char* key) { return value_of(key, Map, "expected a map"); };
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
  if (const YamlNode* micro_batch = value_of("micro_batch", Scalar, "expected a number")) {
    changes.put("workload.micro_batch", *micro_batch);
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
  if (const YamlNode* network = value_of("network", Sequence, "expected a list")) {
    hint.network_place = network->place;
    for (const YamlNode& item : network->items) {
      hint.network.push_back(read_division(item, messages));
    }
  }
  // The other keys of a result, and of each of its best answers, do not describe the plan.
  const bool is_result = reader.has("dfsearch") || reader.has("step_time");
  if (!launches && !is_result) reader.finish();
  messages.throw_if_any();
  hint.notes = std::move(arguments.notes);
  if (launches && map_of("workload")) hint.workload = map_of("workload")->entries;
  return hint;
}

}  // namespace dfsearch
