// The sections of a config with `training`: a workload by rule, a machine whose dimensions may
// serve several roles, rates by the work of a kernel, and what of the plan is given.
//
// What is given may contradict the model or the machine; what follows from given values alone is
// reported where it stands.  That memory is too small is a result.

#include "io/config/config_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "graph/names.hpp"
#include "io/config/config_execution.hpp"
#include "io/config/config_plan_choices.hpp"
#include "io/config/config_rates.hpp"
#include "io/config/config_system.hpp"
#include "io/config/config_workload.hpp"
#include "io/schema/read_schema.hpp"
#include "model/training/names.hpp"

namespace dfsearch {
namespace {

using training::kRoles;
using training::Role;
using training::Task;

// More than any machine, and any model, has; up to there a search is stopped in time.
constexpr std::int64_t kMostChips = std::int64_t{1} << 24;
constexpr std::int64_t kMostLayers = 10'000;

/// A count that other configs may have.
void check_most(const YamlEntry& section, std::string_view key, std::int64_t count,
                std::int64_t most, InputMessages& messages) {
  if (count <= most) return;
  messages.add(section.value.find(key)->value.place, key,
               fmt::format("expected at most {} beside 'training', got {}", most, count));
}

/// The layer by rule that the workload describes, and what it goes over.
void read_model(const YamlEntry& section, Task& task, InputMessages& messages) {
  std::vector<PartitionPin> pins;
  const std::optional<Workload> workload = read_workload(section, pins, messages);
  if (!workload) return;
  if (workload->kind != WorkloadKind::LlmTraining) {
    messages.add(
        section.value.find("kind")->value.place, "kind",
        fmt::format("expected llm_training beside 'training', got {}", name_of(workload->kind)));
    return;
  }
  if (!workload->transformer) {
    messages.add(section.place, "workload",
                 "expected a model by rule beside 'training', with 'model' or a key like "
                 "'vocabulary' (docs/transformers.md)");
    return;
  }
  check_most(section, "layers", workload->layers, kMostLayers, messages);
  if (const YamlEntry* repeated = section.value.find("repeat_layers")) {
    messages.add(repeated->place, "repeat_layers",
                 "a plan spreads single layers over its stages, expected none");
  }
  if (workload->tile) {
    messages.add(section.value.find("tile")->place, "tile",
                 "kernels work on whole micro-batches here, expected none");
  }
  task.model = *workload->transformer;
  task.global_batch = workload->global_batch;
  if (workload->micro_batch) task.choices.micro_batches = {*workload->micro_batch};
  task.pass = {.tokens = workload->sequence, .word = workload->word, .fused = false};
  for (const Kernel& kernel : workload->graph.kernels()) {
    if (!kernel.attention) continue;
    task.pass.fused = true;
    task.pass.causal = kernel.attention->causal;
  }
}

/// Takes the roles out of the dimensions, which for other configs are strategies.
std::vector<std::optional<Role>> take_roles(YamlEntry& section, InputMessages& messages) {
  Choices<Role> names;
  for (const Role role : kRoles) names.emplace_back(training::name_of(role), role);
  std::vector<std::optional<Role>> roles;
  YamlEntry* network = section.value.find("network");
  if (!network) return roles;
  for (YamlNode& dimension : network->value.items) {
    const YamlEntry* entry = dimension.find("strategy");
    roles.push_back(entry ? read_choice(*entry, names, messages) : std::nullopt);
    std::erase_if(dimension.entries, [](const YamlEntry& e) { return e.key == "strategy"; });
  }
  return roles;
}

void read_machine(YamlEntry section, Task& task, InputMessages& messages) {
  task.choices.network = take_roles(section, messages);
  auto text = read_system(section, 1, SystemUse::Whole, messages);
  if (!text) return;
  if (text->design) {
    messages.add(section.value.find("technology")->place, "technology",
                 "expected no such key beside 'training', but 'accelerator' and 'memory', which "
                 "'dfsearch chip' prints");
    return;
  }
  check_most(section, "chips", text->system.chips, kMostChips, messages);
  Machine& machine = task.machine;
  machine = text->system;
  machine.matrix.peak = machine.accelerator.peak();
  machine.vector.peak = machine.accelerator.peak() * 0.5;
  // One degree may be left out: it is what the others leave.
  std::int64_t left = machine.chips;
  int open = 0;
  for (const NetworkDimension& dimension : machine.network) {
    if (dimension.degree) {
      left /= *dimension.degree;
    } else {
      ++open;
    }
  }
  if (open > 1) {
    messages.add(
        section.value.find("network")->value.place, "network",
        fmt::format("expected the degrees of all dimensions but one, got {} without", open));
    return;
  }
  std::vector<bool> divided;
  for (std::size_t d = 0; d < machine.network.size(); ++d) {
    if (!machine.network[d].degree) machine.network[d].degree = left;
    divided.push_back(!task.choices.network[d]);
  }
  check_divisions(machine, divided, section, messages);
}

/// `matrix` is the peak of the other engine, for one whose peak is a share of it.
void read_engine(MapReader& reader, std::string_view key, FlopsPerSecond matrix, Engine& engine) {
  const YamlEntry* section = reader.optional(key);
  if (!section) return;
  MapReader part(*section, reader.messages());
  constexpr Range<FlopsPerSecond> kPeak{FlopsPerSecond(1.0), FlopsPerSecond(1e24)};
  if (key == "vector") {
    const auto share = part.optional_number("of_matrix", {1e-9, 1e3});
    if (share) engine.peak = matrix * *share;
    if (share && section->value.find("peak")) {
      reader.messages().add(part.optional("of_matrix")->value.place, "of_matrix",
                            "expected none, as 'peak' says what the engine reaches");
    }
  }
  engine.peak = part.optional_quantity("peak", kPeak).value_or(engine.peak);
  engine.efficiency = read_efficiency<Flops>(part);
  part.finish();
}

void read_tier(MapReader& reader, std::string_view key, MemoryTier& tier) {
  const YamlEntry* section = reader.optional(key);
  if (!section) return;
  MapReader part(*section, reader.messages());
  tier.efficiency = read_efficiency<Bytes>(part);
  part.finish();
}

void read_rates(const YamlEntry& section, Machine& machine, InputMessages& messages) {
  MapReader reader(section, messages);
  read_engine(reader, "matrix", machine.matrix.peak, machine.matrix);
  read_engine(reader, "vector", machine.matrix.peak, machine.vector);
  read_tier(reader, "memory", machine.memory[0]);
  MemoryTier unused;
  read_tier(reader, "second", machine.second_memory() ? machine.memory[1] : unused);
  reader.finish();
}

void read_execution_of(const YamlEntry& section, Task& task, InputMessages& messages) {
  MapReader reader(section, messages);
  reader.optional_choice<bool>("style", {{"kernel_by_kernel", true}});
  task.overlap = reader
                     .optional_choice<Overlap>(
                         "overlap", {{"none", Overlap::None}, {"perfect", Overlap::Perfect}})
                     .value_or(Overlap::None);
  const auto share = reader.optional_number("compute_utilization", {1e-9, 1.0});
  if (share) {
    task.machine.matrix.efficiency.steps = {{.from = Flops{}, .share = *share}};
    task.machine.vector.efficiency.steps = {{.from = Flops{}, .share = *share}};
  }
  if (const YamlEntry* rates = reader.optional("efficiency")) {
    read_rates(*rates, task.machine, messages);
    if (share && (rates->value.find("matrix") || rates->value.find("vector"))) {
      messages.add(reader.optional("compute_utilization")->value.place, "compute_utilization",
                   "expected none, as 'efficiency' says what the engines reach");
    }
  }
  reader.finish();
}

/// Sections of other configs that a plan has no use for.
void refuse_sections(YamlNode& root, InputMessages& messages) {
  std::erase_if(root.entries, [&](const YamlEntry& section) {
    constexpr std::array<std::string_view, 2> kOthers = {"equations", "sharding"};
    if (std::find(kOthers.begin(), kOthers.end(), section.key) == kOthers.end()) return false;
    messages.add(section.place, section.key, "expected no such section beside 'training'");
    return true;
  });
}

}  // namespace

TrainingConfig read_training_config(YamlNode root, const Place& start, InputMessages& messages) {
  TrainingConfig config;
  Task& task = config.task;
  const std::size_t before = messages.count();
  refuse_sections(root, messages);
  MapReader reader(root, "", start, messages);
  if (const YamlEntry* section = reader.required("workload")) read_model(*section, task, messages);
  if (const YamlEntry* section = reader.required("system")) read_machine(*section, task, messages);
  if (const YamlEntry* section = reader.optional("price")) {
    read_price(*section, task.machine, messages);
  }
  if (const YamlEntry* section = reader.optional("power")) {
    read_power(*section, task.machine, messages);
  }
  if (const YamlEntry* section = reader.optional("execution")) {
    read_execution_of(*section, task, messages);
  }
  if (const YamlEntry* section = reader.optional("parallelism")) {
    read_role_degrees(*section, task, messages);
  }
  // Against a model or a machine that is wrong nothing can be checked.
  if (const YamlEntry* choices = reader.required("training")) {
    read_plan_choices(*choices, messages.count() == before, task, messages);
  }
  if (const YamlEntry* section = reader.optional("search")) {
    read_object(*section, config.search, messages);
  }
  reader.finish();
  if (messages.count() == before) check_plan_choices(root, task, messages);
  return config;
}

}  // namespace dfsearch
