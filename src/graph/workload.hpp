#pragma once
// A workload: the graph of one layer and the number of times that it runs.

#include <cstdint>
#include <optional>

#include "base/words.hpp"
#include "graph/dataflow_graph.hpp"
#include "graph/workloads/llm/transformer.hpp"

namespace dfsearch {

/// The source of the graph of a workload: one of the generators of graph/workloads/, or a config
/// that lists the kernels.
enum class WorkloadKind : std::uint8_t {
  LlmTraining,
  LlmPrefill,
  LlmDecode,
  DlrmTraining,
  DlrmInference,
  Hpl,
  Fft,
  Lstm,
  Graph,
};
constexpr auto words(WorkloadKind) {
  return named<WorkloadKind>("llm_training", "llm_prefill", "llm_decode", "dlrm_training",
                             "dlrm_inference", "hpl", "fft", "lstm", "graph");
}

/// Whether it is a recommendation model.
constexpr bool is_dlrm(WorkloadKind kind) {
  return kind == WorkloadKind::DlrmTraining || kind == WorkloadKind::DlrmInference;
}

/// The use of all dimensions of the network, if the workload decides it.
enum class NetworkUse : std::uint8_t {
  Free,    ///< decided by the system or the search
  Tensor,  ///< one copy of the work spread over all chips
  Data,    ///< replicas
};
constexpr auto words(NetworkUse) { return named<NetworkUse>("free", "tensor", "data"); }

/// A request to a served model, for its latency and rate (docs/model.md, section 7).
struct Serving {
  bool decode = false;      ///< whether a sample is one token after others, not a prompt
  std::int64_t tokens = 1;  ///< tokens of a sample
  Bytes boundary{};  ///< bytes of a request from stage to stage, divided over the tensor chips

  friend bool operator==(const Serving&, const Serving&) = default;
};

/// The embedding tables of a recommendation model.  Costs depend on their
/// product alone, which is in `Workload::stored`.
struct EmbeddingTables {
  std::int64_t tables = 1;
  std::int64_t rows = 1;       ///< rows of a table
  std::int64_t embedding = 1;  ///< elements of a row
};

struct Workload {
  WorkloadKind kind = WorkloadKind::Graph;
  DataflowGraph graph;  ///< one layer, one sample
  Bytes word{2.0};      ///< bytes of one element
  std::int64_t layers = 1;
  std::int64_t global_batch = 1;  ///< samples per step, over all data-parallel replicas
  /// Extent of the tiled loop (the sequence); 1: nothing is tiled.
  std::int64_t sequence = 1;
  std::optional<std::int64_t> micro_batch;  ///< searched when left out
  std::optional<std::int64_t> tile;  ///< elements of `sequence` per tile; searched when left out
  /// Bytes from one pipeline stage to the next for one sample, in each direction that the graph
  /// has (forward, and backward when it trains).
  Bytes boundary{};
  /// Independent copies of the workload side by side, each on its share of the chips.
  std::int64_t copies = 1;
  NetworkUse network_use = NetworkUse::Free;
  Bytes stored{};  ///< held in memory beside weights and activations, by all chips of a copy
  /// The kernels work in memory, in blocks of any size: SRAM is no limit, and
  /// memory holds `stored` and nothing else.
  bool out_of_core = false;
  std::optional<Serving> serving = std::nullopt;
  std::optional<EmbeddingTables> embedding_tables = std::nullopt;  ///< kinds of DLRM have them
  /// The model, if the layer was made by the rules of docs/transformers.md.  Costs are in the graph
  /// alone.
  std::optional<Transformer> transformer = std::nullopt;
  std::optional<ModelCounts> counts = std::nullopt;  ///< of the whole model, for results

  /// The FLOP of a whole step of one copy.
  /// docs/model.md (4)
  [[nodiscard]] Flops flops() const {
    return graph.flops() * static_cast<double>(layers) * static_cast<double>(global_batch);
  }
};

}  // namespace dfsearch
