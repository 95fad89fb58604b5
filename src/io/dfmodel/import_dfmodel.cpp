// From a setup to a config, section by section.  Values that the setup contains in several places
// are checked here with their place in the setup; at the end the config is read like any other, and
// remaining errors are reported without a place.

#include "io/dfmodel/import_dfmodel.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "graph/workload.hpp"
#include "io/config/graph_text.hpp"
#include "io/config/load_config.hpp"
#include "io/dfmodel/dfmodel_graph.hpp"
#include "io/dfmodel/dfmodel_text.hpp"

namespace dfsearch {
namespace {

// ---- execution --------------------------------------------------------------

/// The message of the execution, which has one of three names.
std::optional<SetupNode> find_execution(const SetupNode& root) {
  std::optional<SetupNode> found;
  for (const char* name : {"execution", "miscellany", "training"}) {
    std::optional<SetupNode> node = root.child(name);
    if (!node) continue;
    if (found) {
      root.complain(name, "stands beside " + found->name() + ", expected one of them");
      continue;
    }
    found = std::move(node);
  }
  if (!found) {
    root.complain("execution", "missing in setup (or miscellany or training, its older names)");
  }
  return found;
}

struct SetupExecution {
  bool kernel_by_kernel = false;
  std::optional<std::int64_t> partitions;
  std::string yaml;  ///< inside the braces, without pins
};

std::string overlap_of(const SetupNode& node) {
  const std::string overlap = node.choice("overlap");
  const bool old = node.stands("perfect_overlap");
  if (!overlap.empty() && old) {
    node.complain("perfect_overlap", "stands beside overlap, expected one of them");
  }
  if (overlap == "PERFECT_OVERLAP") return "perfect";
  if (overlap == "OVERLAP_COMPUTE_MEMORY") return "compute_memory";
  if (overlap == "NO_OVERLAP") return "none";
  if (!old) return node.required_choice("overlap");
  return node.flag("perfect_overlap") ? "perfect" : "none";
}

SetupExecution read_execution(const SetupNode& node) {
  SetupExecution result;
  std::string style = node.choice("execution_style");
  if (node.has("optimization")) {
    if (!style.empty()) {
      node.complain("optimization", "stands beside execution_style, expected one of them");
    }
    style = node.choice("optimization");
  } else {
    style = node.required_choice("execution_style");
  }
  result.kernel_by_kernel = style == "KERNEL_BY_KERNEL";
  result.partitions = node.count("num_config");
  result.yaml = result.kernel_by_kernel ? "style: kernel_by_kernel" : "style: dataflow";
  if (result.partitions && !result.kernel_by_kernel) {
    result.yaml += fmt::format(", partitions: {}", *result.partitions);
  }
  result.yaml += ", overlap: " + overlap_of(node);
  if (const std::optional<double> share = node.number("compute_util")) {
    if (*share > 1.0) node.complain("compute_util", "expected a number up to 1");
    result.yaml += ", compute_utilization: " + to_exact_text(*share);
  }
  if (node.choice("objective") == "COST")
    node.refuse("objective", "the objective is the step time");
  node.refuse("util_threshold", "there is no least utilization");
  node.refuse("effective_stage", "dfsearch uses all stages of a core");
  node.refuse("skip_intermediate_buffer", "buffers take SRAM");
  node.refuse("skip_initiation_buffer", "weights take SRAM, but for kernels with skip_weight");
  return result;
}

// ---- workload ---------------------------------------------------------------

bool is_generated(const SetupNode& block) {
  return block.name() == "dlrm" || block.name() == "hpl" || block.name() == "fft";
}

void read_llm(const SetupNode& execution, const SetupNode& block, Workload& workload) {
  const auto hidden = block.count("hidden_dim");
  const double heads = static_cast<double>(block.count("num_head").value_or(0)) *
                       static_cast<double>(block.count("head_dim").value_or(0));
  const double width = static_cast<double>(hidden.value_or(0));
  if (heads != width) {
    block.complain("hidden_dim", fmt::format("expected num_head * head_dim = {}, got {}",
                                             to_exact_text(heads), to_exact_text(width)));
  }
  workload.layers = block.required_count("num_layer").value_or(1);
  workload.sequence = block.required_count("seq_len").value_or(1);
  const bool inside = block.has("global_batch_size") || !execution.has("global_batch_size");
  const SetupNode& batch = inside ? block : execution;
  workload.global_batch = batch.required_count("global_batch_size").value_or(1);
  workload.micro_batch =
      (block.has("micro_batch_size") ? block : execution).count("micro_batch_size");
  workload.tile = block.count(block.has("seq_tile_size") ? "seq_tile_size" : "tile_size");
  if (workload.tile.value_or(1) > workload.sequence) {
    block.complain(block.has("seq_tile_size") ? "seq_tile_size" : "tile_size",
                   fmt::format("expected at most seq_len, {}", workload.sequence));
  }
  if (block.integer("num_layer_in_graph").value_or(1) > 1) {
    block.complain("num_layer_in_graph", "cannot be expressed: a graph is one layer, expected 1");
  }
  if (workload.graph.has_backward()) {
    workload.boundary = width * static_cast<double>(workload.sequence) * workload.word;
  }
}

/// Long-sequence models and `other`: one layer, one sample, no tiles.
void read_single_layer(const SetupNode& execution, const SetupNode& block, std::int64_t chips,
                       Workload& workload) {
  workload.global_batch = execution.count("global_batch_size").value_or(1);
  workload.micro_batch = execution.count("micro_batch_size");
  if (block.name() == "other") return;
  block.refuse("effective_stage", "dfsearch uses all stages of a core");
  block.refuse("tile_size", "DFModel does not tile such a workload");
  if (chips == 1) return;
  block.messages().add(block.place(), block.name(),
                       fmt::format("cannot be expressed: DFModel does not shard such a workload, "
                                   "expected 1 chip, got {}",
                                   chips));
}

void check_batch(const SetupNode& execution, const SetupNode& block, const Workload& workload,
                 std::int64_t data_degree) {
  const double share =
      static_cast<double>(data_degree) * static_cast<double>(workload.micro_batch.value_or(1));
  if (std::fmod(static_cast<double>(workload.global_batch), share) == 0.0) return;
  const bool inside = block.name() == "llm" && block.has("global_batch_size");
  (inside ? block : execution)
      .complain("global_batch_size",
                fmt::format("expected a multiple of data degree * micro_batch_size = {}, got {}",
                            to_exact_text(share), workload.global_batch));
}

/// The kernels that have a pin, with their pins, as "{a: 0, b: 2}".
template <class T, class ToText>
std::string pins_yaml(const SetupGraph& graph, const std::vector<std::optional<T>>& pins,
                      ToText to_text) {
  std::string text;
  for (std::size_t i = 0; i < pins.size(); ++i) {
    if (!pins[i]) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ",
                        yaml_word(graph.kernels[i].kernel.name), to_text(*pins[i]));
  }
  return text.empty() ? text : "{" + text + "}";
}

std::string sharding_pins_yaml(const SetupGraph& graph) {
  std::vector<std::optional<Loop>> loops;
  for (const SetupKernel& kernel : graph.kernels) loops.push_back(kernel.sharding);
  return pins_yaml(graph, loops, [](Loop loop) { return name_of(loop); });
}

/// The sections of the computation.
struct SetupWorkload {
  std::string yaml;
  std::string partition_pins;
  std::string sharding_pins;
};

SetupWorkload read_graph_workload(const SetupNode& root, const SetupNode& execution,
                                  const SetupNode& block, SetupGraph& graph,
                                  const SetupSystem& system, const SetupExecution& style) {
  SetupWorkload result;
  InputMessages& messages = root.messages();
  Workload workload;
  workload.word = Bytes(static_cast<double>(execution.count("word").value_or(1)));
  express_communication(graph, workload.word);
  check_shardings(graph);
  const auto kernels = static_cast<std::int64_t>(graph.kernels.size());
  const auto partitions =
      read_config_pins(graph, !style.kernel_by_kernel, style.partitions.value_or(kernels));
  std::optional<DataflowGraph> checked = checked_graph(graph, *root.child("dataflow_graph"));
  if (checked) workload.graph = std::move(*checked);
  if (block.name() == "llm") {
    read_llm(execution, block, workload);
    for (const char* field : {"skip_inter_chip", "skip_inter_chip_optimization"}) {
      execution.refuse(field, "the sharding is always chosen");
    }
  } else {
    read_single_layer(execution, block, system.chips, workload);
  }
  if (execution.flag("training") && checked && !workload.graph.has_backward()) {
    execution.complain("training", "the graph has no BWD kernel");
  }
  check_batch(execution, block, workload, system.data_degree);
  if (messages.count() > 0) return result;
  result.yaml = workload_yaml(workload);
  result.partition_pins = pins_yaml(graph, partitions, [](std::int64_t p) { return p; });
  result.sharding_pins = sharding_pins_yaml(graph);
  return result;
}

SetupWorkload read_generated_workload(const SetupNode& execution, const SetupNode& block,
                                      SetupGraph& graph, const SetupExecution& style,
                                      std::int64_t word, std::int64_t chips) {
  SetupWorkload result;
  result.yaml = generated_workload_yaml(execution, block, graph, word, chips);
  check_shardings(graph);
  const auto kernels = static_cast<std::int64_t>(graph.kernels.size());
  const auto partitions =
      read_config_pins(graph, !style.kernel_by_kernel, style.partitions.value_or(kernels));
  result.partition_pins = pins_yaml(graph, partitions, [](std::int64_t p) { return p; });
  result.sharding_pins = sharding_pins_yaml(graph);
  return result;
}

// ---- equations, search, heading ---------------------------------------------

/// The published equations of DFModel, changed for some of its versions, which are recognised by
/// the fields of a setup.
std::string equations_yaml(const SetupNode& execution, const SetupNode& block) {
  // Since the version with num_layer_in_graph an all-reduce counts one pass unless reduce-scatter
  // and all-gather are separate.
  if (block.name() == "llm") {
    const bool one = block.has("num_layer_in_graph") && !execution.flag("separate_rs_ag_for_ar");
    return one ? "equations: {preset: published, all_reduce_passes: 1}\n"
               : "equations: published\n";
  }
  if (is_generated(block) && block.name() != "hpl" && execution.name() == "execution") {
    return "equations: {preset: published, all_to_all_pairs: n_n1_2}\n";
  }
  return "equations: published\n";
}

std::string search_yaml(const std::optional<SetupNode>& gurobi) {
  if (!gurobi) return {};
  std::string text;
  if (const std::optional<double> gap = gurobi->number("gap")) {
    if (*gap > 1.0) gurobi->complain("gap", "expected a number up to 1");
    text += "gap: " + to_exact_text(*gap);
  }
  if (const std::optional<std::int64_t> time = gurobi->count("time")) {
    text += fmt::format("{}time_limit: {} s", text.empty() ? "" : ", ", *time);
  }
  return text.empty() ? text : "search: {" + text + "}\n";
}

/// Comments on fields of a setup for which a config has no key.
std::string heading(const std::string& name, const std::optional<SetupNode>& gurobi) {
  std::string text = "# DFModel's setup " + in_quotes(name) + ".\n";
  if (!gurobi) return text;
  if (const std::optional<std::int64_t> threads = gurobi->count("thread")) {
    text += fmt::format("# It asks for {0} threads: --threads {0}.\n", *threads);
  }
  return text;
}

/// Reads the generated config, and reports its mistakes without a place.
void check_loads(const std::string& config, const std::string& name) {
  try {
    parse_config(config, name);
  } catch (const InputError& error) {
    std::vector<std::string> messages;
    for (const std::string& message : error.messages()) {
      // The place is one in the generated config, which the user has not seen.
      messages.push_back(name + ": cannot be expressed: " + without_place(message, name));
    }
    throw InputError(std::move(messages));
  }
}

}  // namespace

std::string import_dfmodel(const std::string& text, const std::string& name) {
  const SetupFile setup(text, name);
  InputMessages messages;
  const SetupNode root = setup.root(messages);
  const std::optional<SetupNode> graph_section = root.required_child("dataflow_graph");
  const std::optional<SetupNode> system_section = root.required_child("system");
  const std::optional<SetupNode> execution = find_execution(root);
  if (!graph_section || !system_section || !execution) messages.throw_if_any();

  const std::optional<SetupNode> block = execution->one_of("workload_variant");
  if (!block) {
    messages.add(execution->place(), execution->name(),
                 "missing workload, expected one of llm, dlrm, hpl, fft, gemm_fft_llm, "
                 "vector_fft_llm, regular_fft_llm, mamba or other");
  }
  const std::int64_t word = execution->required_count("word").value_or(1);
  SetupGraph graph = read_setup_graph(*graph_section, Bytes(static_cast<double>(word)));
  const bool generated = block && is_generated(*block);
  const std::int64_t copies = generated ? block->count("num_copy").value_or(1) : 1;
  const SetupSystem system = read_setup_system(*system_section, copies);
  const SetupExecution style = read_execution(*execution);
  const std::optional<SetupNode> cost = root.child("cost");
  const std::optional<SetupNode> gurobi = root.child("gurobi");
  const std::string prices = cost ? setup_cost_yaml(*cost, system.dimensions) : std::string();
  const std::string search = search_yaml(gurobi);
  messages.throw_if_any();

  const SetupWorkload workload =
      generated ? read_generated_workload(*execution, *block, graph, style, word, system.chips)
                : read_graph_workload(root, *execution, *block, graph, system, style);
  messages.throw_if_any();
  const std::string pins =
      workload.partition_pins.empty() ? std::string() : ", pins: " + workload.partition_pins;
  const std::string sharding = workload.sharding_pins.empty()
                                   ? std::string()
                                   : "sharding: {pins: " + workload.sharding_pins + "}\n";
  std::string config = heading(name, gurobi) + workload.yaml + system.yaml + "execution: {" +
                       style.yaml + pins + "}\n" + sharding + prices +
                       equations_yaml(*execution, *block) + search;
  check_loads(config, name);
  return config;
}

}  // namespace dfsearch
