// Fields of a setup for communication, sharding and partitions, and for values that DFModel
// computes from the graph.

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "io/dfmodel/dfmodel_graph.hpp"
#include "model/layer/sharding.hpp"

namespace dfsearch {
namespace {

std::optional<Communication> communication_of(const SetupKernel& kernel, Bytes word) {
  const SetupCommunication& own = kernel.communication;
  const SetupNode& body = kernel.body;
  const double output = output_size(kernel.kernel, word).in_base_units();
  if (!kernel.second_communication.type.empty()) {
    body.complain("communication_type_2",
                  "cannot be expressed: a kernel has at most one communication of its own");
  }
  if (own.type.empty()) return std::nullopt;
  if (own.type == "ALL_REDUCE_PERIODIC") {
    if (own.bytes != 0.0 && !same_size(own.bytes, output)) {
      body.complain("communication_size",
                    fmt::format("cannot be expressed: gradients are as large as the output, "
                                "expected {}, got {}",
                                to_exact_text(output), to_exact_text(own.bytes)));
    }
    return Communication{.type = CommunicationType::GradientAllReduce};
  }
  // DFModel also writes the communication that follows from its sharding; a config does not.
  if (own.type == "ALL_REDUCE" && kernel.sharding == Loop::K &&
      (own.bytes == 0.0 || same_size(own.bytes, output))) {
    return std::nullopt;
  }
  static const std::unordered_map<std::string, CommunicationType> types = {
      {"ALL_REDUCE", CommunicationType::AllReduce},
      {"ALL_GATHER", CommunicationType::AllGather},
      {"POINT_TO_POINT", CommunicationType::PointToPoint}};
  const auto type = types.find(own.type);
  if (type == types.end()) {
    body.complain(
        "communication_type",
        fmt::format("cannot be expressed: only the graphs that DFModel generates for dlrm, "
                    "hpl and fft have {}",
                    own.type));
    return std::nullopt;
  }
  return Communication{.type = type->second, .bytes = Bytes(own.bytes)};
}

/// Checks the communication of a connection, which follows from the sharding of its ends.
void check_conversion(const SetupGraph& graph, const SetupTensor& item) {
  const std::string type = item.node.choice("communication_type");
  if (type.empty()) return;
  const SetupKernel& from = graph.kernels[item.tensor.from.index()];
  const SetupKernel& to = graph.kernels[item.tensor.to.index()];
  if (from.sharding && to.sharding) {
    const Conversion needed =
        conversion(produced_layout(*from.sharding),
                   consumed_layout(to.kernel, *to.sharding, item.tensor.operand));
    if ((needed == Conversion::AllGather && type == "ALL_GATHER") ||
        (needed == Conversion::AllToAll && type == "ALL_TO_ALL")) {
      return;
    }
  }
  item.node.complain("communication_type",
                     "cannot be expressed: the sharding of its kernels requires another "
                     "communication");
}

/// The first connection that closes a cycle with earlier ones, for the message; there is one.
Place place_of_cycle(const SetupGraph& graph) {
  std::vector<std::vector<std::size_t>> next(graph.kernels.size());
  for (const SetupTensor& item : graph.tensors) {
    std::vector<bool> seen(graph.kernels.size(), false);
    std::vector<std::size_t> open = {item.tensor.to.index()};
    while (!open.empty()) {
      const std::size_t kernel = open.back();
      open.pop_back();
      if (kernel == item.tensor.from.index()) return item.node.place();
      if (seen[kernel]) continue;
      seen[kernel] = true;
      open.insert(open.end(), next[kernel].begin(), next[kernel].end());
    }
    next[item.tensor.from.index()].push_back(item.tensor.to.index());
  }
  throw InternalError("a cyclic graph has no cycle");
}

void check_derived(const SetupGraph& setup, const DataflowGraph& graph) {
  const auto check = [](const SetupNode& node, const std::string& field, std::int64_t expected) {
    if (!node.has(field) || node.integer(field) == expected) return;
    node.complain(field, fmt::format("expected {} as the connections imply, got {}", expected,
                                     *node.integer(field)));
  };
  for (std::size_t i = 0; i < setup.kernels.size(); ++i) {
    check(setup.kernels[i].node, "topological_number", graph.level(KernelId(i)));
  }
  for (std::size_t i = 0; i < setup.tensors.size(); ++i) {
    const SetupNode& node = setup.tensors[i].node;
    const Tensor& tensor = setup.tensors[i].tensor;
    check(node, "buffer_depth", graph.buffer_depth(TensorId(i)));
    for (const auto& [field, end] : {std::pair{"startName", tensor.from}, {"endName", tensor.to}}) {
      const std::string& name = graph.kernel(end).name;
      if (!node.has(field) || node.text(field) == name) continue;
      node.complain(field, fmt::format("expected {}, the kernel of that id, got {}",
                                       in_quotes(name), in_quotes(node.text(field))));
    }
  }
}

}  // namespace

void express_communication(SetupGraph& graph, Bytes word) {
  for (SetupKernel& kernel : graph.kernels) {
    kernel.kernel.communication = communication_of(kernel, word);
  }
  for (const SetupTensor& item : graph.tensors) check_conversion(graph, item);
}

void check_shardings(const SetupGraph& graph) {
  for (const SetupKernel& kernel : graph.kernels) {
    if (!kernel.sharding) continue;
    const std::vector<Loop> loops = shardable_loops(kernel.kernel);
    if (std::find(loops.begin(), loops.end(), *kernel.sharding) != loops.end()) continue;
    const auto names = names_of(loops, &name_of<Loop>);
    kernel.body.complain("sharding", fmt::format("cannot be sharded on {}, expected {}",
                                                 name_of(*kernel.sharding), joined_choices(names)));
  }
}

std::vector<std::optional<std::int64_t>> read_config_pins(const SetupGraph& graph, bool pinned,
                                                          std::int64_t partitions) {
  std::vector<std::optional<std::int64_t>> pins(graph.kernels.size());
  if (!pinned) return pins;
  for (std::size_t i = 0; i < pins.size(); ++i) {
    const SetupNode& node = graph.kernels[i].node;
    const std::optional<std::int64_t> config = node.integer("config");
    if (!config) {
      node.complain("config",
                    "missing in kernels, which DFModel takes for 0, expected -1 (not "
                    "pinned) or a partition");
    } else if (*config < -1 || *config >= partitions) {
      node.complain("config", fmt::format("expected -1 (not pinned) or a partition from 0 to {}, "
                                          "got {}",
                                          partitions - 1, *config));
    } else if (*config >= 0) {
      pins[i] = *config;
    }
  }
  return pins;
}

std::optional<DataflowGraph> checked_graph(const SetupGraph& setup, const SetupNode& section) {
  InputMessages& messages = section.messages();
  const std::size_t before = messages.count();
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;
  for (const SetupKernel& kernel : setup.kernels) kernels.push_back(kernel.kernel);
  for (const SetupTensor& item : setup.tensors) tensors.push_back(item.tensor);
  try {
    DataflowGraph graph(std::move(kernels), std::move(tensors));
    check_derived(setup, graph);
    if (messages.count() == before) return graph;
  } catch (const InputError& error) {
    // Everything else has been checked connection by connection.
    const Place place = place_of_cycle(setup);
    for (const std::string& message : error.messages()) {
      const std::size_t colon = message.find(": ");
      messages.add(place, "connections",
                   colon == std::string::npos ? message : message.substr(colon + 2));
    }
  }
  return std::nullopt;
}

}  // namespace dfsearch
