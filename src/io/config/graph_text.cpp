#include "io/config/graph_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "base/units_text.hpp"
#include "engine/names.hpp"
#include "graph/names.hpp"
#include "graph/shapes.hpp"
#include "io/text/json_text.hpp"
#include "model/names.hpp"

namespace dfsearch {
namespace {

bool is_elementwise_kind(KernelKind kind) {
  return kind == KernelKind::Elementwise || kind == KernelKind::Elementwise2;
}

Json communication_json(const Communication& own) {
  Json json = {{"type", name_of(own.type)}};
  if (!is_gradient(own.type)) json["bytes"] = to_exact_text(own.bytes);
  return json;
}

Json attention_json(const Attention& attention) {
  Json json = {{"keys", attention.keys}};
  if (attention.window != 0) json["window"] = attention.window;
  if (attention.causal) json["causal"] = true;
  return json;
}

/// What only some kinds of kernels have.
void add_keys_of_kind(const Kernel& kernel, Json& json) {
  if (kernel.attention) json["attention"] = attention_json(*kernel.attention);
  if (kernel.element_flops != 0) json["element_flops"] = kernel.element_flops;
  if (kernel.matrices != 0) json["matrices"] = kernel.matrices;
  if (kernel.parameters != 0) json["parameters"] = kernel.parameters;
  if (kernel.tokens != 0) json["tokens"] = kernel.tokens;
  if (kernel.coupled != 0) json["coupled"] = kernel.coupled;
}

/// What a config leaves out is left out here, except `tiled`: its default
/// depends on the sequence, and a reader should not have to know.
Json kernel_json(const DataflowGraph& graph, const Kernel& kernel) {
  Json json = {{"name", kernel.name}, {"kind", name_of(kernel.kind)}};
  const Mode usual = is_elementwise_kind(kernel.kind) ? Mode::Simd : Mode::Systolic;
  if (kernel.mode != usual) json["mode"] = name_of(kernel.mode);
  if (kernel.outer != 1) json["outer"] = kernel.outer;
  json["M"] = kernel.m;
  if (!is_elementwise_kind(kernel.kind) || kernel.k != 1) json["K"] = kernel.k;
  json["N"] = kernel.n;
  json["tiled"] = name_of(kernel.tiled);
  if (kernel.phase != Phase::Forward) json["phase"] = name_of(kernel.phase);
  if (kernel.communication) {
    json["communication"] = communication_json(*kernel.communication);
    if (kernel.second_communication) {
      json["communication"] = Json::array({communication_json(*kernel.communication),
                                           communication_json(*kernel.second_communication)});
    }
  }
  if (kernel.memory > Bytes{}) json["memory"] = to_exact_text(kernel.memory);
  if (kernel.sharded_memory > Bytes{}) {
    json["sharded_memory"] = to_exact_text(kernel.sharded_memory);
  }
  if (kernel.repeat != 1) json["repeat"] = kernel.repeat;
  if (kernel.skip_weight) json["skip_weight"] = true;
  if (kernel.spread != Spread::Tensor) json["spread"] = name_of(kernel.spread);
  add_keys_of_kind(kernel, json);
  if (kernel.weight_of) json["weight_of"] = graph.kernel(*kernel.weight_of).name;
  return json;
}

Json tensor_json(const DataflowGraph& graph, const Tensor& tensor) {
  Json json = {{"from", graph.kernel(tensor.from).name},
               {"to", graph.kernel(tensor.to).name},
               {"operand", tensor.operand}};
  if (tensor.value >= 0) json["value"] = tensor.value;
  if (tensor.rows != 0) json["rows"] = tensor.rows;
  return json;
}

Json counts_json(const ModelCounts& counts) {
  return {{"parameters", counts.parameters},
          {"active_parameters", counts.active_parameters},
          {"matmul_parameters", counts.matmul_parameters},
          {"training_flop_per_token", counts.training_flop_per_token.in_base_units()},
          {"causal_training_flop_per_token", counts.causal_training_flop_per_token.in_base_units()},
          {"cache_bytes_per_token", to_exact_text(counts.cache_bytes_per_token)}};
}

Json workload_json(const Workload& workload) {
  const DataflowGraph& graph = workload.graph;
  Json json = {{"kind", "graph"},
               {"word", to_exact_text(workload.word)},
               {"layers", workload.layers},
               {"global_batch", workload.global_batch}};
  if (workload.micro_batch) json["micro_batch"] = *workload.micro_batch;
  json["sequence"] = workload.sequence;
  if (workload.tile) json["tile"] = *workload.tile;
  if (workload.boundary > Bytes{}) json["boundary"] = to_exact_text(workload.boundary);
  if (workload.copies != 1) json["copies"] = workload.copies;
  if (workload.network_use != NetworkUse::Free) json["network"] = name_of(workload.network_use);
  if (workload.stored > Bytes{}) json["stored"] = to_exact_text(workload.stored);
  if (workload.out_of_core) json["out_of_core"] = true;
  if (const auto& serving = workload.serving) {
    json["serving"] = {{"pass", serving->decode ? "decode" : "prefill"},
                       {"tokens", serving->tokens},
                       {"boundary", to_exact_text(serving->boundary)}};
  }
  if (workload.counts) json["counts"] = counts_json(*workload.counts);
  Json kernels = Json::array();
  for (const Kernel& kernel : graph.kernels()) kernels.push_back(kernel_json(graph, kernel));
  Json tensors = Json::array();
  for (const Tensor& tensor : graph.tensors()) {
    tensors.push_back(tensor_json(graph, tensor));
  }
  for (const Tensor& seam : graph.seams()) {
    tensors.push_back(tensor_json(graph, seam));
    tensors.back()["next_layer"] = true;
  }
  json["kernels"] = std::move(kernels);
  json["tensors"] = std::move(tensors);
  return json;
}

/// True for words that every YAML reader takes for themselves.
bool is_plain_word(const std::string& word) {
  static constexpr std::array kReserved = {"y",   "n",    "yes",   "no",  "on",
                                           "off", "true", "false", "null"};
  const auto letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
  };
  const auto inner = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  };
  if (word.empty() || !letter(word[0]) || !std::all_of(word.begin(), word.end(), inner)) {
    return false;
  }
  std::string lower = word;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // The loop N is meant; dfsearch and the common readers take it for a word.
  if (word == "N") return true;
  return std::find(kReserved.begin(), kReserved.end(), lower) == kReserved.end();
}

/// "2 B": digits and a unit need no quotes either.
bool is_quantity(const std::string& text) {
  const std::size_t space = text.find(' ');
  return space != std::string::npos && std::isdigit(static_cast<unsigned char>(text[0])) &&
         text.find_first_not_of("0123456789.e+-") == space && text.substr(space) == " B";
}

/// A value on one line, in YAML's flow style.
std::string flow(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return is_quantity(text) ? text : yaml_word(text);
  }
  if (value.is_array()) {
    std::string list;
    for (const Json& item : value) list += (list.empty() ? "" : ", ") + flow(item);
    return "[" + list + "]";
  }
  if (!value.is_object()) return json_line(value);
  std::string out = "{";
  for (const auto& item : value.items()) {
    out += fmt::format("{}{}: {}", out.size() > 1 ? ", " : "", item.key(), flow(item.value()));
  }
  return out + "}";
}

std::string dot_node(const Kernel& kernel, std::size_t index) {
  std::string extents = fmt::format("{} x {}", kernel.m, kernel.n);
  if (!is_elementwise_kind(kernel.kind))
    extents = fmt::format("{} x {} x {}", kernel.m, kernel.k, kernel.n);
  if (kernel.outer != 1) extents = fmt::format("{} of {}", kernel.outer, extents);
  std::string name = json_string(kernel.name);
  name.pop_back();  // the closing quote
  return fmt::format("k{} [label={}\\n{} {}\"{}];\n", index, name, name_of(kernel.kind), extents,
                     kernel.phase == Phase::Backward ? ", style=\"rounded,filled\"" : "");
}

std::string dot_nodes(const DataflowGraph& graph, const Mapping* mapping) {
  std::string out;
  if (mapping == nullptr) {
    for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
      out += "  " + dot_node(graph.kernels()[k], k);
    }
    return out;
  }
  std::vector<std::size_t> order(graph.kernel_count());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return mapping->partition[a] < mapping->partition[b];
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t index = mapping->partition[order[i]];
    if (i == 0 || index != mapping->partition[order[i - 1]]) {
      if (i > 0) out += "  }\n";
      out += fmt::format("  subgraph cluster_{0} {{\n    label=\"partition {0}\";\n", index);
    }
    out += "    " + dot_node(graph.kernels()[order[i]], order[i]);
  }
  return out + "  }\n";
}

}  // namespace

std::string yaml_word(const std::string& word) {
  return is_plain_word(word) ? word : json_string(word);
}

std::string workload_yaml(const Workload& workload) {
  std::string out = "workload:\n";
  const Json json = workload_json(workload);
  for (const auto& item : json.items()) {
    if (!item.value().is_array()) {
      out += fmt::format("  {}: {}\n", item.key(), flow(item.value()));
      continue;
    }
    out += fmt::format("  {}:{}\n", item.key(), item.value().empty() ? " []" : "");
    for (const Json& element : item.value()) out += fmt::format("    - {}\n", flow(element));
  }
  return out;
}

std::string graph_yaml(const Workload& workload) {
  const char* unchecked = "equations: {shapes: unchecked}\n";
  return workload_yaml(workload) + (has_wrong_shape(workload.graph) ? unchecked : "");
}

std::string graph_json(const Workload& workload) {
  Json json{{"workload", workload_json(workload)}};
  if (has_wrong_shape(workload.graph)) json["equations"] = {{"shapes", "unchecked"}};
  return json_text(json);
}

std::string graph_dot(const Workload& workload, const Mapping* mapping) {
  const DataflowGraph& graph = workload.graph;
  std::string out = "digraph workload {\n  node [shape=box, style=rounded, fillcolor=gray92];\n";
  out += dot_nodes(graph, mapping);
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    const Bytes bytes = static_cast<double>(graph.rows(TensorId(t))) *
                        static_cast<double>(graph.kernel(tensor.from).n) * workload.word;
    out += fmt::format("  k{} -> k{} [label=\"{}\"];\n", tensor.from.index(), tensor.to.index(),
                       to_text(bytes));
  }
  return out + "}\n";
}

}  // namespace dfsearch
