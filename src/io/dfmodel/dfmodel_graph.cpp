// Kernels and connections of a setup.
//
// Sizes of tensors follow from the extents.  They are checked to the seven digits that DFModel
// prints.  Their only other use is to distinguish the operands of a kernel, as in DFModel.

#include "io/dfmodel/dfmodel_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "base/units_text.hpp"
#include "graph/workloads/generators.hpp"
#include "io/config/workload_text.hpp"
#include "io/text/json_text.hpp"

namespace dfsearch {
namespace {

struct Variant {
  const char* name;
  KernelKind kind;
  std::vector<std::string> absent;  ///< fields of the body that other variants have
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {"gemm_input1_weight",
       KernelKind::WeightGemm,
       {"input_tensor_1_size", "input_tensor_2_size"}},
      {"gemm_input1_input2",
       KernelKind::Gemm,
       {"input_tensor_size", "weight_tensor_size", "skip_weight", "use_effective_stage"}},
      {"elementwise_input1",
       KernelKind::Elementwise,
       {"K", "input_tensor_1_size", "input_tensor_2_size", "weight_tensor_size", "shard_K",
        "skip_weight", "use_effective_stage"}},
      {"elementwise_input1_input2",
       KernelKind::Elementwise2,
       {"K", "input_tensor_size", "weight_tensor_size", "shard_K", "skip_weight",
        "use_effective_stage"}},
  };
  return all;
}

Bytes size_of(std::int64_t outer, std::int64_t rows, std::int64_t columns, Bytes word) {
  return static_cast<double>(outer) * static_cast<double>(rows) * static_cast<double>(columns) *
         word;
}

/// Reports and files print a name within a line, so it must not have control characters.
void check_name(const SetupNode& node, const std::string& name) {
  const bool printable = std::none_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
  bool is_text = true;
  try {
    static_cast<void>(Json(name).dump());
  } catch (const Json::exception&) {  // not UTF-8
    is_text = false;
  }
  if (name.empty()) {
    node.complain("name", "missing in kernels, expected a name");
  } else if (!printable || !is_text) {
    node.complain("name", "expected a name without control characters, in UTF-8");
  }
}

std::optional<Loop> loop_of(const std::string& choice) {
  static const std::unordered_map<std::string, Loop> loops = {
      {"OUTER", Loop::Outer}, {"M", Loop::M}, {"K", Loop::K}, {"N", Loop::N}, {"NO", Loop::None}};
  const auto found = loops.find(choice.substr(0, choice.find('_')));
  if (found == loops.end()) return std::nullopt;
  return found->second;
}

/// Checks a size that follows from the extents.
void check_size(const SetupNode& body, const std::string& field, Bytes expected,
                const std::string& formula) {
  const std::optional<double> size = body.number(field);
  if (!size || same_size(*size, expected.in_base_units())) return;
  body.complain(field, fmt::format("expected {} = {}, got {}", formula,
                                   to_exact_text(expected.in_base_units()), to_exact_text(*size)));
}

void refuse_body_fields(const SetupNode& body, const Variant& variant) {
  for (const std::string& field : variant.absent) {
    if (body.has(field)) body.complain(field, "unknown field of " + body.name());
  }
  for (const char* field : {"shard_outer_M", "shard_K", "shard_N"}) {
    body.refuse(field, "a result of DFModel's search, not an input");
  }
  body.refuse("use_effective_stage", "dfsearch uses all stages of a core");
  body.refuse("sram_extra", "a kernel takes only its weight and its buffers of the SRAM");
  body.refuse("dram_extra", "a kernel takes only its weight and its tensors of the memory");
}

SetupCommunication read_communication(const SetupNode& body, const std::string& suffix) {
  SetupCommunication communication{.type = body.choice("communication_type" + suffix)};
  const std::string size = "communication_size" + suffix;
  if (communication.type.empty()) {
    if (body.has(size)) body.complain(size, "communication_type" + suffix + " is missing");
    return communication;
  }
  communication.bytes = body.number(size).value_or(0.0);
  return communication;
}

void read_body(const SetupNode& body, const Variant& variant, Bytes word, SetupKernel& result) {
  Kernel& kernel = result.kernel;
  kernel.kind = variant.kind;
  refuse_body_fields(body, variant);
  const std::size_t before = body.messages().count();
  const bool gemm = variant.kind == KernelKind::WeightGemm || variant.kind == KernelKind::Gemm;
  kernel.outer = body.required_count("outer").value_or(1);
  kernel.m = body.required_count("M").value_or(1);
  kernel.k = gemm ? body.required_count("K").value_or(1) : 1;
  kernel.n = body.required_count("N").value_or(1);
  kernel.repeat = body.count("num_input").value_or(1);
  kernel.tiled = loop_of(body.required_choice("tiling")).value_or(Loop::None);
  if (body.messages().count() == before) {
    if (iterations(kernel) * static_cast<double>(kernel.repeat) >= kMostIterations) {
      body.complain("M", "the kernel is too large, expected fewer than 2^62 iterations");
    }
    check_size(body, "output_tensor_size", output_size(kernel, word), "outer * M * N * word");
    if (kernel.has_weight()) {
      check_size(body, "weight_tensor_size", size_of(kernel.outer, kernel.m, kernel.k, word),
                 "outer * M * K * word");
    }
  }
  kernel.memory = Bytes(body.number("memory_size").value_or(0.0));
  kernel.skip_weight = variant.kind == KernelKind::WeightGemm && body.flag("skip_weight");
  result.communication = read_communication(body, "");
  result.second_communication = read_communication(body, "_2");
  result.sharding = loop_of(body.choice("sharding"));
}

std::optional<SetupKernel> read_kernel(const SetupNode& node, Bytes word) {
  const std::optional<SetupNode> body = node.one_of("kernel_variant");
  std::vector<std::string_view> names;
  const Variant* variant = nullptr;
  for (const Variant& candidate : variants()) {
    names.emplace_back(candidate.name);
    if (body && body->name() == candidate.name) variant = &candidate;
  }
  const std::string name = node.text("name");
  check_name(node, name);
  const std::optional<std::int64_t> id = node.integer("id");
  if (!id) node.complain("id", "missing in kernels, expected a number that no other kernel has");
  const std::string mode = node.required_choice("type");
  if (variant == nullptr) {
    node.messages().add(node.place(), "kernels",
                        fmt::format("the kernel {} has no variant, expected {}", in_quotes(name),
                                    joined_choices(names)));
    return std::nullopt;
  }
  SetupKernel result{.node = node, .body = *body, .id = id.value_or(0)};
  result.kernel.name = name;
  result.kernel.mode = mode == "SIMD" ? Mode::Simd : Mode::Systolic;
  result.kernel.phase = node.choice("fwd_bwd") == "BWD" ? Phase::Backward : Phase::Forward;
  read_body(*body, *variant, word, result);
  return result;
}

using KernelsById = std::unordered_map<std::int64_t, KernelId>;

void check_unique(const SetupGraph& graph) {
  std::unordered_map<std::string, std::size_t> names;
  std::unordered_map<std::int64_t, std::size_t> ids;
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
    const SetupKernel& kernel = graph.kernels[i];
    if (kernel.node.integer("id") && !ids.emplace(kernel.id, i).second) {
      kernel.node.complain("id", fmt::format("{} stands twice, expected a number that no other "
                                             "kernel has",
                                             kernel.id));
    }
    if (!kernel.kernel.name.empty() && !names.emplace(kernel.kernel.name, i).second) {
      kernel.node.complain("name",
                           fmt::format("the name {} stands twice", in_quotes(kernel.kernel.name)));
    }
  }
}

/// Refuses a `num_input` of 1 if other kernels have none: DFModel puts the two in different
/// partitions, while dfsearch only separates kernels with a number above 1.
void check_repeats(const SetupGraph& graph) {
  const bool all = std::all_of(graph.kernels.begin(), graph.kernels.end(),
                               [](const SetupKernel& k) { return k.body.has("num_input"); });
  for (const SetupKernel& kernel : graph.kernels) {
    if (all || kernel.body.integer("num_input") != 1) continue;
    kernel.body.complain("num_input",
                         "cannot be expressed: 1 keeps the kernel apart from those without "
                         "num_input, expected none or 2 and more");
  }
}

std::optional<KernelId> read_end(const SetupNode& node, const std::string& field,
                                 const KernelsById& ids) {
  const std::optional<std::int64_t> id = node.integer(field);
  if (!id) {
    node.complain(field, "missing in connections, expected the id of a kernel");
    return std::nullopt;
  }
  const auto found = ids.find(*id);
  if (found != ids.end()) return found->second;
  node.complain(field, fmt::format("no kernel has the id {}", *id));
  return std::nullopt;
}

void refuse_tensor_fields(const SetupNode& node) {
  node.refuse("shard_tensor_size", "a result of DFModel's search, not an input");
  node.refuse("lane_stage_type", "dfsearch does not place and route");
  node.refuse("zero_out", "every tensor has the size of its producer's output");
}

/// Determines which operand of its consumer each tensor is: the operand with the size of the
/// tensor, or the next unused operand if both have this size, no size is given or there is only one
/// input.
void find_operands(SetupGraph& graph, Bytes word) {
  std::vector<bool> has_first(graph.kernels.size(), false);
  for (SetupTensor& item : graph.tensors) {
    const SetupKernel& to = graph.kernels[item.tensor.to.index()];
    const std::vector<std::string> fields = input_size_fields(to.kernel.kind);
    const bool later = has_first[item.tensor.to.index()];
    has_first[item.tensor.to.index()] = true;
    if (fields.size() < 2) {
      item.tensor.operand = later ? 2 : 1;
      continue;
    }
    const double bytes =
        output_size(graph.kernels[item.tensor.from.index()].kernel, word).in_base_units();
    // Without a size any tensor fits.
    const auto fits = [&](const std::string& field) {
      const std::optional<double> size = to.body.has(field) ? to.body.number(field) : std::nullopt;
      return !size || same_size(*size, bytes);
    };
    const bool first = fits(fields[0]);
    const bool second = fits(fields[1]);
    if (!first && !second) {
      item.node.messages().add(
          item.node.place(), "connections",
          fmt::format("the tensor has {} bytes, expected {} or {} of the kernel {}",
                      to_exact_text(bytes), fields[0], fields[1], in_quotes(to.kernel.name)));
    }
    item.tensor.operand = first && !(second && later) ? 1 : 2;
  }
}

}  // namespace

Bytes output_size(const Kernel& kernel, Bytes word) {
  return size_of(kernel.outer, kernel.m, kernel.n, word);
}

bool same_size(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(a, b); }

std::vector<std::string> input_size_fields(KernelKind kind) {
  if (kind == KernelKind::WeightGemm || kind == KernelKind::Elementwise)
    return {"input_tensor_size"};
  return {"input_tensor_1_size", "input_tensor_2_size"};
}

namespace {

/// Sets the shared weights.  Setups do not state them, but generators name the backward kernel
/// after the forward one.
void share_weights(std::vector<SetupKernel>& kernels) {
  const auto elements = [](const Kernel& k) {
    return static_cast<double>(k.outer) * static_cast<double>(k.m) * static_cast<double>(k.k);
  };
  for (SetupKernel& user : kernels) {
    if (user.kernel.phase != Phase::Backward || !user.kernel.has_weight()) continue;
    const auto owner = std::find_if(kernels.begin(), kernels.end(), [&](const SetupKernel& other) {
      return other.kernel.phase == Phase::Forward && other.kernel.has_weight() &&
             other.kernel.name + "_bwd" == user.kernel.name &&
             elements(other.kernel) == elements(user.kernel);
    });
    if (owner == kernels.end()) continue;
    user.kernel.weight_of = KernelId(static_cast<std::size_t>(owner - kernels.begin()));
  }
}

/// Sets the coupled rows, which setups do not state, as they cost nothing in DFModel's equations.
void couple_rows(std::vector<SetupKernel>& kernels) {
  for (SetupKernel& item : kernels) {
    if (item.kernel.kind == KernelKind::Elementwise) {
      item.kernel.coupled = llm_coupled_rows(item.kernel.name);
    }
  }
}

}  // namespace

SetupGraph read_setup_graph(const SetupNode& section, Bytes word) {
  SetupGraph graph;
  InputMessages& messages = section.messages();
  const std::size_t before = messages.count();
  for (const SetupNode& node : section.children("kernels")) {
    if (auto kernel = read_kernel(node, word)) graph.kernels.push_back(std::move(*kernel));
  }
  if (graph.kernels.empty() && messages.count() == before) {
    section.complain("kernels", "missing in dataflow_graph, expected at least one");
  }
  check_unique(graph);
  check_repeats(graph);
  share_weights(graph.kernels);
  couple_rows(graph.kernels);
  // Ids of kernels that were not read would all dangle.
  if (messages.count() != before) return graph;
  KernelsById ids;
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) ids.emplace(graph.kernels[i].id, i);
  for (const SetupNode& node : section.children("connections")) {
    const std::optional<KernelId> from = read_end(node, "startIdx", ids);
    const std::optional<KernelId> to = read_end(node, "endIdx", ids);
    refuse_tensor_fields(node);
    if (!from || !to) continue;
    if (*from == *to) node.complain("endIdx", "a kernel cannot feed itself");
    if (graph.kernels[from->index()].kernel.phase == Phase::Backward &&
        graph.kernels[to->index()].kernel.phase == Phase::Forward) {
      node.complain("endIdx", "a backward kernel cannot feed a forward one");
    }
    graph.tensors.push_back({.node = node, .tensor = {.from = *from, .to = *to}});
    check_size(node, "tensor_size", output_size(graph.kernels[from->index()].kernel, word),
               "outer * M * N * word of the producer");
  }
  find_operands(graph, word);
  return graph;
}

}  // namespace dfsearch
