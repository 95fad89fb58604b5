// A workload is recognised by comparison: its parameters are read from the first kernels, and then
// every kernel and connection must equal the generator's for these parameters (docs/model.md,
// section 9).

#include "io/dfmodel/dfmodel_graph.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "base/units_text.hpp"
#include "graph/workloads/generators.hpp"
#include "io/config/workload_text.hpp"

namespace dfsearch {
namespace {

using Edge = std::pair<std::size_t, std::size_t>;

/// A kernel as a generator makes it.
struct Expected {
  KernelKind kind = KernelKind::WeightGemm;
  Phase phase = Phase::Forward;
  std::int64_t m = 1;
  std::int64_t k = 1;
  std::int64_t n = 1;
  std::string communication;
  std::string second_communication;
};

bool matches(const SetupKernel& kernel, const Expected& expected) {
  const Kernel& k = kernel.kernel;
  return k.kind == expected.kind && k.phase == expected.phase && k.outer == 1 &&
         k.m == expected.m && k.k == expected.k && k.n == expected.n && k.mode == Mode::Systolic &&
         k.tiled == Loop::None && k.repeat == 1 && !k.skip_weight &&
         kernel.communication.type == expected.communication &&
         kernel.second_communication.type == expected.second_communication;
}

std::string description(const Expected& expected) {
  return fmt::format(
             "{}, {} M {} K {} N {}, NO_TILING{}{}{}",
             expected.kind == KernelKind::Gemm ? "gemm_input1_input2" : "gemm_input1_weight",
             expected.phase == Phase::Backward ? "BWD" : "FWD", expected.m, expected.k, expected.n,
             expected.communication.empty() ? "" : ", ", expected.communication,
             expected.second_communication.empty() ? "" : ", ") +
         expected.second_communication;
}

/// Returns whether all kernels and connections are as expected; reports the first that is not.
bool check_graph(const SetupNode& block, const SetupGraph& graph,
                 const std::vector<Expected>& kernels, const std::set<Edge>& edges) {
  const std::string why = "cannot be expressed: not the graph of DFModel's generator for " +
                          block.name() + ", expected ";
  for (std::size_t i = 0; i < kernels.size() && i < graph.kernels.size(); ++i) {
    if (matches(graph.kernels[i], kernels[i])) continue;
    const SetupNode& node = graph.kernels[i].node;
    node.messages().add(node.place(), "kernels", why + description(kernels[i]));
    return false;
  }
  if (graph.kernels.size() != kernels.size()) {
    const SetupNode& node = graph.kernels.back().node;
    node.messages().add(node.place(), "kernels", why + fmt::format("{} kernels", kernels.size()));
    return false;
  }
  std::set<Edge> missing = edges;
  for (const SetupTensor& item : graph.tensors) {
    if (missing.erase({item.tensor.from.index(), item.tensor.to.index()}) == 1) continue;
    item.node.messages().add(item.node.place(), "connections", why + "no such connection");
    return false;
  }
  if (missing.empty()) return true;
  const auto& [from, to] = *missing.begin();
  block.messages().add(
      block.place(), block.name(),
      why + fmt::format("a connection from {} to {}", in_quotes(graph.kernels[from].kernel.name),
                        in_quotes(graph.kernels[to].kernel.name)));
  return false;
}

/// A parameter that the block states as well as the graph.
void check_stated(const SetupNode& block, const std::string& field, std::int64_t in_graph) {
  const std::optional<std::int64_t> stated = block.count(field);
  if (!stated || *stated == in_graph) return;
  block.complain(field, fmt::format("expected {} as in the graph, got {}", in_graph, *stated));
}

std::int64_t copies(const SetupNode& block) { return block.count("num_copy").value_or(1); }

/// The value of a field that has one of two names.
std::optional<std::int64_t> either(const SetupNode& node, const std::string& name,
                                   const std::string& older) {
  if (node.has(older)) {
    if (node.has(name)) node.complain(older, "stands beside " + name + ", expected one of them");
    return node.count(older);
  }
  return node.required_count(name);
}

struct DlrmShape {
  std::size_t layers = 0;  ///< bottom and top MLPs
  std::size_t bottom = 0;
  std::int64_t mlp = 1;
  std::int64_t batch = 1;
  bool training = false;
};

std::vector<Expected> dlrm_kernels(const DlrmShape& shape) {
  std::vector<Expected> kernels;
  const Expected gemm{.m = shape.mlp, .k = shape.mlp, .n = shape.batch};
  kernels.assign(shape.layers, gemm);
  kernels[shape.bottom - 1].communication = "ALL_TO_ALL";
  if (!shape.training) return kernels;
  for (std::size_t i = shape.layers; i > 0; --i) {
    kernels.push_back(kernels[i - 1]);
    kernels.back().phase = Phase::Backward;
  }
  kernels.insert(kernels.end(), shape.layers,
                 {.kind = KernelKind::Gemm,
                  .phase = Phase::Backward,
                  .m = shape.mlp,
                  .k = shape.batch,
                  .n = shape.mlp,
                  .communication = "ALL_REDUCE_PERIODIC"});
  return kernels;
}

std::set<Edge> dlrm_edges(const DlrmShape& shape) {
  const std::size_t n = shape.layers;
  std::set<Edge> edges;
  for (std::size_t i = 0; i + 1 < n; ++i) edges.insert({i, i + 1});
  if (!shape.training) return edges;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    edges.insert({n + i, n + i + 1});
    edges.insert({i, 3 * n - 2 - i});
    edges.insert({n + i, 2 * n + i + 1});
  }
  return edges;
}

/// Derives the generator's parameters from the graph; `layers` is 0 if there is no kernel that
/// exchanges embeddings.
DlrmShape dlrm_shape(const SetupGraph& graph) {
  DlrmShape shape{.mlp = graph.kernels[0].kernel.m, .batch = graph.kernels[0].kernel.n};
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
    const SetupKernel& kernel = graph.kernels[i];
    if (kernel.kernel.phase == Phase::Backward) {
      shape.training = true;
      break;
    }
    shape.layers = i + 1;
    if (kernel.communication.type == "ALL_TO_ALL" && shape.bottom == 0) shape.bottom = i + 1;
  }
  if (shape.bottom == 0) shape.layers = 0;
  return shape;
}

/// Checks that all kernels that exchange embeddings have the same bytes, and no other kernel any.
void check_exchanges(const SetupGraph& graph, const SetupKernel& first) {
  for (const SetupKernel& kernel : graph.kernels) {
    const bool exchanges = kernel.communication.type == "ALL_TO_ALL";
    const double memory = exchanges ? first.kernel.memory.in_base_units() : 0.0;
    if (kernel.kernel.memory != Bytes(memory)) {
      kernel.body.complain("memory_size", "cannot be expressed: expected " +
                                              to_exact_text(Bytes(memory)) +
                                              ", as the generator for dlrm has it here");
    }
    if (exchanges && kernel.communication.bytes != first.communication.bytes) {
      kernel.body.complain("communication_size",
                           "cannot be expressed: expected the size of the first ALL_TO_ALL");
    }
  }
}

/// The bytes that all chips exchange, as in a config; DFModel states the bytes of one chip.  Its
/// generator divides the bytes read from memory by the number of chips.  So if the product of the
/// stated bytes and the chips equals the bytes read, within rounding, the bytes read are the exact
/// value.
Bytes exchanged_bytes(const SetupKernel& exchange, std::int64_t chips) {
  constexpr double kRounding = 4e-16;
  const Bytes product(exchange.communication.bytes * static_cast<double>(chips));
  const Bytes read = exchange.kernel.memory;
  const double difference = (product - read).in_base_units();
  return std::abs(difference) <= kRounding * read.in_base_units() ? read : product;
}

std::string dlrm_yaml(const SetupNode& execution, const SetupNode& block, const SetupGraph& graph,
                      std::int64_t word, std::int64_t chips) {
  const DlrmShape shape = dlrm_shape(graph);
  if (shape.layers == 0) {
    block.messages().add(block.place(), "dlrm",
                         "cannot be expressed: the graph has no FWD kernel with ALL_TO_ALL");
    return {};
  }
  if (!check_graph(block, graph, dlrm_kernels(shape), dlrm_edges(shape))) return {};
  const SetupKernel& exchange = graph.kernels[shape.bottom - 1];
  check_exchanges(graph, exchange);
  const auto top = static_cast<std::int64_t>(shape.layers - shape.bottom);
  check_stated(block, "mlp_dim", shape.mlp);
  check_stated(block, "bottom_num_mlp", static_cast<std::int64_t>(shape.bottom));
  check_stated(block, "top_num_mlp", top);
  const std::int64_t tables = block.required_count("num_table").value_or(1);
  const std::int64_t rows = block.required_count("row").value_or(1);
  const std::int64_t embedding = either(block, "emb_dim", "emb").value_or(1);
  const bool inside = block.has("global_batch_size") || !execution.has("global_batch_size");
  const std::int64_t batch =
      (inside ? block : execution).required_count("global_batch_size").value_or(1);
  // A block may omit pooled_row; the memory of the exchange then determines it.
  const double row_bytes = static_cast<double>(tables) * static_cast<double>(embedding) *
                           static_cast<double>(shape.batch) * static_cast<double>(word);
  const double pooled = exchange.kernel.memory.in_base_units() / row_bytes;
  const std::optional<std::int64_t> stated = block.count("pooled_row");
  std::string pooled_rows;
  if (stated) {
    pooled_rows = fmt::format("  pooled_rows: {}\n", *stated);
  } else if (pooled >= 1.0 && pooled <= static_cast<double>(kLargestCount) &&
             pooled == std::floor(pooled)) {
    pooled_rows = fmt::format("  pooled_rows: {}\n", static_cast<std::int64_t>(pooled));
  }
  return fmt::format(
      "workload:\n  kind: {}\n  mlp: {}\n  bottom: {}\n  top: {}\n  tables: {}\n{}  rows: {}\n"
      "  embedding: {}\n  local_batch: {}\n  global_batch: {}\n  word: {} B\n  all_to_all: {}\n"
      "  memory: {}\n  copies: {}\n",
      shape.training ? "dlrm_training" : "dlrm_inference", shape.mlp, shape.bottom, top, tables,
      pooled_rows, rows, embedding, shape.batch, batch, word,
      to_exact_text(exchanged_bytes(exchange, chips / copies(block))),
      to_exact_text(exchange.kernel.memory), copies(block));
}

std::string hpl_yaml(const SetupNode& block, const SetupGraph& graph, std::int64_t word) {
  const std::int64_t n = block.required_count("n").value_or(1);
  const std::int64_t b = block.required_count("b").value_or(1);
  std::vector<Expected> kernels;
  std::set<Edge> edges;
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
    const std::int64_t side = n - static_cast<std::int64_t>(i) * b;
    if (side < 1) break;
    kernels.push_back({.kind = KernelKind::Gemm,
                       .m = side,
                       .k = side,
                       .n = b,
                       .communication = "BROADCAST",
                       .second_communication = "POINT_TO_POINT"});
    if (i > 0) edges.insert({i - 1, i});
  }
  if (!check_graph(block, graph, kernels, edges)) return {};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const double bytes =
        static_cast<double>(kernels[i].m) * static_cast<double>(b) * static_cast<double>(word);
    for (const auto& [field, own] :
         {std::pair{"communication_size", graph.kernels[i].communication},
          {"communication_size_2", graph.kernels[i].second_communication}}) {
      if (same_size(own.bytes, bytes)) continue;
      graph.kernels[i].body.complain(
          field, "cannot be expressed: expected M * N * word = " + to_exact_text(bytes));
    }
  }
  return fmt::format(
      "workload:\n  kind: hpl\n  n: {}\n  block: {}\n  iterations: {}\n  word: {} B\n  copies: "
      "{}\n",
      n, b, kernels.size(), word, copies(block));
}

/// The least radix with this depth, or with the next greater depth that a radix has.  The graph
/// depends on the radix only through its depth.
std::int64_t fft_radix(std::int64_t side, std::int64_t depth) {
  std::int64_t least = 3;  // from 3 on the depth never falls as the radix grows
  std::int64_t most = kLargestCount;
  while (least < most) {
    const std::int64_t middle = least + (most - least) / 2;
    if (fft_depth(side, middle) < depth) {
      least = middle + 1;
    } else {
      most = middle;
    }
  }
  return least;
}

std::string fft_yaml(const SetupNode& block, const SetupGraph& graph, std::int64_t word) {
  const std::int64_t length = block.required_count("length", kLongestFft).value_or(1);
  const std::int64_t side = fft_side(length);
  const std::int64_t radix = fft_radix(side, graph.kernels[0].kernel.k);
  const Expected step{.m = side, .k = fft_depth(side, radix), .n = side};
  Expected exchange = step;
  exchange.communication = "ALL_TO_ALL";
  if (!check_graph(block, graph, {step, exchange}, {{0, 1}})) return {};
  const double bytes =
      static_cast<double>(side) * static_cast<double>(side) * static_cast<double>(word);
  if (!same_size(graph.kernels[1].communication.bytes, bytes)) {
    graph.kernels[1].body.complain("communication_size",
                                   "cannot be expressed: expected M * N * "
                                   "word = " +
                                       to_exact_text(bytes));
  }
  return fmt::format(
      "workload:\n  kind: fft\n  length: {}\n  radix: {}\n  word: {} B\n  copies: {}\n", length,
      radix, word, copies(block));
}

}  // namespace

std::string generated_workload_yaml(const SetupNode& execution, const SetupNode& block,
                                    SetupGraph& graph, std::int64_t word, std::int64_t chips) {
  for (SetupKernel& kernel : graph.kernels) {
    if (block.name() == "hpl") kernel.kernel.spread = Spread::Grid;
    if (block.name() == "fft") kernel.kernel.spread = Spread::Machine;
  }
  if (block.name() == "dlrm") return dlrm_yaml(execution, block, graph, word, chips);
  return block.name() == "hpl" ? hpl_yaml(block, graph, word) : fft_yaml(block, graph, word);
}

}  // namespace dfsearch
