// The section `workload`.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "io/config_sections.hpp"

namespace dfsearch {
namespace {

constexpr std::array<std::string_view, 3> kSupportedKinds = {"llm_training", "llm_prefill",
                                                             "graph"};
constexpr std::array<std::string_view, 5> kLaterKinds = {"llm_decode", "dlrm_training",
                                                         "dlrm_inference", "hpl", "fft"};

// A step of more work than this takes longer than any machine exists; up to it
// every time and size of the model is a finite double.
constexpr Flops kMostWork{1e36};

template <std::size_t Count>
bool contains(const std::array<std::string_view, Count>& names, std::string_view name) {
  for (const std::string_view known : names) {
    if (known == name) return true;
  }
  return false;
}

/// The kind, if this version has it.
std::optional<std::string> read_kind(MapReader& reader) {
  const YamlEntry* entry = reader.required("kind");
  if (!entry) return std::nullopt;
  const std::optional<std::string> kind = read_word(*entry, reader.messages());
  if (!kind || contains(kSupportedKinds, *kind)) return kind;
  const std::string expected = ", expected " + joined_choices(kSupportedKinds);
  const std::string what =
      contains(kLaterKinds, *kind)
          ? in_quotes(*kind) + " is not supported in this version" + expected
          : "unknown kind " + in_quotes(*kind) + expected + suggestion(*kind, kSupportedKinds);
  reader.messages().add(entry->value.place, "kind", what);
  return std::nullopt;
}

/// The keys that all kinds have.
void read_common(MapReader& reader, Workload& workload) {
  constexpr Range<Bytes> kWord{Bytes(0.125), Bytes(1048576.0)};
  workload.word = reader.optional_quantity<Bytes>("word", kWord).value_or(Bytes(2.0));
  // Sums of bytes are exact as long as all are multiples of a power of two.
  const double bits = 8.0 * workload.word.in_base_units();
  if (const YamlEntry* word = reader.optional("word"); word && bits != std::floor(bits)) {
    reader.messages().add(
        word->value.place, "word",
        fmt::format("expected a whole number of bits, got {}", in_quotes(word->value.scalar)));
  }
  workload.micro_batch = reader.optional_count("micro_batch");
  workload.tile = reader.optional_count("tile");
}

void check_tile(MapReader& reader, const Workload& workload) {
  const YamlEntry* tile = reader.optional("tile");
  if (!tile || !workload.tile || *workload.tile <= workload.sequence) return;
  reader.messages().add(
      place_of_conflict({tile, reader.optional("sequence")}), "tile",
      fmt::format("expected at most the sequence, {}, got {}", workload.sequence, *workload.tile));
}

void check_size(MapReader& reader, const Workload& workload) {
  for (const Kernel& kernel : workload.graph.kernels()) {
    if (iterations(kernel) < kMostIterations) continue;
    reader.messages().add(
        reader.place(), "workload",
        fmt::format("kernel {} is too large: {} x {} x {} x {} iterations, expected fewer than "
                    "2^62",
                    in_quotes(kernel.name), kernel.outer, kernel.m, kernel.k, kernel.n));
    return;
  }
  if (workload.flops() > kMostWork) {
    reader.messages().add(reader.place(), "workload",
                          fmt::format("a step is too much work: {:.3g} FLOP, expected at most 1e36",
                                      workload.flops().in_base_units()));
  }
}

void read_llm(MapReader& reader, Workload& workload) {
  const std::optional<std::int64_t> hidden = reader.required_count("hidden");
  const std::optional<std::int64_t> heads = reader.required_count("heads");
  const std::optional<std::int64_t> head_dim = reader.required_count("head_dim");
  const std::optional<std::int64_t> sequence = reader.required_count("sequence");
  workload.layers = reader.required_count("layers").value_or(1);
  workload.global_batch = reader.required_count("global_batch").value_or(1);
  if (!hidden || !heads || !head_dim || !sequence) return;
  // Divided, since the product may leave 64 bits.
  if (*hidden % *heads != 0 || *hidden / *heads != *head_dim) {
    const double product = static_cast<double>(*heads) * static_cast<double>(*head_dim);
    reader.messages().add(place_of_conflict({reader.optional("hidden"), reader.optional("heads"),
                                             reader.optional("head_dim")}),
                          "hidden",
                          fmt::format("expected heads * head_dim = {} * {} = {}, got {}", *heads,
                                      *head_dim, to_exact_text(product), *hidden));
    return;
  }
  const LlmShape shape{
      .hidden = *hidden, .heads = *heads, .head_dim = *head_dim, .sequence = *sequence};
  workload.sequence = *sequence;
  if (workload.kind == "llm_training") {
    workload.graph = llm_training_graph(shape);
    workload.boundary =
        static_cast<double>(*hidden) * static_cast<double>(*sequence) * workload.word;
  } else {
    workload.graph = llm_forward_graph(shape);
  }
}

void read_graph_kind(MapReader& reader, Workload& workload, std::vector<PartitionPin>& pins) {
  constexpr Range<Bytes> kBoundary{Bytes(0.0), Bytes(1e24)};
  workload.layers = reader.optional_count("layers").value_or(1);
  workload.global_batch = reader.optional_count("global_batch").value_or(1);
  const std::optional<std::int64_t> sequence = reader.optional_count("sequence");
  workload.sequence = sequence.value_or(1);
  workload.boundary = reader.optional_quantity<Bytes>("boundary", kBoundary).value_or(Bytes(0.0));
  read_graph(reader, sequence.has_value(), workload, pins);
}

}  // namespace

double iterations(const Kernel& kernel) {
  return static_cast<double>(kernel.outer) * static_cast<double>(kernel.m) *
         static_cast<double>(kernel.k) * static_cast<double>(kernel.n);
}

std::optional<Workload> read_workload(const YamlEntry& section, std::vector<PartitionPin>& pins,
                                      InputMessages& messages) {
  const std::size_t before = messages.count();
  MapReader reader(section, messages);
  const std::optional<std::string> kind = read_kind(reader);
  if (!kind) return std::nullopt;  // which keys there are depends on it
  Workload workload;
  workload.kind = *kind;
  read_common(reader, workload);
  if (*kind == "graph") {
    read_graph_kind(reader, workload, pins);
  } else {
    read_llm(reader, workload);
  }
  if (messages.count() == before) {
    check_tile(reader, workload);
    check_size(reader, workload);
  }
  reader.finish();
  if (messages.count() != before) return std::nullopt;
  return workload;
}

}  // namespace dfsearch
