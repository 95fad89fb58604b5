#include "io/result/answer_files.hpp"

#include <initializer_list>
#include <numeric>

#include "io/text/map_reader.hpp"
#include "model/serving/pass.hpp"

namespace dfsearch {
namespace {

using serving::Deployment;
using serving::Role;
using serving::Task;

Role read_role(MapReader& reader, const Task& task, serving::Mode mode, bool decodes) {
  Role role;
  const auto pools = names_of(task.pools, &serving::Pool::name);
  if (const YamlEntry* pool = reader.required("pool")) {
    role.structure.pool = read_choice(*pool, pools, reader.messages()).value_or(0);
  }
  const auto count = [&](const char* key) { return reader.optional_count(key).value_or(1); };
  role.structure.tensor = count("tensor");
  role.structure.pipeline = count("pipeline");
  role.structure.attention_data = count("attention_data");
  role.structure.expert = count("expert");
  role.structure.redundant_experts =
      reader.optional_count("redundant_experts", {.least = 0, .most = 4096})
          .value_or(task.redundant_experts.front());
  role.structure.sub_batches = reader.optional_count("sub_batches", {.least = 1, .most = 2})
                                   .value_or(task.sub_batches.front());
  role.replicas = count("replicas");
  const CountRange most{.least = 1, .most = 1000000000};
  role.batch = reader.required_count("batch", most).value_or(1);
  if (decodes && mode == serving::Mode::Aggregated) {
    role.chunk = reader.required_count("chunk", most).value_or(1);
  }
  if (decodes) {
    const std::int64_t preset = task.speculation.depths.front();
    role.depth = reader.optional_count("depth", {.least = 0, .most = 16}).value_or(preset);
  }
  return role;
}

/// The first precision of the task with the given numbers.
std::size_t read_precision(MapReader& reader, const Task& task) {
  const YamlEntry* entry = reader.optional("precision");
  if (!entry) {
    if (task.precisions.size() == 1) return 0;
    reader.messages().add(reader.place(), reader.name(),
                          "missing key 'precision', as the config leaves a choice");
    return 0;
  }
  std::vector<std::size_t> left(task.precisions.size());
  std::iota(left.begin(), left.end(), 0);
  const std::vector<std::string_view> numbers = all_names<serving::Number>();
  MapReader own(*entry, reader.messages());
  for (const serving::PrecisionOf& of : serving::kPrecisionOf) {
    const YamlEntry* given = own.optional(of.name);
    const auto number = given ? read_choice(*given, numbers, reader.messages()) : std::nullopt;
    if (!number) continue;
    std::erase_if(left, [&](std::size_t i) {
      return name_of(of.get(task.precisions[i])) != numbers[*number];
    });
  }
  own.finish();
  if (left.empty()) {
    reader.messages().add(entry->value.place, "precision", "the config does not allow this one");
    return 0;
  }
  return left.front();
}

/// Checks the degrees.  More chips than the pool has are refused later.
void check(const Role& role, const Task& task, MapReader& reader) {
  const serving::Structure& s = role.structure;
  // Computed in doubles, since the product may exceed 64 bits.
  const double chips = serving::real(s.tensor) * serving::real(s.pipeline) *
                       serving::real(s.attention_data) * serving::real(role.replicas);
  if (chips > serving::real(task.pools[s.pool].chips) || has_room(task, role)) return;
  reader.messages().add(reader.place(), reader.name(),
                        "the model or the network does not allow such degrees: tensor must "
                        "divide the heads, expert the chips of a stage and the experts");
}

Deployment read_deployment(const YamlNode& node, const Task& task, InputMessages& messages) {
  MapReader reader(node, "deployment", node.place, messages);
  Deployment deployment;
  deployment.mode =
      reader
          .required_choice("mode",
                           Choices<serving::Mode>{{"aggregated", serving::Mode::Aggregated},
                                                  {"disaggregated", serving::Mode::Disaggregated}})
          .value_or(serving::Mode::Aggregated);
  const auto side = [&](const char* key, bool decodes) {
    const YamlEntry* entry = reader.required(key);
    if (!entry) return Role{};
    MapReader own(*entry, messages);
    const Role role = read_role(own, task, deployment.mode, decodes);
    own.finish();
    if (messages.count() == 0) check(role, task, own);
    return role;
  };
  if (deployment.mode == serving::Mode::Aggregated) {
    deployment.decode = read_role(reader, task, deployment.mode, true);
  } else {
    deployment.prefill = side("prefill", false);
    deployment.decode = side("decode", true);
  }
  deployment.decode.structure.precision = read_precision(reader, task);
  if (deployment.mode == serving::Mode::Disaggregated) {
    deployment.prefill.structure.precision = deployment.decode.structure.precision;
  }
  reader.finish();
  if (messages.count() == 0 && deployment.mode == serving::Mode::Aggregated) {
    check(deployment.decode, task, reader);
  }
  return deployment;
}

/// The value at a path of keys; null if there is none.
const YamlNode* found(const YamlNode& root, std::initializer_list<const char*> keys) {
  const YamlNode* node = &root;
  for (const char* key : keys) {
    const YamlEntry* entry = node->find(key);
    if (!entry || entry->value.type == YamlNode::Type::Null) return nullptr;
    node = &entry->value;
  }
  return node;
}

}  // namespace

std::vector<Deployment> load_deployments(const std::filesystem::path& file, const Task& task) {
  const YamlNode root = load_yaml(file);
  InputMessages messages;
  std::vector<Deployment> deployments;
  if (const YamlNode* result = found(root, {"serving"})) {
    if (const YamlNode* best = found(*result, {"best"})) {
      deployments.push_back(read_deployment(*best, task, messages));
    } else if (const YamlNode* front = found(*result, {"front"})) {
      for (const YamlNode& point : front->items) {
        const YamlNode* deployment = found(point, {"deployment"});
        if (deployment) deployments.push_back(read_deployment(*deployment, task, messages));
      }
    }
    if (deployments.empty()) messages.add(result->place, "best", "the result has none");
  } else {
    deployments.push_back(read_deployment(root, task, messages));
  }
  messages.throw_if_any();
  return deployments;
}

std::vector<serving::FleetMember> load_fleet(const std::filesystem::path& file,
                                             const serving::Fleet& fleet) {
  const YamlNode root = load_yaml(file);
  InputMessages messages;
  std::vector<serving::FleetMember> parts;
  const YamlNode* list = found(root, {"serving", "fleet"});
  if (!list || list->items.empty()) {
    messages.add(root.place, "serving", "expected a result with a 'fleet' that is not empty");
    messages.throw_if_any();
  }
  const std::vector<std::string_view> names(fleet.names.begin(), fleet.names.end());
  for (const YamlNode& item : list->items) {
    MapReader reader(item, "fleet", item.place, messages);
    serving::FleetMember part;
    if (const YamlEntry* model = reader.required("model")) {
      part.model = read_choice(*model, names, messages).value_or(0);
    }
    part.count = reader.required_count("count").value_or(1);
    if (const YamlEntry* deployment = reader.required("deployment")) {
      part.deployment = read_deployment(deployment->value, fleet.models[part.model], messages);
    }
    parts.push_back(part);
  }
  messages.throw_if_any();
  return parts;
}

}  // namespace dfsearch
