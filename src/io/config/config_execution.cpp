// The sections `execution`, `sharding`, `equations` and `search`.

#include "io/config/config_execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "io/config/config_technology.hpp"
#include "model/layer/sharding.hpp"

namespace dfsearch {
namespace {

// More than any graph has kernels; a search may keep something per partition.
constexpr std::int64_t kMostPartitions = 1'000'000;

/// The map of `pins` in a section, if it is there and a map.
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
      std::vector<std::string_view> names;
      for (const Kernel& kernel : graph_.kernels()) names.push_back(kernel.name);
      near = suggestion(entry.key, names);
    }
    messages.add(entry.place, "pins", "unknown kernel " + in_quotes(entry.key) + near);
    return std::nullopt;
  }

 private:
  const DataflowGraph& graph_;
  std::unordered_map<std::string_view, KernelId> ids_;
};

void check_shardable(const YamlEntry& pin, const Kernel& kernel, Loop loop,
                     InputMessages& messages) {
  const std::vector<Loop> loops = shardable_loops(kernel);
  if (std::find(loops.begin(), loops.end(), loop) != loops.end()) return;
  std::vector<std::string_view> names;
  for (const Loop allowed : loops) names.emplace_back(name_of(allowed));
  messages.add(
      pin.value.place, pin.key,
      fmt::format("cannot be sharded on {}, expected {}", name_of(loop), joined_choices(names)));
}

/// What a preset says of the problem, and of chips.
void set_preset(const YamlEntry& entry, Problem& problem, TechnologyEquations& technology,
                InputMessages& messages) {
  using Preset = std::tuple<Equations, TechnologyEquations, ShardingChoice>;
  const Preset physical(Equations::physical(), TechnologyEquations::physical(),
                        ShardingChoice::Joint);
  const Preset published(Equations::published(), TechnologyEquations::published(),
                         ShardingChoice::LeastBytes);
  const auto preset =
      read_choice<Preset>(entry,
                          {{"physical", physical},
                           {"published", published},
                           // Named in messages; whoever reads a config has looked for it before.
                           {"calculon", physical}},
                          messages);
  if (preset) std::tie(problem.equations, technology, problem.sharding) = *preset;
}

void read_virtual_stages(MapReader& reader, Equations& equations) {
  const YamlEntry* entry = reader.optional("virtual_stages");
  if (!entry) return;
  const std::string& text = entry->value.scalar;
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) {
    if (const auto stages = read_count(*entry, {}, reader.messages())) {
      equations.virtual_stages = VirtualStages::Fixed;
      equations.fixed_virtual_stages = *stages;
    }
    return;
  }
  if (text == "layers") {
    equations.virtual_stages = VirtualStages::Layers;
  } else if (text == "layers_minus_one") {
    equations.virtual_stages = VirtualStages::LayersMinusOne;
  } else {
    reader.messages().add(
        entry->value.place, entry->key,
        "expected layers, layers_minus_one or a number, got " + entry->value.description());
  }
}

template <class Rule>
void read_rule(MapReader& reader, std::string_view key, const Choices<Rule>& choices, Rule& rule) {
  rule = reader.optional_choice<Rule>(key, choices).value_or(rule);
}

/// The switches of what published runs count in a way of their own.
void read_rules(MapReader& reader, Equations& equations) {
  read_rule<LatencyRule>(reader, "latency",
                         {{"hops", LatencyRule::Hops}, {"all_reduces", LatencyRule::AllReduces}},
                         equations.latency);
  read_rule<LinkCount>(reader, "links",
                       {{"per_chip", LinkCount::PerChip}, {"per_group", LinkCount::PerGroup}},
                       equations.links);
  read_rule<PipelineTime>(reader, "pipeline",
                          {{"schedule", PipelineTime::Schedule}, {"bubble", PipelineTime::Bubble}},
                          equations.pipeline);
  read_rule<LoneKernels>(reader, "lone_kernels",
                         {{"streamed", LoneKernels::Streamed}, {"whole", LoneKernels::Whole}},
                         equations.lone_kernels);
  read_rule<GridSides>(reader, "grid", {{"members", GridSides::Members}, {"all", GridSides::All}},
                       equations.grid);
  read_rule<SpilledTime>(reader, "spilled",
                         {{"sum", SpilledTime::Sum}, {"mean", SpilledTime::Mean}},
                         equations.spilled);
}

/// The switches of the network.
void read_network_switches(MapReader& reader, Equations& equations) {
  equations.all_to_all = reader
                             .optional_choice<AllToAllTime>(
                                 "all_to_all", {{"per_dimension", AllToAllTime::PerDimension},
                                                {"bisection", AllToAllTime::Bisection}})
                             .value_or(equations.all_to_all);
  equations.all_to_all_pairs =
      reader
          .optional_choice<PairCount>("all_to_all_pairs", {{"n2_2", PairCount::HalfSquare},
                                                           {"n2_4", PairCount::QuarterSquare},
                                                           {"n_n1_2", PairCount::AllPairs},
                                                           {"auto", PairCount::Auto}})
          .value_or(equations.all_to_all_pairs);
  const YamlEntry* entry = reader.optional("dlrm_gradient_bandwidth");
  if (!entry) return;
  equations.dlrm_gradient_bandwidth.reset();
  if (entry->value.scalar == "network") return;
  constexpr Range<BytesPerSecond> kBandwidth{BytesPerSecond(1.0), BytesPerSecond(1e24)};
  equations.dlrm_gradient_bandwidth = read_quantity(*entry, kBandwidth, reader.messages());
}

}  // namespace

Seconds read_launch_overhead(const YamlEntry& section, InputMessages& messages) {
  constexpr Range<Seconds> kOverhead{Seconds(0.0), Seconds(1e3)};
  const YamlEntry* entry = section.value.find("launch_overhead");
  return entry ? read_quantity(*entry, kOverhead, messages).value_or(Seconds()) : Seconds();
}

Execution read_execution(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  Execution execution;
  execution.style =
      reader
          .optional_choice<Style>(
              "style", {{"dataflow", Style::Dataflow}, {"kernel_by_kernel", Style::KernelByKernel}})
          .value_or(Style::Dataflow);
  execution.partitions = reader.optional_count("partitions", {.least = 1, .most = kMostPartitions});
  execution.overlap =
      reader
          .optional_choice<Overlap>("overlap", {{"perfect", Overlap::Perfect},
                                                {"none", Overlap::None},
                                                {"compute_memory", Overlap::ComputeMemory}})
          .value_or(Overlap::Perfect);
  // Less than a billionth of the peak is a mistake, and zero would take forever.
  execution.compute_utilization = reader.optional_number("compute_utilization", {1e-9, 1.0});
  if (const YamlEntry* levels = reader.optional("levels")) {
    execution.levels = read_flag(*levels, messages).value_or(false);
  }
  reader.optional("launch_overhead");  // of GEMMs alone: read_launch_overhead
  pins_of(reader);
  reader.finish();
  return execution;
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

std::vector<std::optional<Loop>> read_sharding(const YamlEntry& section, const DataflowGraph* graph,
                                               InputMessages& messages) {
  MapReader reader(section, messages);
  const YamlNode* pins = pins_of(reader);
  reader.finish();
  std::vector<std::optional<Loop>> loops;
  if (!pins || pins->entries.empty()) return loops;
  std::optional<KernelLookup> kernels;
  if (graph) {
    kernels.emplace(*graph);
    loops.resize(graph->kernel_count());
  }
  const Choices<Loop> choices = named({Loop::Outer, Loop::M, Loop::K, Loop::N, Loop::None});
  for (const YamlEntry& pin : pins->entries) {
    const std::optional<Loop> loop = read_choice(pin, choices, messages);
    if (!kernels) continue;
    const std::optional<KernelId> kernel = kernels->find(pin, messages);
    if (!kernel || !loop) continue;
    check_shardable(pin, graph->kernel(*kernel), *loop, messages);
    loops[kernel->index()] = loop;
  }
  return loops;
}

void read_equations(const YamlEntry* section, Problem& problem, TechnologyEquations& technology,
                    InputMessages& messages) {
  problem.sharding = ShardingChoice::Joint;
  if (!section) return;
  if (section->value.type == YamlNode::Type::Scalar) {
    set_preset(*section, problem, technology, messages);
    return;
  }
  MapReader reader(*section, messages);
  if (const YamlEntry* preset = reader.optional("preset")) {
    set_preset(*preset, problem, technology, messages);
  }
  Equations& equations = problem.equations;
  equations.all_reduce_passes =
      static_cast<int>(reader.optional_count("all_reduce_passes", {.least = 1, .most = 2})
                           .value_or(equations.all_reduce_passes));
  read_virtual_stages(reader, equations);
  equations.layout_conversion_bytes =
      reader
          .optional_choice<ConversionBytes>(
              "layout_conversion_bytes",
              {{"full", ConversionBytes::Full}, {"shard", ConversionBytes::Shard}})
          .value_or(equations.layout_conversion_bytes);
  equations.phases =
      reader
          .optional_choice<SplitPhases>(
              "phases", {{"separate", SplitPhases::Separate}, {"halves", SplitPhases::Halves}})
          .value_or(equations.phases);
  equations.weight_traffic = reader
                                 .optional_choice<WeightTraffic>(
                                     "weight_traffic", {{"per_step", WeightTraffic::PerStep},
                                                        {"resident", WeightTraffic::Resident},
                                                        {"per_sample", WeightTraffic::PerSample}})
                                 .value_or(equations.weight_traffic);
  equations.shards =
      reader.optional_choice<Shards>("shards", {{"whole", Shards::Whole}, {"even", Shards::Even}})
          .value_or(equations.shards);
  equations.layer_seams =
      reader
          .optional_choice<LayerSeams>(
              "layer_seams", {{"charged", LayerSeams::Charged}, {"free", LayerSeams::Free}})
          .value_or(equations.layer_seams);
  equations.shapes = reader
                         .optional_choice<Shapes>("shapes", {{"checked", Shapes::Checked},
                                                             {"unchecked", Shapes::Unchecked}})
                         .value_or(equations.shapes);
  read_network_switches(reader, equations);
  read_rules(reader, equations);
  read_technology_switches(reader, technology);
  reader.finish();
}

SearchSettings read_search(const YamlEntry& section, Problem& problem, InputMessages& messages) {
  constexpr Range<Seconds> kTimeLimit{Seconds(1e-3), Seconds(1e9)};
  constexpr Range<Bytes> kMemoryLimit{kLeastMemoryLimit, Bytes(1e18)};
  MapReader reader(section, messages);
  SearchSettings settings;
  problem.sharding =
      reader
          .optional_choice<ShardingChoice>("sharding", {{"least_bytes", ShardingChoice::LeastBytes},
                                                        {"joint", ShardingChoice::Joint}})
          .value_or(problem.sharding);
  problem.objective =
      reader
          .optional_choice<Objective>(
              "objective",
              named({Objective::StepTime, Objective::CostEfficiency, Objective::PowerEfficiency}))
          .value_or(Objective::StepTime);
  settings.gap = reader.optional_number("gap", {0.0, 1.0}).value_or(0.0);
  settings.time_limit =
      reader.optional_quantity("time_limit", kTimeLimit).value_or(Seconds::infinity());
  settings.memory_limit = reader.optional_quantity("memory_limit", kMemoryLimit);
  reader.finish();
  return settings;
}

SearchSettings read_settings(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  SearchSettings settings;
  settings.gap = reader.optional_number("gap", {0.0, 1.0}).value_or(0.0);
  settings.time_limit =
      reader.optional_quantity<Seconds>("time_limit", {Seconds(1e-3), Seconds(1e9)})
          .value_or(Seconds::infinity());
  settings.memory_limit =
      reader.optional_quantity<Bytes>("memory_limit", {kLeastMemoryLimit, Bytes(1e18)});
  reader.finish();
  return settings;
}

}  // namespace dfsearch
