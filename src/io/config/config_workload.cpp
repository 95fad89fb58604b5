// The section `workload`: rules of most kinds.

#include "io/config/workload_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counts.hpp"
#include "base/units_text.hpp"
#include "graph/workloads/generators.hpp"
#include "io/schema/read_schema.hpp"
#include "io/text/input_messages.hpp"
#include "schema/report.hpp"

namespace dfsearch {
namespace {

// No machine lives long enough for a step of more work; up to this limit all times and sizes of the
// model are finite doubles.
constexpr Flops kMostWork{1e36};
constexpr Bytes kMostStored{1e24};

/// Whether all extents are valid in a config, so that the graph can be written as one.
bool extents_are_counts(const Kernel& kernel) {
  const std::int64_t keys = kernel.attention ? kernel.attention->keys : 1;
  return std::max({kernel.outer, kernel.m, kernel.k, kernel.n, keys, kernel.element_flops}) <=
         kLargestCount;
}

void check_size(const Workload& workload, Report& report) {
  for (const Kernel& kernel : workload.graph.kernels()) {
    if (iterations(kernel) < kMostIterations && extents_are_counts(kernel)) continue;
    return report.at_map(
        fmt::format("kernel {} is too large: {} x {} x {} x {} iterations, expected fewer than "
                    "2^62",
                    in_quotes(kernel.name), kernel.outer, kernel.m, kernel.k, kernel.n));
  }
  if (workload.stored > kMostStored) {
    report.at_map(fmt::format("too much data to store: {:.3g} B, expected at most 1e24",
                              workload.stored.in_base_units()));
  }
  if (workload.flops() > kMostWork) {
    report.at_map(fmt::format("a step is too much work: {:.3g} FLOP, expected at most 1e36",
                              workload.flops().in_base_units()));
  }
}

}  // namespace

void check_workload(const WorkloadSection& text, Report& report) {
  const Workload& workload = text.workload;
  // Sums of bytes are exact as long as all are multiples of a power of two.
  const double bits = 8.0 * workload.word.in_base_units();
  if (bits != std::floor(bits)) {
    report.at({&workload.word}, fmt::format("expected a whole number of bits, got {}",
                                            in_quotes(to_exact_text(workload.word))));
  }
  if (workload.tile && *workload.tile > workload.sequence) {
    report.at({&workload.tile, &text.sequence},
              fmt::format("expected at most the sequence, {}, got {}", workload.sequence,
                          *workload.tile));
  }
  check_size(workload, report);
}

void resolve_defaults_of_dlrm(void* object, Report& report) {
  auto& text = *static_cast<WorkloadSection*>(object);
  auto& [shape, tables, pooled_rows, all_to_all, memory] = text.dlrm;
  if (!pooled_rows && !(all_to_all && memory)) return report.at_map("missing key 'pooled_rows'");
  Workload& workload = text.workload;
  const double count = number(tables.tables);
  const double embedding = number(tables.embedding);
  const Bytes pooled = count * number(pooled_rows.value_or(1)) * embedding *
                       number(shape.local_batch) * workload.word;
  shape.all_to_all = all_to_all.value_or(pooled);
  shape.memory = memory.value_or(pooled);
  workload.network_use = NetworkUse::Data;
  workload.stored = count * number(tables.rows) * embedding * workload.word;
  workload.embedding_tables = tables;
  workload.graph = workload.kind == WorkloadKind::DlrmTraining ? dlrm_training_graph(shape)
                                                               : dlrm_inference_graph(shape);
  check_workload(text, report);
}

namespace {

/// Sets the stored data of kinds for which SRAM is not a limit.
void set_out_of_core(Workload& workload, double elements) {
  workload.network_use = NetworkUse::Tensor;
  workload.out_of_core = true;
  workload.stored = elements * workload.word;
}

}  // namespace

void resolve_defaults_of_hpl(void* object, Report& report) {
  auto& text = *static_cast<WorkloadSection*>(object);
  const auto& [n, block, iterations] = text.hpl;
  if (iterations > n / block) {
    return report.at(
        {&iterations, &block, &n},
        fmt::format("expected at most n / block = {} / {}, got {}", n, block, iterations));
  }
  set_out_of_core(text.workload, number(n) * number(n));
  text.workload.graph = hpl_graph(n, block, iterations, text.workload.word);
  check_workload(text, report);
}

void resolve_defaults_of_fft(void* object, Report& report) {
  auto& text = *static_cast<WorkloadSection*>(object);
  set_out_of_core(text.workload, number(text.fft.length));
  text.workload.graph = fft_graph(text.fft.length, text.fft.radix, text.workload.word);
  check_workload(text, report);
}

void resolve_defaults_of_lstm(void* object, Report& report) {
  auto& text = *static_cast<WorkloadSection*>(object);
  const LstmShape& shape = text.lstm;
  Workload& workload = text.workload;
  workload.sequence = shape.steps * shape.local_batch;
  if (workload.tile && *workload.tile > workload.sequence) {
    return report.at({&workload.tile, &shape.steps, &shape.local_batch},
                     fmt::format("expected at most steps * local_batch = {} * {}, got {}",
                                 shape.steps, shape.local_batch, *workload.tile));
  }
  workload.stored = number(shape.vocabulary) * number(shape.hidden) * workload.word;
  workload.graph = lstm_graph(shape, workload.word);
  check_workload(text, report);
}

std::optional<WorkloadSection> read_workload_keys(const YamlEntry& section,
                                                  InputMessages& messages) {
  WorkloadSection text;
  const Field row{.key = section.key, .type = &kWorkloadType};
  if (!read_value(section, row, &text, messages)) return std::nullopt;
  return text;
}

std::optional<Workload> read_workload(const YamlEntry& section, std::vector<PartitionPin>& pins,
                                      InputMessages& messages) {
  std::optional<WorkloadSection> found = read_workload_keys(section, messages);
  if (!found) return std::nullopt;
  WorkloadSection& text = *found;
  if (text.llm.lora) {
    messages.add(section.value.find("lora")->place, "lora",
                 "only valid with 'training'; remove this key");
    return std::nullopt;
  }
  for (std::size_t k = 0; k < text.kernels.size(); ++k) {
    const auto& partition = text.kernels[k].partition;
    if (!partition) continue;
    const YamlNode& kernel = section.value.find("kernels")->value.items[k];
    pins.push_back({KernelId(k), *partition, kernel.find("partition")->value.place});
  }
  return std::move(text.workload);
}

}  // namespace dfsearch
