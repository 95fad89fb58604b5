// Kernels and connections of a setup.
//
// DFModel counts per chip what a config counts for all: the memory traffic that the
// chips of a tensor group share, and the embeddings that all chips exchange.

#include "io/dfmodel/export_dfmodel_graph.hpp"

#include <dfmodel/dfmodel.pb.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

#include "base/error.hpp"
#include "io/dfmodel/dfmodel_graph.hpp"
#include "model/layer/shard.hpp"

namespace dfsearch {
namespace {

double output_bytes(const Kernel& kernel, Bytes word) {
  return output_size(kernel, word).in_base_units();
}

/// What a setup calls the loop that is sharded, and the one that is tiled.
struct LoopRow {
  Loop loop;
  dfmodel::KernelBody::Sharding sharding;
  dfmodel::KernelBody::Tiling tiling;
};

const LoopRow& row_of(Loop loop) {
  using Body = dfmodel::KernelBody;
  static constexpr LoopRow kRows[] = {{Loop::Outer, Body::OUTER_SHARDING, Body::OUTER_TILING},
                                      {Loop::M, Body::M_SHARDING, Body::M_TILING},
                                      {Loop::K, Body::K_SHARDING, Body::K_TILING},
                                      {Loop::N, Body::N_SHARDING, Body::N_TILING},
                                      {Loop::None, Body::NO_SHARDING, Body::NO_TILING}};
  return *std::find_if(std::begin(kRows), std::end(kRows),
                       [&](const LoopRow& row) { return row.loop == loop; });
}

/// The share of one chip, such that all shares together give `bytes` again if any
/// double does.
double share_of(double bytes, std::int64_t chips) {
  const auto count = static_cast<double>(chips);
  const double share = bytes / count;
  for (const double close : {share, std::nextafter(share, 0.0), std::nextafter(share, INFINITY)}) {
    if (close * count == bytes) return close;
  }
  return share;
}

/// What a kernel of one of DFModel's generators communicates, or one of an LLM.
void set_communication(const Problem& problem, const Kernel& kernel, dfmodel::KernelBody& body) {
  if (!kernel.communication) return;
  const Communication& own = *kernel.communication;
  const double bytes = own.bytes.in_base_units();
  const auto set = [&](dfmodel::CommunicationType type, double size) {
    body.set_communication_type(type);
    body.set_communication_size(size);
  };
  switch (own.type) {
    case CommunicationType::AllReduce:
      return set(dfmodel::ALL_REDUCE, bytes);
    case CommunicationType::AllGather:
      return set(dfmodel::ALL_GATHER, bytes);
    case CommunicationType::PointToPoint:
      return set(dfmodel::POINT_TO_POINT, bytes);
    case CommunicationType::GradientAllReduce:
    case CommunicationType::FlatGradientAllReduce:
      return set(dfmodel::ALL_REDUCE_PERIODIC, output_bytes(kernel, problem.workload.word));
    case CommunicationType::AllToAll:
      return set(dfmodel::ALL_TO_ALL, share_of(bytes, problem.chips_per_copy()));
    case CommunicationType::Transpose:
      return set(dfmodel::ALL_TO_ALL, bytes);
    case CommunicationType::GridBroadcast:
      return set(dfmodel::BROADCAST, bytes);
    case CommunicationType::GridPointToPoint:
      return;  // comes second
  }
}

/// The second one of a kernel of HPL.
void set_second_communication(const Kernel& kernel, dfmodel::KernelBody& body) {
  if (!kernel.second_communication) return;
  body.set_communication_type_2(dfmodel::POINT_TO_POINT);
  body.set_communication_size_2(kernel.second_communication->bytes.in_base_units());
}

/// The tensor degree, if the config gives it.
std::optional<std::int64_t> given_tensor_degree(const Machine& system) {
  std::int64_t degree = 1;
  for (const NetworkDimension& dimension : system.network) {
    if (!dimension.strategy) return std::nullopt;
    if (*dimension.strategy != Strategy::Tensor) continue;
    if (!dimension.degree) return std::nullopt;
    degree *= *dimension.degree;
  }
  return degree;
}

void set_memory(const Problem& problem, const Kernel& kernel, dfmodel::KernelBody& body,
                Complaints& complaints) {
  const std::optional<std::int64_t> degree = given_tensor_degree(problem.system);
  if (kernel.sharded_memory > Bytes{} && !degree) {
    complaints.add("system.network",
                   fmt::format("the memory traffic of {} is shared by the chips of a tensor group "
                               "and a setup has that of one chip, expected a strategy for each "
                               "dimension and the degrees of those that serve tensor",
                               kernel.name));
  }
  const ChipGrid grid{.tensor = degree.value_or(1), .splits_heads = true};
  const Bytes bytes = explicit_bytes(kernel, Loop::None, grid);
  if (bytes > Bytes{}) body.set_memory_size(bytes.in_base_units());
}

dfmodel::KernelBody& new_body(KernelKind kind, dfmodel::Kernel& kernel) {
  switch (kind) {
    case KernelKind::WeightGemm:
      return *kernel.mutable_gemm_input1_weight();
    case KernelKind::Gemm:
      return *kernel.mutable_gemm_input1_input2();
    case KernelKind::Elementwise:
      return *kernel.mutable_elementwise_input1();
    case KernelKind::Elementwise2:
      return *kernel.mutable_elementwise_input1_input2();
    case KernelKind::Attention:
      return *kernel.mutable_gemm_input1_input2();  // refused
  }
  throw InternalError("a kind of kernel without a variant");
}

/// The bytes of the tensors that a kernel consumes, by operand.
void set_input_sizes(const DataflowGraph& graph, KernelId id, Bytes word,
                     dfmodel::KernelBody& body) {
  const bool two = input_size_fields(graph.kernel(id).kind).size() == 2;
  for (const TensorId t : graph.inputs(id)) {
    const Tensor& tensor = graph.tensor(t);
    const double bytes = output_bytes(graph.kernel(tensor.from), word);
    if (!two) {
      body.set_input_tensor_size(bytes);
    } else if (tensor.operand == 1) {
      body.set_input_tensor_1_size(bytes);
    } else {
      body.set_input_tensor_2_size(bytes);
    }
  }
}

/// A group of chips has no field.
void refuse_groups(const DataflowGraph& graph, Complaints& complaints) {
  const auto has_group = [](const std::optional<Communication>& own) {
    return own && !own->group.empty();
  };
  for (const Kernel& kernel : graph.kernels()) {
    if (!has_group(kernel.communication) && !has_group(kernel.second_communication)) continue;
    complaints.add("workload.kernels",
                   fmt::format("{} communicates in a group of chips, which no setup has, expected "
                               "no 'group'",
                               kernel.name));
  }
}

/// What only layers by rule have (docs/transformers.md).
void refuse_rules(const DataflowGraph& graph, Complaints& complaints) {
  for (const Kernel& kernel : graph.kernels()) {
    const bool plain = !kernel.attention && kernel.element_flops == 0 && kernel.matrices == 0 &&
                       kernel.parameters == 0 && kernel.tokens == 0 && kernel.steps == 1 &&
                       (!kernel.weight_of || kernel.has_weight());
    if (plain) continue;
    complaints.add("workload.kernels",
                   fmt::format("{} has fused attention, steps, parameters or work of elements "
                               "that a setup cannot say",
                               kernel.name));
  }
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.value < 0) continue;
    return complaints.add("workload.tensors", "a setup has no values with several consumers");
  }
}

void add_kernel(const Problem& problem, KernelId id, dfmodel::DataflowGraph& setup,
                Complaints& complaints) {
  const Workload& workload = problem.workload;
  const Kernel& kernel = workload.graph.kernel(id);
  const auto& pins = problem.execution.pins;
  dfmodel::Kernel& result = *setup.add_kernels();
  result.set_name(kernel.name);
  result.set_id(static_cast<std::int64_t>(id.index()) + 1);
  result.set_config(pins.empty() ? -1 : pins[id.index()].value_or(-1));
  result.set_fwd_bwd(kernel.phase == Phase::Backward ? dfmodel::Kernel::BWD : dfmodel::Kernel::FWD);
  result.set_type(kernel.mode == Mode::Simd ? dfmodel::Kernel::SIMD : dfmodel::Kernel::SYSTOLIC);
  dfmodel::KernelBody& body = new_body(kernel.kind, result);
  body.set_outer(kernel.outer);
  body.set_m(kernel.m);
  body.set_n(kernel.n);
  if (kernel.kind == KernelKind::WeightGemm || kernel.kind == KernelKind::Gemm) {
    body.set_k(kernel.k);
  }
  set_input_sizes(workload.graph, id, workload.word, body);
  if (kernel.has_weight()) {
    body.set_weight_tensor_size(static_cast<double>(kernel.outer) * static_cast<double>(kernel.m) *
                                static_cast<double>(kernel.k) * workload.word.in_base_units());
  }
  body.set_output_tensor_size(output_bytes(kernel, workload.word));
  body.set_tiling(row_of(kernel.tiled).tiling);
  if (!problem.sharding_pins.empty() && problem.sharding_pins[id.index()]) {
    body.set_sharding(row_of(problem.sharding_pins[id.index()]->loops[0]).sharding);
  }
  set_communication(problem, kernel, body);
  set_second_communication(kernel, body);
  set_memory(problem, kernel, body, complaints);
  if (kernel.skip_weight) body.set_skip_weight(true);
  if (kernel.repeat > 1) body.set_num_input(kernel.repeat);
}

}  // namespace

void export_graph(const Problem& problem, dfmodel::DataflowGraph& setup, Complaints& complaints) {
  const DataflowGraph& graph = problem.workload.graph;
  refuse_rules(graph, complaints);
  refuse_groups(graph, complaints);
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    add_kernel(problem, KernelId(i), setup, complaints);
  }
  for (const Tensor& tensor : graph.tensors()) {
    dfmodel::Connection& connection = *setup.add_connections();
    connection.set_id(setup.connections_size());
    connection.set_startidx(static_cast<std::int64_t>(tensor.from.index()) + 1);
    connection.set_endidx(static_cast<std::int64_t>(tensor.to.index()) + 1);
  }
}

}  // namespace dfsearch
