
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "graph/workloads/blocks/model_shape.hpp"
#include "graph/workloads/llm/layer_list_graph.hpp"
#include "io/config/config_execution.hpp"
#include "io/config/config_readers.hpp"
#include "io/config/workload_text.hpp"
#include "model/kernel_rates.hpp"
#include "model/layer/level_traffic.hpp"
#include "model/objective_rows.hpp"

namespace dfsearch {
namespace {

/// Checks that the graph is one layer, or several layers that the model repeats.
void check_one_kind(const Workload& workload, const YamlEntry& section, InputMessages& messages) {
  const auto& model = workload.transformer;
  if (model && model->mixed) {
    const std::string layers = layer_summary(model->mixed->shape.stacks.front());
    if (workload.graph.kernel_count() == 0) {
      messages.add(section.place, "family",
                   fmt::format("a mapping needs the graph of a layer, which the layers {} do not "
                               "have: {}; expected 'training' with 'execution.stack' (a plan of a "
                               "step) or kind llm_serving (a deployment)",
                               layers, layer_list_graph(*model, {}, PassKind::Prefill, 0).why));
    } else if (const std::string blocks = model->mixed->unmeasured(); !blocks.empty()) {
      messages.note(
          fmt::format("no measured run contains the blocks {}: their scans are timed like matrix "
                      "products and elementwise work of the same size",
                      blocks));
    }
    return;
  }
  if (!model || !model->alternates() || workload.layers < model->layers) return;
  const YamlEntry* every = section.value.find("full_attention_every");
  messages.add(every ? every->value.place : section.place, "full_attention_every",
               fmt::format("expected a divisor of the {} layers, as a mapping repeats one graph "
                           "for all layers, got {}",
                           model->layers, model->full_attention_every));
}

/// Sets the strategy of all dimensions if the workload fixes it; a config may state the same one.
void resolve_defaults_of_strategies(const Workload& workload, Machine& system,
                                    const YamlEntry& section, InputMessages& messages) {
  if (workload.network_use == NetworkUse::Free) return;
  const bool data = workload.network_use == NetworkUse::Data;
  const Strategy strategy = data ? Strategy::Data : Strategy::Tensor;
  const YamlEntry* network = section.value.find("network");
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    if (system.network[d].strategy.value_or(strategy) != strategy) {
      messages.add(
          network->value.items[d].find("strategy")->value.place, "strategy",
          fmt::format(
              "this kind of workload uses every dimension for {}; expected that or no key, got {}",
              name_of(strategy), name_of(*system.network[d].strategy)));
    }
    system.network[d].strategy = strategy;
  }
}

/// If all chips have samples of their own, sets one sample for each, unless the config has a
/// number.
void settle_batch(const Machine& system, const YamlEntry& section, Workload& workload) {
  const bool has_preset =
      workload.kind == WorkloadKind::Graph && !section.value.find("global_batch");
  if (has_preset && workload.network_use == NetworkUse::Data) {
    workload.global_batch = system.chips / workload.copies;
  }
}

/// The data degree, if the config fixes it.
std::optional<std::int64_t> data_degree(const Workload& workload, const Machine& system) {
  if (workload.network_use == NetworkUse::Data) return system.chips / workload.copies;
  std::int64_t degree = 1;
  for (const NetworkDimension& dimension : system.network) {
    if (!dimension.strategy || (*dimension.strategy == Strategy::Data && !dimension.degree)) {
      return std::nullopt;
    }
    if (*dimension.strategy == Strategy::Data) degree *= *dimension.degree;
  }
  return degree;
}

void check_batch(const Workload& workload, const Machine& system, const YamlEntry& section,
                 InputMessages& messages) {
  const YamlEntry* global_batch = section.value.find("global_batch");
  const YamlEntry* micro_batch = section.value.find("micro_batch");
  const Place place =
      global_batch || micro_batch ? place_of_conflict({global_batch, micro_batch}) : section.place;
  // An open data degree is chosen among divisors.
  const std::int64_t data = data_degree(workload, system).value_or(1);
  if (workload.global_batch % data != 0) {
    messages.add(place, "global_batch",
                 fmt::format("expected a multiple of the data degree, {}, got {}", data,
                             workload.global_batch));
  } else if (workload.micro_batch && (workload.global_batch / data) % *workload.micro_batch != 0) {
    messages.add(place, "global_batch",
                 fmt::format("expected a multiple of data degree * micro_batch = {} * {}, got {}",
                             data, *workload.micro_batch, workload.global_batch));
  }
}

/// Pins of the graph, overridden by the pins of `execution`.
std::vector<std::optional<std::int64_t>> join_pins(const Problem& problem,
                                                   std::vector<PartitionPin> pins,
                                                   const std::vector<PartitionPin>& over,
                                                   InputMessages& messages) {
  if (pins.empty() && over.empty()) return {};
  pins.insert(pins.end(), over.begin(), over.end());
  std::vector<std::optional<std::int64_t>> joined(problem.workload.graph.kernel_count());
  const std::int64_t limit = problem.partition_limit();
  for (const PartitionPin& pin : pins) {
    joined[pin.kernel.index()] = pin.partition;
    if (pin.partition < limit) continue;
    messages.add(
        pin.place, problem.workload.graph.kernel(pin.kernel).name,
        fmt::format("expected a partition from 0 to {}, got {}", limit - 1, pin.partition));
  }
  return joined;
}

/// Checks that the price or power in the objective is given.
void check_objective(const ObjectiveRow& objective, const YamlEntry& search, bool has_section,
                     InputMessages& messages) {
  if (objective.section == nullptr || has_section) return;
  messages.add(search.value.find("objective")->value.place, "objective",
               fmt::format("{0} needs {1}s, expected '{1}: {{accelerator: {2}}}', or --set "
                           "{1}.accelerator={2}",
                           objective.name, objective.section, objective.unit));
}

/// Marks a chip as infeasible if a level cannot hold the smallest tile of a GEMM.
void add_small_levels(const Problem& problem, Chip& chip) {
  if (!chip.infeasible.empty() || holds_tiles(problem.system.levels, problem.workload.word)) return;
  for (std::size_t x = 0; x + 1 < chip.levels.size(); ++x) {
    const ChipLevel& level = chip.levels[x];
    if (words_of(level.share, problem.workload.word) >= 3) continue;
    const Component part = component_of(level.name);
    chip.infeasible.push_back(
        {part, BudgetClass::DieArea, 0.0, chip.split.area[part].in_base_units(), true});
  }
}

/// Checks that levels that take time are given, hold a tile, and have one dataflow.
void check_levels(const Config& config, const YamlEntry& execution, InputMessages& messages) {
  const Problem& problem = config.problem;
  if (!problem.execution.levels || config.design) return;
  const Place& place = execution.value.find("levels")->value.place;
  if (problem.system.levels.empty()) {
    messages.add(place, "levels",
                 "the system has no on-chip levels, expected 'levels' or 'technology' in 'system'");
  } else if (!holds_tiles(problem.system.levels, problem.workload.word)) {
    messages.add(
        place, "levels",
        "each level but the outermost must hold three words, one of each operand, for each unit "
        "that has a copy of the level; expected a larger capacity in 'system.levels'");
  } else if (problem.system.accelerator.dataflow == Dataflow::Best) {
    messages.add(place, "levels",
                 "the traffic of registers depends on the operand that stays in the arrays, "
                 "expected 'accelerator.dataflow' to be output, weight or input, got best");
  }
}

/// Adds a note if products of one format are timed at the peak of another one.
void note_peak_of_cores(const Problem& problem, InputMessages& messages) {
  const Bytes word = problem.workload.word;
  if (word == Bytes(2.0)) return;
  messages.note(
      fmt::format("words of {} are computed at the peak of the cores, which is that of 16 bits; "
                  "set 'system.peaks' for a peak of each number format",
                  to_text(word)));
}

void note_parts_left_out(const Problem& problem, InputMessages& messages) {
  if (problem.workload.kind != WorkloadKind::Hpl) return;
  if (problem.equations.out_of_core == OutOfCore::Free) return;
  messages.note(
      "the graph of HPL has the trailing updates only, no panels and no pivots; 'dfsearch linpack' "
      "times whole runs");
}

/// Whether the framework decides the format of some kernel, as for words of 4 B.
bool framework_decides(Problem problem) {
  return std::ranges::any_of(problem.workload.graph.kernels(), [&](const Kernel& kernel) {
    problem.execution.library = MathLibrary::Torch;
    const Math format = math_of(problem, kernel);
    problem.execution.library = MathLibrary::TorchTf32;
    return math_of(problem, kernel) != format;
  });
}

/// Refuses the keys `math` and `framework` if they change the format of no kernel.
void refuse_formats_without_effect(const Problem& problem, const YamlEntry* math,
                                   const YamlEntry* framework, InputMessages& messages) {
  const bool all_have_own =
      std::ranges::all_of(problem.workload.graph.kernels(),
                          [](const Kernel& kernel) { return kernel.math.has_value(); });
  if (math && all_have_own) {
    messages.add(math->place, "math",
                 "has no effect, as each kernel has a 'math' of its own; remove this key");
  }
  if (framework && !framework_decides(problem)) {
    messages.add(framework->place, "framework",
                 "has no effect: it chooses the format of kernels with words of 4 B and no 'math', "
                 "and there is none; remove this key");
  }
}

/// Sets the peak of each kernel, if the chip states peaks.
void resolve_rates(const YamlNode& root, bool is_derived, Problem& problem,
                   InputMessages& messages) {
  const YamlEntry* execution = root.find("execution");
  const auto given = [&](const char* key) {
    return execution ? execution->value.find(key) : nullptr;
  };
  if (!problem.system.peaks.stated()) {
    for (const char* key : {"math", "framework"}) {
      if (!given(key)) continue;
      messages.add(given(key)->place, key,
                   "only valid with 'system.peaks', the peak of each number format; set these or "
                   "remove this key");
    }
    if (!is_derived && messages.count() == 0) note_peak_of_cores(problem, messages);
    return;
  }
  if (!problem.system.counts_cores && !problem.execution.compute_utilization) {
    problem.execution.compute_utilization = 1.0;
  }
  refuse_formats_without_effect(problem, given("math"), given("framework"), messages);
  const std::optional<KernelId> wrong = set_kernel_rates(problem);
  if (!wrong) return;
  const Kernel& kernel = problem.workload.graph.kernel(*wrong);
  const char* math = name_of(math_of(problem, kernel));
  messages.add(given("math") ? given("math")->place : root.find("system")->place, "peaks",
               fmt::format("kernel {} computes in {}, for which the chip states no peak, expected "
                           "'system.peaks.vector.{}' or another 'execution.math'",
                           in_quotes(kernel.name), math, math));
}

/// Derives the chip, once its equations are known, and completes the machine with it.
void derive_chip(const YamlNode& root, Config& config, InputMessages& messages) {
  ChipDesign& design = *config.design;
  Problem& problem = config.problem;
  const YamlEntry* section = root.find("system");
  if (!problem.execution.compute_utilization) {
    problem.execution.compute_utilization = design.technology.core.utilization;
  }
  if (open_shares(design.budget, design.technology).any()) {
    if (problem.objective != Objective::StepTime) {
      messages.add(
          section->value.find("budget")->place, "budget",
          "expected the objective step_time, as shares of the budget are left to the search");
    }
    return;
  }
  config.chip = derive(design, split_of(design.budget), problem.system.network);
  resolve_defaults_of_chip(design, *config.chip, *section, problem.system, messages);
  if (problem.execution.levels) add_small_levels(problem, *config.chip);
  const YamlEntry* power = root.find("power");
  if (!power || !power->value.find("accelerator")) {
    problem.system.power.accelerator = config.chip->drawn();
  }
}

}  // namespace

Config read_machine_alone(const YamlNode& root, const Place& start, InputMessages& messages) {
  Config config;
  MapReader reader(root, "", start, messages);
  if (const YamlEntry* section = reader.required("system")) {
    if (auto text = read_system(*section, std::nullopt, SystemUse::MachineAlone, messages)) {
      config.problem.system = std::move(text->system);
      config.design = std::move(text->design);
    }
  }
  for (const char* other : {"workload", "execution", "price", "power", "energy", "equations",
                            "search", "sharding", "parallelism"}) {
    reader.optional(other);
  }
  for (const std::string_view question : kClosedForms) reader.optional(question);
  reader.finish();
  return config;
}

Config read_mapping_config(const YamlNode& root, const Place& start, SystemUse use,
                           InputMessages& messages) {
  Config config;
  Problem& problem = config.problem;
  MapReader reader(root, "", start, messages);
  std::vector<PartitionPin> graph_pins;
  std::optional<Workload> workload;
  std::optional<Machine> system;
  TechnologyEquations technology_equations;
  const bool chip_alone = use == SystemUse::ChipAlone;
  if (const YamlEntry* section =
          chip_alone ? reader.optional("workload") : reader.required("workload")) {
    workload = read_workload(*section, graph_pins, messages);
    if (workload) check_one_kind(*workload, *section, messages);
  }
  if (const YamlEntry* section = reader.required("system")) {
    std::optional<std::int64_t> copies;
    if (workload) copies = workload->copies;
    if (auto text = read_system(*section, copies, use, messages)) {
      if (!chip_alone) refuse_meshes(text->system, *section, messages);
      system = std::move(text->system);
      config.design = std::move(text->design);
    }
  }
  const YamlEntry* execution = reader.optional("execution");
  const std::size_t before_execution = messages.count();
  if (execution) {
    const ExecutionSection text = read_execution(*execution, messages);
    problem.execution = text.execution;
    config.launch_overhead = text.launch_overhead;
    if (!chip_alone && config.launch_overhead > Seconds{}) {
      messages.add(
          execution->place, "launch_overhead",
          "only read by 'dfsearch gemm', which times a GEMM alone on a chip; remove this key");
    }
  }
  const bool execution_is_right = messages.count() == before_execution;
  read_prices(reader, system ? &*system : nullptr);
  read_equations(reader.optional("equations"), problem, technology_equations, messages);
  const bool checks_shapes = problem.equations.shapes == Shapes::Checked;
  if (workload && workload->kind == WorkloadKind::Graph && checks_shapes) {
    check_shapes(root.find("workload")->value, workload->graph, messages);
  }
  if (const YamlEntry* section = reader.optional("search")) {
    const YamlEntry* asked = section->value.find("objective");
    if (asked && (asked->value.scalar == "energy" || asked->value.scalar == "edp")) {
      messages.add(asked->value.place, "objective",
                   "partitions are searched for the least time, and of two that take as long one "
                   "may move fewer bytes: no energy of mappings is minimised (docs/energy.md)");
    }
    config.search = read_search(*section, config.problem, messages);
    const ObjectiveRow& row = row_of(problem.objective);
    // The power of a derived chip follows from its design.
    const bool has_section =
        row.section != nullptr && (root.find(row.section) != nullptr ||
                                   (config.design && row.section == std::string_view("power")));
    check_objective(row, *section, has_section, messages);
  }
  if (const YamlEntry* section = reader.optional("sharding")) {
    read_sharding(*section, workload ? &workload->graph : nullptr, problem, messages);
  }
  if (const YamlEntry* section = reader.optional("parallelism")) {
    problem.parallelism = read_parallelism(*section, messages);
  }
  reader.optional("training");  // only for messages: a config that has it is of another kind
  reader.finish();
  if (workload && system) {
    resolve_defaults_of_strategies(*workload, *system, *root.find("system"), messages);
    settle_batch(*system, *root.find("workload"), *workload);
    check_batch(*workload, *system, *root.find("workload"), messages);
    if (system->chips % workload->copies == 0) {
      check_networks(*system, system->chips / workload->copies, *root.find("system"), messages);
    }
  }
  const bool system_is_right = system.has_value();
  if (system) problem.system = std::move(*system);
  if (workload) {
    problem.workload = std::move(*workload);
    if (system_is_right && execution) check_levels(config, *execution, messages);
    if (system_is_right && execution_is_right) {
      resolve_rates(root, config.design.has_value(), problem, messages);
    }
    if (problem.equations.weight_pieces == WeightPieces::Reread && !problem.workload.micro_batch) {
      messages.add(root.find("equations")->place, "weight_pieces",
                   "the number of rereads depends on the samples of a micro-batch, expected "
                   "'micro_batch' in 'workload'");
    }
    if (execution_is_right) {
      std::vector<PartitionPin> pins;
      if (execution) pins = read_partition_pins(*execution, problem.workload.graph, messages);
      problem.execution.pins = join_pins(problem, std::move(graph_pins), pins, messages);
    }
  }
  if (config.design) {
    config.design->equations = technology_equations;
    derive_chip(root, config, messages);
  }
  if (system_is_right) set_out_of_core_traffic(problem);
  if (system_is_right) set_array_loads(problem);
  if (messages.count() == 0) note_parts_left_out(problem, messages);
  if (!chip_alone) resolve_defaults_of_stages(root, config, messages);
  return config;
}

}  // namespace dfsearch
