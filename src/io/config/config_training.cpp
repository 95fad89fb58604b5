// The sections of a config with `training`: a workload by rule, a machine whose dimensions may
// serve several roles, rates by the work of a kernel, and the given decisions of the plan.

#include "io/config/config_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/workloads/blocks/mixed_layers.hpp"
#include "graph/workloads/blocks/model_shape.hpp"
#include "graph/workloads/blocks/prediction_layers.hpp"
#include "io/config/config_execution.hpp"
#include "io/config/shelf.hpp"
#include "io/config/workload_text.hpp"
#include "io/schema/read_schema.hpp"
#include "model/training/plan.hpp"

namespace dfsearch {
namespace {

using training::Role;
using training::Task;

// No machine has more chips; up to this number a search stops in time.
constexpr std::int64_t kMostChips = std::int64_t{1} << 24;

/// Refuses a count that only other configs may have.
void check_most(const YamlEntry& section, std::string_view key, std::int64_t count,
                std::int64_t most, InputMessages& messages) {
  if (count <= most) return;
  messages.add(section.value.find(key)->value.place, key,
               fmt::format("expected at most {} with 'training', got {}", most, count));
}

/// Reads the layer by rule that the workload describes, and the size of its data.
void read_model(const YamlEntry& section, Task& task, InputMessages& messages) {
  const std::optional<WorkloadSection> text = read_workload_keys(section, messages);
  if (!text) return;
  const Workload* const workload = &text->workload;
  if (workload->kind != WorkloadKind::LlmTraining) {
    messages.add(
        section.value.find("kind")->value.place, "kind",
        fmt::format("expected llm_training with 'training', got {}", name_of(workload->kind)));
    return;
  }
  if (!workload->transformer) {
    messages.add(section.place, "workload",
                 "expected a model by rule with 'training', by 'model' or a key like "
                 "'vocabulary' (docs/transformers.md)");
    return;
  }
  const Transformer& model = *workload->transformer;
  check_most(section, "layers", model.layers, kMostLayers, messages);
  if (model.alternates() && model.experts && model.experts->dense_layers > 0) {
    messages.add(section.value.find("full_attention_every")->value.place, "full_attention_every",
                 "not allowed with 'experts.dense_layers': a plan has at most two kinds of layers; "
                 "remove one of the two keys");
  }
  if (const YamlEntry* repeated = section.value.find("repeat_layers")) {
    messages.add(repeated->place, "repeat_layers",
                 "not allowed with 'training', which distributes single layers over stages; remove "
                 "this key");
  }
  if (workload->tile) {
    messages.add(
        section.value.find("tile")->place, "tile",
        "not allowed with 'training', whose kernels work on whole micro-batches; remove this key");
  }
  task.model = model;
  task.lora = text->llm.lora;
  task.global_batch = workload->global_batch;
  if (workload->micro_batch) task.choices.micro_batches = {*workload->micro_batch};
  task.pass = {.tokens = workload->sequence,
               .word = workload->word,
               .fused = text->llm.pass.fused,
               .causal = text->llm.pass.causal};
}

/// Checks that adapters have a stack, and linear layers that it times one by one.
void check_lora(const YamlEntry& workload, const Task& task, InputMessages& messages) {
  if (!task.lora) return;
  using memory::Target;
  const auto refuse = [&](const std::string& what) {
    messages.add(workload.value.find("lora")->value.place, "lora", what);
  };
  const bool in_mlp =
      task.lora->has(Target::Gate) || task.lora->has(Target::Up) || task.lora->has(Target::Down);
  if (!task.stack) refuse("only valid with 'execution.stack'; set that or remove this key");
  if (task.model.latent) refuse("not allowed in a model with latent attention; remove this key");
  if (task.model.mixed)
    refuse("not allowed in a model with several kinds of layers; remove this key");
  if (task.model.experts && in_mlp)
    refuse("experts cannot have adapters, expected 'targets' without gate, up and down");
}

/// Removes and returns the roles of the dimensions; in other configs these are strategies.
std::vector<std::optional<Role>> take_roles(YamlEntry& section, InputMessages& messages) {
  std::vector<std::optional<Role>> roles;
  YamlEntry* network = section.value.find("network");
  if (!network) return roles;
  for (YamlNode& dimension : network->value.items) {
    std::optional<Role>& role = roles.emplace_back();
    const YamlEntry* entry = dimension.find(kRoleOfDimension.key);
    if (entry) read_value(*entry, kRoleOfDimension, &role, messages);
    std::erase_if(dimension.entries,
                  [](const YamlEntry& e) { return e.key == kRoleOfDimension.key; });
  }
  return roles;
}

/// The peak of products of words of this size; cores, lanes and stages determine that of 16 bits.
FlopsPerSecond peak_of_word(const Machine& machine, Bytes word) {
  const Math math = math_of_word(word, MathLibrary::Torch, machine.peaks);
  const auto own = product_peak(machine.peaks, math);
  const auto of_16bit = product_peak(machine.peaks, Math::Bf16);
  const FlopsPerSecond peak = machine.accelerator.peak();
  return own && of_16bit ? peak * (own->rate / of_16bit->rate) : peak;
}

void read_machine(YamlEntry section, Task& task, InputMessages& messages) {
  task.choices.network = take_roles(section, messages);
  auto text = read_system(section, 1, SystemUse::Whole, messages);
  if (!text) return;
  if (text->design) {
    messages.add(section.value.find("technology")->place, "technology",
                 "not allowed with 'training'; expected 'accelerator' and 'memory' instead, which "
                 "'dfsearch chip' prints for a technology");
    return;
  }
  check_most(section, "chips", text->system.chips, kMostChips, messages);
  Machine& machine = task.machine;
  machine = text->system;
  machine.matrix.peak = peak_of_word(machine, task.pass.word);
  machine.vector.peak = machine.accelerator.peak() * 0.5;
  // One degree may be left out: it is the number of chips over the product of the others.
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
    messages.add(section.value.find("network")->value.place, "network",
                 fmt::format("expected a degree in all dimensions but one, got {} dimensions "
                             "without; --set system.network.0.degree=N sets that of the innermost",
                             open));
    return;
  }
  std::vector<bool> divided;
  for (std::size_t d = 0; d < machine.network.size(); ++d) {
    if (!machine.network[d].degree) machine.network[d].degree = left;
    divided.push_back(!task.choices.network[d]);
  }
  check_divisions(machine, divided, section, messages);
}

void set_engine(const EngineSection& text, Engine& engine) {
  engine.peak = text.peak.value_or(engine.peak);
  engine.efficiency = text.efficiency;
}

void set_rates(const RatesSection& rates, Machine& machine) {
  if (rates.matrix) set_engine(*rates.matrix, machine.matrix);
  if (rates.vector) {
    if (rates.vector->of_matrix) {
      machine.vector.peak = machine.matrix.peak * *rates.vector->of_matrix;
    }
    set_engine(rates.vector->engine, machine.vector);
  }
  if (rates.memory) machine.memory[0].efficiency = *rates.memory;
  if (rates.second && machine.second_memory()) {
    machine.memory[1].efficiency = *rates.second;
  }
}

/// Name of the file of a measured chip.  If its keys come from several files, it is the one with
/// the fewest keys, since a file on top of another one has fewer.
std::string chip_name(const YamlEntry& chip) {
  std::map<std::string, int> keys;
  for (const YamlEntry& entry : chip.value.entries) {
    const Place& place = entry.value.place;
    const bool is_own = chip.place.source && place.source && *place.source == *chip.place.source;
    if (place.source && !place.is_override() && !is_own) ++keys[*place.source];
  }
  const auto least = std::min_element(
      keys.begin(), keys.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
  return least == keys.end() ? "" : std::filesystem::path(least->first).stem().string();
}

/// Whether some key of a map comes from the shelf.
bool has_shelf_keys(const YamlEntry& section) {
  const std::vector<YamlEntry>& entries = section.value.entries;
  return std::any_of(entries.begin(), entries.end(), [](const YamlEntry& entry) {
    const Place& place = entry.value.place;
    return place.source && is_on_shelf(*place.source);
  });
}

/// Refuses keys that only tables of runs may use, if they are beside the file of a chip or stack.
void refuse_keys_of_runs(const YamlEntry* section, const Schema& schema, InputMessages& messages) {
  if (section == nullptr) return;
  const auto is_own = [&](const YamlEntry& entry) {
    const Place& place = entry.value.place;
    return place.is_override() ||
           (section->place.source && *place.source == *section->place.source);
  };
  const std::vector<YamlEntry>& entries = section->value.entries;
  if (std::all_of(entries.begin(), entries.end(), is_own)) return;  // no file is named
  for (const Field& row : schema.fields) {
    const YamlEntry* entry = section->value.find(row.key);
    if (entry == nullptr || (row.flags & kNoCost) == 0 || !is_own(*entry)) continue;
    messages.add(entry->place, row.key,
                 "only 'dfsearch predict' reads this key, from tables of runs; remove it: a plan "
                 "uses the degrees of 'system.network' and 'training.layers'");
  }
}

/// With a stack, sets the capacity to the memory that the driver shows, unless the config or a file
/// outside the shelf has a capacity.
void set_capacity(const YamlEntry* system, const YamlEntry& execution, Task& task,
                  InputMessages& messages) {
  const auto is_own = [](const YamlEntry* entry) {
    if (entry == nullptr) return false;
    const Place& place = entry->value.place;
    return place.is_override() || !place.source || !is_on_shelf(*place.source);
  };
  const auto in = [](const YamlEntry* section, std::string_view key) {
    return section == nullptr ? nullptr : section->value.find(key);
  };
  const YamlEntry* const visible = in(execution.value.find("chip"), "visible");
  if (!is_own(in(in(system, "memory"), "capacity"))) {
    task.machine.memory[0].capacity = task.stack->chip.visible;
  } else if (is_own(visible)) {
    messages.add(visible->place, "visible",
                 "not allowed with 'system.memory.capacity', which overrides it; remove one of the "
                 "two keys");
  }
}

void read_execution_of(const YamlEntry& section, Task& task, InputMessages& messages) {
  PlanExecutionSection text;
  read_object(section, text, messages);
  refuse_keys_of_runs(section.value.find("chip"), schema_of<stack::MeasuredChip>(), messages);
  refuse_keys_of_runs(section.value.find("stack"), schema_of<stack::Stack>(), messages);
  task.style = text.style;
  task.partitions = text.partitions;
  task.overlap = text.overlap;
  if (text.style == Style::Dataflow && !section.value.find("overlap")) {
    task.overlap = Overlap::Perfect;
  }
  if (text.compute_utilization) {
    task.machine.matrix.efficiency.steps = {{.from = Flops{}, .share = *text.compute_utilization}};
    task.machine.vector.efficiency = task.machine.matrix.efficiency;
  }
  if (text.efficiency) set_rates(*text.efficiency, task.machine);
  if (text.stack && text.chip) {
    task.stack.emplace(stack::Setup{.stack = *text.stack,
                                    .chip = *text.chip,
                                    .precision = text.precision.value_or(stack::Precision::Bf16),
                                    .scenario = {}});
    task.stack->chip.name = chip_name(*section.value.find("chip"));
    // Memory is a guess for offloaded layers, and for a stack without recomputation `full`.
    const stack::Stack& stack = task.stack->stack;
    const stack::Software& software = stack.software;
    const auto& again = stack.recompute;
    const bool has_full = again.empty() || std::find(again.begin(), again.end(),
                                                     training::Recompute::Full) != again.end();
    task.stack->is_known =
        has_shelf_keys(*section.value.find("stack")) && has_full && software.offload_layers == 0;
    add_prediction_layers(task.model, software.mtp);
  }
}

/// Reads the choices; checks nothing further if the model or the machine is wrong.
void read_plan_choices(const YamlEntry& section, bool others_are_right, Task& task,
                       InputMessages& messages) {
  MapReader reader(section, messages);
  Schema rows = schema_of<Task>();
  if (!others_are_right) rows.check = nullptr;
  read_keys(reader, rows, &task);
  reader.finish();
}

/// Refuses keys that a stack fixes.  It fixes the word of all values but the inputs of linear
/// layers; its attention kernel fixes whether attention is fused, and fused attention skips masked
/// pairs.
void refuse_beside_stack(const Task& task, const YamlEntry& section, InputMessages& messages) {
  const auto refuse = [&](std::string_view key, bool is_wrong, const std::string& what) {
    const YamlEntry* entry = section.value.find(key);
    if (entry != nullptr && is_wrong) messages.add(entry->value.place, key, what);
  };
  refuse("word", task.pass.word != Bytes(stack::kWord),
         fmt::format("expected {} with 'execution.stack', which keeps weights and activations in "
                     "16 bits, got {}; 'execution.precision' sets the format of linear layers",
                     to_text(Bytes(stack::kWord)), to_text(task.pass.word)));
  const stack::Attention kernel = task.stack->stack.attention;
  const bool is_fused = kernel != stack::Attention::Unfused;
  refuse("attention", task.pass.fused != is_fused,
         fmt::format("expected {} with a stack whose 'attention' is {}",
                     is_fused ? "fused" : "unfused", name_of(kernel)));
  refuse("mask", task.pass.causal != is_fused,
         fmt::format("expected {} with a stack whose 'attention' is {}",
                     is_fused ? "causal" : "full", name_of(kernel)));
}

void refuse_sections(YamlNode& root, InputMessages& messages) {
  std::erase_if(root.entries, [&](const YamlEntry& section) {
    constexpr std::array<std::string_view, 2> kOthers = {"equations", "sharding"};
    if (std::find(kOthers.begin(), kOthers.end(), section.key) == kOthers.end()) return false;
    messages.add(section.place, section.key, "not allowed with 'training'; remove this section");
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
  const bool has_workload = messages.count() == before;
  if (const YamlEntry* section = reader.required("system")) read_machine(*section, task, messages);
  read_prices(reader, &task.machine);
  if (const YamlEntry* section = reader.optional("execution")) {
    read_execution_of(*section, task, messages);
  }
  if (const YamlEntry* section = reader.optional("parallelism")) {
    read_object(*section, task.choices, messages);
  }
  if (const YamlEntry* choices = reader.required("training")) {
    read_plan_choices(*choices, messages.count() == before, task, messages);
  }
  if (const YamlEntry* section = reader.optional("search")) {
    read_object(*section, config.search, messages);
  }
  reader.finish();
  if (const YamlEntry* workload = reader.optional("workload")) {
    check_lora(*workload, task, messages);
  }
  if (task.model.mixed && !task.stack) {
    messages.add(start, "execution",
                 fmt::format("a plan without a stack needs the graphs of all layers, which the "
                             "layers {} do not have; expected 'stack' and 'chip', such as --set "
                             "execution='{{stack: te, chip: h100_80gb}}'",
                             layer_summary(task.model.mixed->shape.stacks.front())));
  }
  if (task.stack) {
    if (has_workload) refuse_beside_stack(task, *reader.optional("workload"), messages);
    const YamlEntry* system = reader.optional("system");
    set_capacity(system, *reader.optional("execution"), task, messages);
    if (system) refuse_meshes(task.machine, *system, messages);
  }
  if (messages.count() == before) check_plan_rules(root, task, messages);
  return config;
}

}  // namespace dfsearch
