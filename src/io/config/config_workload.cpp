// The section `workload`.

#include "io/config/config_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/number.hpp"
#include "graph/names.hpp"
#include "graph/workloads/dlrm.hpp"
#include "graph/workloads/fft.hpp"
#include "graph/workloads/hpl.hpp"
#include "io/config/config_llm.hpp"

namespace dfsearch {
namespace {

constexpr std::array<WorkloadKind, 8> kKinds = {
    WorkloadKind::LlmTraining,  WorkloadKind::LlmPrefill,    WorkloadKind::LlmDecode,
    WorkloadKind::DlrmTraining, WorkloadKind::DlrmInference, WorkloadKind::Hpl,
    WorkloadKind::Fft,          WorkloadKind::Graph};

// A step of more work than this takes longer than any machine exists; up to it
// every time and size of the model is a finite double.
constexpr Flops kMostWork{1e36};
constexpr Range<Bytes> kBytesLimits{Bytes(0.0), Bytes(1e24)};
// Chains of generated kernels: more than any machine factors or any model has.
constexpr std::int64_t kMostSteps = 10'000;

/// Counts of a model that is written out kernel by kernel: they are in no kernel.
std::optional<ModelCounts> read_counts(const YamlEntry& section, InputMessages& messages) {
  constexpr CountRange kParameters{.least = 0, .most = std::int64_t{1} << 53};
  constexpr Range<double> kFlop{0.0, 1e36};
  MapReader reader(section, messages);
  ModelCounts counts;
  counts.parameters = reader.required_count("parameters", kParameters).value_or(0);
  counts.active_parameters = reader.required_count("active_parameters", kParameters).value_or(0);
  counts.matmul_parameters = reader.required_count("matmul_parameters", kParameters).value_or(0);
  const auto flop = [&](const char* key) {
    const YamlEntry* entry = reader.required(key);
    return Flops(entry ? read_number(*entry, kFlop, messages).value_or(0.0) : 0.0);
  };
  counts.training_flop_per_token = flop("training_flop_per_token");
  counts.causal_training_flop_per_token = flop("causal_training_flop_per_token");
  counts.cache_bytes_per_token =
      reader.required_quantity<Bytes>("cache_bytes_per_token", kBytesLimits).value_or(Bytes());
  reader.finish();
  return counts;
}

/// The kind, if there is such a one.
std::optional<WorkloadKind> read_kind(MapReader& reader) {
  const YamlEntry* entry = reader.required("kind");
  if (!entry) return std::nullopt;
  const std::optional<std::string> word = read_word(*entry, reader.messages());
  if (!word) return std::nullopt;
  std::vector<std::string_view> names;
  for (const WorkloadKind kind : kKinds) {
    if (*word == name_of(kind)) return kind;
    names.emplace_back(name_of(kind));
  }
  reader.messages().add(entry->value.place, "kind",
                        "unknown kind " + in_quotes(*word) + ", expected " + joined_choices(names) +
                            suggestion(*word, names));
  return std::nullopt;
}

/// The key that all kinds have.
void read_element(MapReader& reader, Workload& workload) {
  constexpr Range<Bytes> kWord{Bytes(0.125), Bytes(1048576.0)};
  workload.word = reader.optional_quantity<Bytes>("word", kWord).value_or(Bytes(2.0));
  // Sums of bytes are exact as long as all are multiples of a power of two.
  const double bits = 8.0 * workload.word.in_base_units();
  if (const YamlEntry* word = reader.optional("word"); word && bits != std::floor(bits)) {
    reader.messages().add(
        word->value.place, "word",
        fmt::format("expected a whole number of bits, got {}", in_quotes(word->value.scalar)));
  }
}

void check_tile(MapReader& reader, const Workload& workload) {
  if (!workload.tile || *workload.tile <= workload.sequence) return;
  const YamlEntry* tile = reader.optional("tile");
  reader.messages().add(
      place_of_conflict({tile, reader.optional("sequence")}), "tile",
      fmt::format("expected at most the sequence, {}, got {}", workload.sequence, *workload.tile));
}

/// Whether all extents may stand in a config, where the graph can be written out.
bool extents_are_counts(const Kernel& kernel) {
  const std::int64_t keys = kernel.attention ? kernel.attention->keys : 1;
  return std::max({kernel.outer, kernel.m, kernel.k, kernel.n, keys, kernel.element_flops}) <=
         kLargestCount;
}

void check_size(MapReader& reader, const Workload& workload) {
  for (const Kernel& kernel : workload.graph.kernels()) {
    if (iterations(kernel) < kMostIterations && extents_are_counts(kernel)) continue;
    reader.messages().add(
        reader.place(), "workload",
        fmt::format("kernel {} is too large: {} x {} x {} x {} iterations, expected fewer than "
                    "2^62",
                    in_quotes(kernel.name), kernel.outer, kernel.m, kernel.k, kernel.n));
    return;
  }
  if (workload.stored > kBytesLimits.most) {
    reader.messages().add(reader.place(), "workload",
                          fmt::format("too much data to store: {:.3g} B, expected at most 1e24",
                                      workload.stored.in_base_units()));
  }
  if (workload.flops() > kMostWork) {
    reader.messages().add(reader.place(), "workload",
                          fmt::format("a step is too much work: {:.3g} FLOP, expected at most 1e36",
                                      workload.flops().in_base_units()));
  }
}

void read_dlrm(MapReader& reader, Workload& workload) {
  const CountRange towers{.least = 0, .most = kMostSteps / 2};
  const auto all_to_all = reader.optional_quantity<Bytes>("all_to_all", kBytesLimits);
  const auto memory = reader.optional_quantity<Bytes>("memory", kBytesLimits);
  DlrmShape shape;
  shape.mlp = reader.required_count("mlp").value_or(1);
  shape.bottom = reader.required_count("bottom", {.least = 1, .most = towers.most}).value_or(1);
  shape.top = reader.required_count("top", towers).value_or(0);
  shape.local_batch = reader.required_count("local_batch").value_or(1);
  EmbeddingTables given;
  given.tables = reader.required_count("tables").value_or(1);
  given.rows = reader.required_count("rows").value_or(1);
  given.embedding = reader.required_count("embedding").value_or(1);
  const double tables = number(given.tables);
  const double embedding = number(given.embedding);
  const bool both_given = all_to_all && memory;
  const std::optional<std::int64_t> pooled =
      both_given ? reader.optional_count("pooled_rows") : reader.required_count("pooled_rows");
  workload.global_batch = reader.required_count("global_batch").value_or(1);
  workload.copies = reader.optional_count("copies").value_or(1);
  const Bytes pooled_bytes =
      tables * number(pooled.value_or(1)) * embedding * number(shape.local_batch) * workload.word;
  shape.all_to_all = all_to_all.value_or(pooled_bytes);
  shape.memory = memory.value_or(pooled_bytes);
  workload.network_use = NetworkUse::Data;
  workload.stored = tables * number(given.rows) * embedding * workload.word;
  workload.embedding_tables = given;
  workload.graph = workload.kind == WorkloadKind::DlrmTraining ? dlrm_training_graph(shape)
                                                               : dlrm_inference_graph(shape);
}

void read_hpl(MapReader& reader, Workload& workload) {
  const std::int64_t n = reader.required_count("n").value_or(1);
  const std::int64_t block = reader.required_count("block").value_or(1);
  const std::optional<std::int64_t> iterations =
      reader.required_count("iterations", {.least = 1, .most = kMostSteps});
  workload.copies = reader.optional_count("copies").value_or(1);
  if (!iterations || !reader.optional("n") || !reader.optional("block")) return;
  if (*iterations > n / block) {
    reader.messages().add(
        place_of_conflict(
            {reader.optional("iterations"), reader.optional("block"), reader.optional("n")}),
        "iterations",
        fmt::format("expected at most n / block = {} / {}, got {}", n, block, *iterations));
    return;
  }
  workload.network_use = NetworkUse::Tensor;
  workload.out_of_core = true;
  workload.stored = number(n) * number(n) * workload.word;
  workload.graph = hpl_graph(n, block, *iterations, workload.word);
}

void read_fft(MapReader& reader, Workload& workload) {
  const std::int64_t length =
      reader.required_count("length", {.least = 1, .most = kLongestFft}).value_or(1);
  const std::int64_t radix =
      reader.required_count("radix", {.least = 2, .most = kLargestCount}).value_or(2);
  workload.copies = reader.optional_count("copies").value_or(1);
  workload.network_use = NetworkUse::Tensor;
  workload.out_of_core = true;
  workload.stored = number(length) * workload.word;
  workload.graph = fft_graph(length, radix, workload.word);
}

std::optional<Serving> read_serving(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  Serving serving;
  const auto decode = reader.required_choice<bool>("pass", {{"prefill", false}, {"decode", true}});
  serving.decode = decode.value_or(false);
  serving.tokens = reader.optional_count("tokens").value_or(1);
  serving.boundary = reader.optional_quantity<Bytes>("boundary", kBytesLimits).value_or(Bytes());
  reader.finish();
  return serving;
}

void read_graph_kind(MapReader& reader, Workload& workload, std::vector<PartitionPin>& pins) {
  workload.layers = reader.optional_count("layers").value_or(1);
  workload.global_batch = reader.optional_count("global_batch").value_or(1);
  workload.micro_batch = reader.optional_count("micro_batch");
  workload.tile = reader.optional_count("tile");
  const std::optional<std::int64_t> sequence = reader.optional_count("sequence");
  workload.sequence = sequence.value_or(1);
  workload.boundary =
      reader.optional_quantity<Bytes>("boundary", kBytesLimits).value_or(Bytes(0.0));
  workload.copies = reader.optional_count("copies").value_or(1);
  workload.network_use =
      reader
          .optional_choice("network",
                           named({NetworkUse::Free, NetworkUse::Tensor, NetworkUse::Data}))
          .value_or(NetworkUse::Free);
  workload.stored = reader.optional_quantity<Bytes>("stored", kBytesLimits).value_or(Bytes(0.0));
  if (const YamlEntry* flag = reader.optional("out_of_core")) {
    workload.out_of_core = read_flag(*flag, reader.messages()).value_or(false);
  }
  if (const YamlEntry* serving = reader.optional("serving")) {
    workload.serving = read_serving(*serving, reader.messages());
  }
  if (const YamlEntry* counts = reader.optional("counts")) {
    workload.counts = read_counts(*counts, reader.messages());
  }
  read_graph(reader, sequence.has_value(), workload, pins);
}

void read_keys_of_kind(MapReader& reader, Workload& workload, std::vector<PartitionPin>& pins) {
  switch (workload.kind) {
    case WorkloadKind::LlmTraining:
    case WorkloadKind::LlmPrefill:
    case WorkloadKind::LlmDecode:
      return read_llm(reader, workload);
    case WorkloadKind::DlrmTraining:
    case WorkloadKind::DlrmInference:
      return read_dlrm(reader, workload);
    case WorkloadKind::Hpl:
      return read_hpl(reader, workload);
    case WorkloadKind::Fft:
      return read_fft(reader, workload);
    case WorkloadKind::Graph:
      return read_graph_kind(reader, workload, pins);
  }
}

}  // namespace

std::optional<Workload> read_workload(const YamlEntry& section, std::vector<PartitionPin>& pins,
                                      InputMessages& messages) {
  const std::size_t before = messages.count();
  MapReader reader(section, messages);
  const std::optional<WorkloadKind> kind = read_kind(reader);
  if (!kind) return std::nullopt;  // which keys there are depends on it
  Workload workload;
  workload.kind = *kind;
  read_element(reader, workload);
  read_keys_of_kind(reader, workload, pins);
  if (messages.count() == before) {
    check_tile(reader, workload);
    check_size(reader, workload);
  }
  reader.finish();
  if (messages.count() != before) return std::nullopt;
  return workload;
}

}  // namespace dfsearch
