#include "io/config/graph_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/units_text.hpp"
#include "graph/dataflow_graph.hpp"
#include "io/config/workload_text.hpp"
#include "io/schema/write_schema.hpp"
#include "io/text/joined.hpp"
#include "io/text/quoted_text.hpp"

namespace dfsearch {
namespace {

/// Whether every YAML reader reads the word as text.
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
  // The loop N, which dfsearch and common readers read as a word.
  if (word == "N") return true;
  return std::find(kReserved.begin(), kReserved.end(), lower) == kReserved.end();
}

/// Whether the text is digits and a unit, such as "2 B", which needs no quotes.
bool is_quantity(const std::string& text) {
  const std::size_t space = text.find(' ');
  return space != std::string::npos && std::isdigit(static_cast<unsigned char>(text[0])) &&
         text.find_first_not_of("0123456789.e+-") == space && is_plain_word(text.substr(space + 1));
}

/// A value on one line, in YAML's flow style.
std::string flow(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return is_quantity(text) ? text : yaml_word(text);
  }
  if (value.is_array()) return "[" + joined(value, ", ", flow) + "]";
  if (!value.is_object()) return json_line(value);
  std::string out = "{";
  for (const auto& item : value.items()) {
    out += fmt::format("{}{}: {}", out.size() > 1 ? ", " : "", item.key(), flow(item.value()));
  }
  return out + "}";
}

std::string dot_node(const Kernel& kernel, std::size_t index) {
  std::string extents = fmt::format("{} x {}", kernel.m, kernel.n);
  if (!is_elementwise(kernel.kind))
    extents = fmt::format("{} x {} x {}", kernel.m, kernel.k, kernel.n);
  if (kernel.outer != 1) extents = fmt::format("{} of {}", kernel.outer, extents);
  const std::string label =
      dot_label({kernel.name, fmt::format("{} {}", name_of(kernel.kind), extents)});
  return fmt::format("k{} [label={}{}];\n", index, label,
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

/// `tiled` is always written: its default depends on the sequence, which a reader need not know.
Json written_graph(const Workload& workload, unsigned left_out) {
  WorkloadSection text;
  text.workload = workload;
  text.workload.kind = WorkloadKind::Graph;
  if (workload.sequence != 1) text.sequence = workload.sequence;
  const DataflowGraph& graph = workload.graph;
  for (const Kernel& kernel : graph.kernels()) {
    KernelSection& own = text.kernels.emplace_back();
    own.kernel = kernel;
    const Mode usual = is_elementwise(kernel.kind) ? Mode::Simd : Mode::Systolic;
    if (kernel.mode != usual) own.mode = kernel.mode;
    own.tiled = kernel.tiled;
    for (const auto& each : {kernel.communication, kernel.second_communication}) {
      if (each) own.communication.push_back(*each);
    }
    if (kernel.weight_of) own.weight_of = graph.kernel(*kernel.weight_of).name;
    if (kernel.backward_of) own.backward_of = graph.kernel(*kernel.backward_of).name;
  }
  const auto add = [&](const std::vector<Tensor>& tensors, bool are_seams) {
    for (const Tensor& tensor : tensors) {
      TensorSection& own = text.tensors.emplace_back();
      own = {.from = graph.kernel(tensor.from).name,
             .to = graph.kernel(tensor.to).name,
             .operand = tensor.operand,
             .value = std::nullopt,
             .rows = tensor.rows,
             .next_layer = are_seams && !tensor.next_step,
             .next_step = tensor.next_step};
      if (tensor.value >= 0) own.value = tensor.value;
    }
  };
  add(graph.tensors(), false);
  add(graph.seams(), true);
  return written(kWorkloadType, &text, left_out);
}

std::string yaml_word(const std::string& word) {
  return is_plain_word(word) ? word : json_string(word);
}

std::string section_yaml(const char* name, const Json& section) {
  std::string out = fmt::format("{}:\n", name);
  for (const auto& item : section.items()) {
    if (!item.value().is_array()) {
      out += fmt::format("  {}: {}\n", item.key(), flow(item.value()));
      continue;
    }
    out += fmt::format("  {}:{}\n", item.key(), item.value().empty() ? " []" : "");
    for (const Json& element : item.value()) out += fmt::format("    - {}\n", flow(element));
  }
  return out;
}

std::string workload_yaml(const Workload& workload) {
  return section_yaml("workload", written_graph(workload));
}

std::string graph_yaml(const Workload& workload) {
  const char* unchecked = "equations: {shapes: unchecked}\n";
  return workload_yaml(workload) + (has_wrong_shape(workload.graph) ? unchecked : "");
}

std::string graph_json(const Workload& workload) {
  Json json{{"workload", written_graph(workload)}};
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
