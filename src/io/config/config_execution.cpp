// The sections `execution`, `sharding`, `equations` and `search`.

#include "io/config/config_execution.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "io/schema/read_schema.hpp"
#include "io/text/loop_choices.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/machine_schema.hpp"
#include "model/problem_schema.hpp"
#include "technology/technology_schema.hpp"

namespace dfsearch {
namespace {

/// The value of `pins` in a section, or null; reports one that is no map.
const YamlNode* pins_of(MapReader& reader) {
  const YamlEntry* entry = reader.optional("pins");
  if (!entry) return nullptr;
  if (entry->value.type == YamlNode::Type::Map) return &entry->value;
  reader.messages().add(entry->value.place, "pins",
                        "expected a map from kernels, got " + entry->value.description());
  return nullptr;
}

/// The kernels of a graph by name; reports the ones it does not have.
class KernelLookup {
 public:
  explicit KernelLookup(const DataflowGraph& graph) : graph_(graph) {
    for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
      ids_.emplace(graph.kernels()[i].name, KernelId(i));
    }
  }

  std::optional<KernelId> find(const YamlEntry& entry, InputMessages& messages) const {
    const auto found = ids_.find(entry.key);
    if (found != ids_.end()) return found->second;
    std::string near;
    if (messages.wants_more()) {
      near = suggestion(entry.key, names_of(graph_.kernels(), &Kernel::name));
    }
    messages.add(entry.place, "pins", "unknown kernel " + in_quotes(entry.key) + near);
    return std::nullopt;
  }

 private:
  const DataflowGraph& graph_;
  std::unordered_map<std::string_view, KernelId> ids_;
};

void check_shardable(const YamlEntry& pin, const Problem& problem, const Kernel& kernel,
                     LoopPair loops, InputMessages& messages) {
  const LoopSet pairs = shardable_pairs(problem, kernel);
  if (pairs.contains(loops)) return;
  const auto names = names_of(
      pairs, [](LoopPair pair) -> auto& { return loop_pair_names()[pair.index()]; });
  messages.add(
      pin.value.place, pin.key,
      fmt::format("cannot be sharded on {}, expected {}", name_of(loops), joined_choices(names)));
}

void set_preset(const YamlEntry& entry, EquationsSection& text, InputMessages& messages) {
  Preset preset = Preset::Physical;
  if (!read_value(entry, schema_of<EquationsSection>().fields.front(), &preset, messages)) return;
  if (preset != Preset::Published) return;
  text.equations = Equations::published();
  text.technology = TechnologyEquations::published();
  text.sharding = ShardingChoice::LeastBytes;
}

constexpr Interval kTimeLimits{1e-3, 1e9};
constexpr Interval kMemoryLimits{kLeastMemoryLimit.in_base_units(), 1e18};
constexpr Type kPins = map_to(TypeOf<std::int64_t>::type);
constexpr Type kLoopPins = map_to(TypeOf<LoopPair>::type);

}  // namespace

const Schema& schema_of(Rows<ExecutionSection>) {
  using E = ExecutionSection;
  static constexpr Field kFields[] = {
      keys_of<&E::execution>(),
      field<&E::launch_overhead>("launch_overhead", "time of a launch, for `dfsearch gemm` alone",
                                 {.limits = kLatencyLimits}),
      by_hand("pins", "partitions of kernels by name, counted from 0", kPins,
              {.limits = {0, static_cast<double>(kLargestCount)}, .preset = "none"})};
  return schema<E, kFields>("execution");
}

const Schema& schema_of(Rows<ShardingSection>) {
  static constexpr Field kFields[] = {
      field<&ShardingSection::axes>(
          "axes",
          "2: the tensor group is a grid, and a kernel is sharded on one loop along each axis. The "
          "innermost dimension of more than one chip is the first axis, all others the second",
          {.limits = {1, kTensorAxes}}),
      by_hand("pins", "sharded loops of kernels by name", kLoopPins, {.preset = "none"})};
  return schema<ShardingSection, kFields>("sharding");
}

const Schema& schema_of(Rows<EquationsSection>) {
  static constexpr Field kFields[] = {by_hand("preset", "values of all other switches",
                                              TypeOf<Preset>::type, {.preset = "physical"}),
                                      keys_of<&EquationsSection::equations>(),
                                      keys_of<&EquationsSection::technology>()};
  return schema<EquationsSection, kFields>("equations");
}

const Schema& schema_of(Rows<SearchSettings>) {
  using S = SearchSettings;
  static constexpr Field kFields[] = {
      field<&S::gap>("gap", "stop when (incumbent - lower bound) / incumbent is at most this",
                     {.limits = {0, 1}}),
      field<&S::time_limit>("time_limit", "of the whole run, reading the config included",
                            {.limits = kTimeLimits, .preset = "none"}),
      field<&S::memory_limit>(
          "memory_limit",
          "memory of the search; near this limit it continues depth first and stores no more "
          "tables",
          {.limits = kMemoryLimits, .preset = "half of the machine"})};
  return schema<S, kFields>("search");
}

const Schema& schema_of(Rows<SearchSection>) {
  using S = SearchSection;
  static constexpr Field kFields[] = {
      field<&S::sharding>(
          "sharding",
          "`joint`: loops are searched together with all other decisions; `least_bytes`: the loops "
          "that communicate least are chosen first, as in published runs. If other loops might "
          "cost less, the `scope` of results states this ([results.md](results.md#scope))",
          {.preset = "joint; with the preset `published` least_bytes"}),
      field<&S::objective>(
          "objective",
          "what is minimised. `step_time`: the step time; `cost_efficiency`, `power_efficiency`: "
          "its product with the price or the power of the machine, which must be above 0, for the "
          "most FLOP/s per dollar or watt; `bottleneck`, with `stages: graph`: the time of the "
          "slowest stage for a sample"),
      keys_of<&S::settings>()};
  return schema<S, kFields>("search of mappings");
}

ExecutionSection read_execution(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  ExecutionSection text;
  read_keys(reader, schema_of<ExecutionSection>(), &text);
  pins_of(reader);
  reader.finish();
  return text;
}

std::vector<PartitionPin> read_partition_pins(const YamlEntry& section, const DataflowGraph& graph,
                                              InputMessages& messages) {
  std::vector<PartitionPin> pins;
  const YamlEntry* entry = section.value.find("pins");
  if (!entry || entry->value.type != YamlNode::Type::Map) return pins;
  const KernelLookup kernels(graph);
  for (const YamlEntry& pin : entry->value.entries) {
    const std::optional<KernelId> kernel = kernels.find(pin, messages);
    const std::optional<std::int64_t> partition = read_count(pin, {.least = 0}, messages);
    if (!kernel || !partition) continue;
    pins.push_back({.kernel = *kernel, .partition = *partition, .place = pin.value.place});
  }
  return pins;
}

void read_sharding(const YamlEntry& section, const DataflowGraph* graph, Problem& problem,
                   InputMessages& messages) {
  MapReader reader(section, messages);
  ShardingSection text;
  read_keys(reader, schema_of<ShardingSection>(), &text);
  problem.tensor_axes = text.axes;
  if (text.axes > 1 && problem.sharding == ShardingChoice::LeastBytes) {
    const YamlEntry* axes = section.value.find("axes");
    messages.add(axes->value.place, axes->key,
                 "expected 1 with 'search.sharding: least_bytes', which chooses the sharding "
                 "before the degrees");
  }
  const YamlNode* pins = pins_of(reader);
  reader.finish();
  std::vector<std::optional<LoopPair>>& loops = problem.sharding_pins;
  if (!pins || pins->entries.empty()) return;
  std::optional<KernelLookup> kernels;
  if (graph) {
    kernels.emplace(*graph);
    loops.resize(graph->kernel_count());
  }
  const Choices<LoopPair> choices = loop_choices(text.axes);
  for (const YamlEntry& pin : pins->entries) {
    const std::optional<LoopPair> loop = read_choice(pin, choices, messages);
    if (!kernels) continue;
    const std::optional<KernelId> kernel = kernels->find(pin, messages);
    if (!kernel || !loop) continue;
    check_shardable(pin, problem, graph->kernel(*kernel), *loop, messages);
    loops[kernel->index()] = loop;
  }
}

void read_equations(const YamlEntry* section, Problem& problem, TechnologyEquations& technology,
                    InputMessages& messages) {
  EquationsSection text;
  if (section && section->value.type == YamlNode::Type::Scalar) {
    set_preset(*section, text, messages);
  } else if (section) {
    MapReader reader(*section, messages);
    if (const YamlEntry* preset = reader.optional("preset")) set_preset(*preset, text, messages);
    read_keys(reader, schema_of<EquationsSection>(), &text);
    reader.finish();
  }
  problem.equations = text.equations;
  problem.sharding = text.sharding;
  technology = text.technology;
}

SearchSettings read_search(const YamlEntry& section, Problem& problem, InputMessages& messages) {
  SearchSection text{.sharding = problem.sharding};
  read_object(section, text, messages);
  problem.sharding = text.sharding;
  problem.objective = text.objective;
  return text.settings;
}

}  // namespace dfsearch
