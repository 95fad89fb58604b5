#pragma once
// The section `workload` as a config has it: rows of keys, and what they become.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/workload.hpp"
#include "graph/workloads/generators.hpp"
#include "graph/workloads/llm/transformer_graph.hpp"
#include "io/text/json_text.hpp"
#include "io/text/yaml_tree.hpp"
#include "model/memory/trained.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

/// A key that asks for a layer by rule (docs/transformers.md).
inline constexpr unsigned kByRule = kOwnFlag;

// Rows of several sections.
inline constexpr Extra kNeeded{.flags = kRequired};
inline constexpr Interval kTraffic{0.0, 1e24};
inline constexpr Interval kFromZero{0.0, static_cast<double>(kLargestCount)};

/// More than any model has; up to there a search is stopped in time.
inline constexpr std::int64_t kMostLayers = 10'000;

/// What is left out follows from the rest.
struct LlmSection {
  Transformer model;
  TransformerPass pass;
  std::optional<std::int64_t> mlp, kv_heads, value_dim, context;
  std::int64_t repeat_layers = 1;
  std::optional<memory::Lora> lora;  ///< of plans alone
  /// The fields of a model of several kinds of layers, as JSON; see resolve_family().
  std::string family;
};

struct DlrmSection {
  DlrmShape shape;
  EmbeddingTables tables;
  std::optional<std::int64_t> pooled_rows;
  std::optional<Bytes> all_to_all, memory;
};

struct HplSection {
  std::int64_t n = 1, block = 1, iterations = 1;
};

struct FftSection {
  std::int64_t length = 1, radix = 2;
};

constexpr bool is_elementwise(KernelKind kind) {
  return kind == KernelKind::Elementwise || kind == KernelKind::Elementwise2;
}

struct KernelSection {
  Kernel kernel;
  std::optional<Mode> mode;
  std::optional<Loop> tiled;
  std::vector<Communication> communication;  ///< at most two
  std::string weight_of, backward_of;
  std::optional<std::int64_t> partition;
};

struct TensorSection {
  std::string from, to;
  std::optional<std::int64_t> operand, value;
  std::int64_t rows = 0;
  bool next_layer = false;
  bool next_step = false;
};

/// Points of an FFT: the root is an extent.
inline constexpr std::int64_t kLongestFft = std::int64_t{1} << 60;

/// Workloads of all kinds; each kind has rows for its keys, and makes the graph.
struct WorkloadSection {
  Workload workload;
  std::optional<std::int64_t> sequence;
  LlmSection llm;
  DlrmSection dlrm;
  HplSection hpl;
  FftSection fft;
  LstmShape lstm;
  std::vector<KernelSection> kernels;
  std::vector<TensorSection> tensors;
};

/// The keys of a workload as kernels and tensors by name, whatever generated it; none with a flag
/// of `left_out`.
Json written_graph(const Workload& workload, unsigned left_out = 0);

const Schema& schema_of(Rows<LlmSection>);
const Schema& schema_of(Rows<memory::Lora>);

/// A workload, whose rows depend on the key `kind`.
extern const Type kWorkloadType;

// Checks the rules of the kinds, and completes a text whose keys are right by themselves.

/// What is wrong with a width of layers that a model has none of.
inline constexpr std::string_view kAllExperts =
    "not allowed where all layers have experts, whose width is 'experts.mlp'";

/// If any key of a layer by rule is given, the layer is made by the rules, else it is the layer of
/// the published runs (docs/model.md, section 9).
void resolve_defaults_of_llm(void* text, Report& report);
void resolve_defaults_of_dlrm(void* text, Report& report);
void resolve_defaults_of_hpl(void* text, Report& report);
void resolve_defaults_of_fft(void* text, Report& report);
void resolve_defaults_of_lstm(void* text, Report& report);
/// Kernels and tensors by name.
void resolve_defaults_of_graph(void* text, Report& report);
void resolve_defaults_of_kernel(void* text, Report& report);
void check_communication(void* communication, Report& report);
void check_experts(void* experts, Report& report);
/// Checks that `full_attention_every` has a window and at most all layers, and `post_norm` an MLP.
bool check_kinds(const Transformer& model, Report& report);
/// Checks that all kinds share, once the graph is made.
void check_workload(const WorkloadSection& text, Report& report);

/// A kernel that a config puts into a partition, whichever key said so.
struct PartitionPin {
  KernelId kernel;
  std::int64_t partition = 0;
  Place place;
};

/// The section with its graph; nothing if anything in it is wrong.
std::optional<WorkloadSection> read_workload_keys(const YamlEntry& section,
                                                  InputMessages& messages);

/// A workload that is not trained by a plan, and so has no adapters.  `pins` receives the
/// `partition` keys of `kind: graph`.
std::optional<Workload> read_workload(const YamlEntry& section, std::vector<PartitionPin>& pins,
                                      InputMessages& messages);

/// Reports tensors whose shapes cannot agree with what their kernels read; `section` is the
/// workload that the graph was read from.
void check_shapes(const YamlNode& section, const DataflowGraph& graph, InputMessages& messages);

}  // namespace dfsearch
