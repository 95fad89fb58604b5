// The block of a setup that says what is computed how often.

#include "io/dfmodel/export_dfmodel_workload.hpp"

#include <dfmodel/dfmodel.pb.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dfsearch {
namespace {

/// What only DLRM, HPL and FFT have, and a graph that is written as that of an LLM
/// cannot have.
void refuse_machine(const Workload& workload, Complaints& complaints) {
  for (const Kernel& kernel : workload.graph.kernels()) {
    const auto& own = kernel.communication;
    const bool known = !own || own->type <= CommunicationType::GradientAllReduce;
    if (!known || kernel.second_communication) {
      complaints.add("workload.kernels", "the communication of " + kernel.name);
    }
    if (kernel.spread != Spread::Tensor) {
      complaints.add("workload.kernels", "the spread of " + kernel.name);
    }
  }
  if (workload.copies != 1) complaints.add("workload.copies", "an LLM has one");
  if (workload.network_use != NetworkUse::Free) complaints.add("workload.network", "it is free");
  if (workload.stored > Bytes{}) complaints.add("workload.stored", "an LLM has weights only");
  if (workload.out_of_core) complaints.add("workload.out_of_core", "SRAM is always a limit");
}

/// The width of the model, of which DFModel takes what one stage hands the next.
/// Heads matter to nothing but DFModel's check of their product.
void export_width(const Workload& workload, dfmodel::Llm& setup, Complaints& complaints) {
  const double row = static_cast<double>(workload.sequence) * workload.word.in_base_units();
  const double hidden = workload.boundary.in_base_units() / row;
  if (!workload.graph.has_backward()) {
    if (workload.boundary > Bytes{}) {
      complaints.add("workload.boundary", "it has none without a backward pass");
    }
    return;
  }
  if (hidden != std::floor(hidden) || hidden > 1e12) {
    complaints.add("workload.boundary", "expected a multiple of sequence * word");
    return;
  }
  const auto width = static_cast<std::int64_t>(hidden);
  if (width == 0) return;
  setup.set_hidden_dim(width);
  setup.set_num_head(1);
  for (const Kernel& kernel : workload.graph.kernels()) {
    if (kernel.outer > 1 && kernel.outer * kernel.m == width) setup.set_num_head(kernel.outer);
  }
  setup.set_head_dim(width / setup.num_head());
}

void export_llm(const Workload& workload, dfmodel::Llm& llm, Complaints& complaints) {
  refuse_machine(workload, complaints);
  llm.set_num_layer(workload.layers);
  llm.set_num_layer_in_graph(1);
  llm.set_global_batch_size(workload.global_batch);
  llm.set_seq_len(workload.sequence);
  if (workload.micro_batch) llm.set_micro_batch_size(*workload.micro_batch);
  if (workload.tile) llm.set_tile_size(*workload.tile);
  export_width(workload, llm, complaints);
}

void export_dlrm(const Workload& workload, dfmodel::Dlrm& dlrm) {
  const EmbeddingTables tables = workload.embedding_tables.value_or(EmbeddingTables{});
  dlrm.set_num_table(tables.tables);
  dlrm.set_emb_dim(tables.embedding);
  dlrm.set_row(tables.rows);
  dlrm.set_global_batch_size(workload.global_batch);
  dlrm.set_num_copy(workload.copies);
}

void export_hpl(const Workload& workload, dfmodel::Hpl& hpl) {
  const Kernel& first = workload.graph.kernels().front();
  hpl.set_n(first.m);
  hpl.set_b(first.n);
  hpl.set_num_copy(workload.copies);
}

/// The length is known by the bytes stored, whose last digits are rounded, and by
/// the side of the matrix, between two squares.
void export_fft(const Workload& workload, dfmodel::Fft& fft) {
  const std::int64_t side = workload.graph.kernels().front().m;
  const auto stored = static_cast<std::int64_t>(workload.stored / workload.word);
  fft.set_length(std::clamp(stored, side * side, (side + 1) * (side + 1) - 1));
  fft.set_num_copy(workload.copies);
}

}  // namespace

bool has_own_block(const Workload& workload) {
  return is_dlrm(workload.kind) || workload.kind == WorkloadKind::Hpl ||
         workload.kind == WorkloadKind::Fft;
}

void export_workload(const Workload& workload, dfmodel::Execution& setup, Complaints& complaints) {
  if (workload.kind == WorkloadKind::Hpl) {
    export_hpl(workload, *setup.mutable_hpl());
  } else if (workload.kind == WorkloadKind::Fft) {
    export_fft(workload, *setup.mutable_fft());
  } else if (has_own_block(workload)) {
    export_dlrm(workload, *setup.mutable_dlrm());
  } else {
    export_llm(workload, *setup.mutable_llm(), complaints);
  }
  const double word = workload.word.in_base_units();
  if (word != std::floor(word)) complaints.add("workload.word", "expected whole bytes");
  setup.set_word(static_cast<std::int64_t>(word));
}

}  // namespace dfsearch
