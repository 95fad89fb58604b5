#include "model/training/layer_roles.hpp"

#include <algorithm>
#include <initializer_list>

namespace dfsearch::training {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The name of a kernel as the name of its forward kernel and the suffix of a backward kernel.
struct Name {
  std::string_view base;
  std::string_view suffix;
};

Name split_name(const Kernel& kernel) {
  const std::string_view name = kernel.name;
  if (kernel.phase == Phase::Forward) return {name, {}};
  for (const std::string_view suffix : {"_wgrad", "_bwd", "_sum"}) {
    const std::size_t at = name.rfind(suffix);
    if (at != std::string_view::npos) return {name.substr(0, at), name.substr(at)};
  }
  return {name, {}};
}

RowUnit unit_of(std::string_view base, bool latent) {
  if (base.starts_with("EXPERT_") || base == "DISPATCH") return RowUnit::Expert;
  if (base == "ROUTER") return RowUnit::RoutedTable;
  if (is_one_of(base, {"NORM_Q", "ROPE_K"})) {
    if (latent) return RowUnit::All;
    return base == "NORM_Q" ? RowUnit::QueryHead : RowUnit::KeyHead;
  }
  if (is_one_of(base, {"K", "V", "NORM_K"})) return RowUnit::KeyHead;
  if (is_one_of(base, {"Q", "Q_B", "KV_B", "ROPE_Q", "ATTENTION", "SCORES", "SOFTMAX", "DROPOUT_1",
                       "CONTEXT"})) {
    return RowUnit::QueryHead;
  }
  if (base.starts_with("NORM_") || base == "TOPK") return RowUnit::All;
  const bool is_known = base.ends_with("ACT") || base.ends_with("GATE") || base.ends_with("UP") ||
                        base.ends_with("DOWN") || base.starts_with("DROPOUT_") ||
                        base.starts_with("ADD_") ||
                        is_one_of(base, {"INPUT", "GRADIENT", "Q_A", "KV_A", "PROJ", "COMBINE",
                                         "EMBED", "UNEMBED", "LOSS"});
  return is_known ? RowUnit::Row : RowUnit::All;
}

KernelRole elementwise_role(const Kernel& kernel, const Name& name) {
  const bool is_forward = kernel.phase == Phase::Forward;
  if (name.suffix.starts_with("_sum") || name.base.starts_with("ADD_")) return KernelRole::Sum;
  if (is_one_of(name.base, {"INPUT", "GRADIENT"})) return KernelRole::Source;
  if (name.base == "EMBED") {
    return is_forward ? KernelRole::Embedding : KernelRole::EmbeddingGradient;
  }
  if (name.base == "LOSS" && is_forward) return KernelRole::Loss;
  if (name.base == "DISPATCH") return is_forward ? KernelRole::Spread : KernelRole::Collect;
  if (name.base == "COMBINE") return is_forward ? KernelRole::Collect : KernelRole::Spread;
  return KernelRole::Elementwise;
}

}  // namespace

std::optional<KernelId> find_kernel(const DataflowGraph& graph, std::string_view name) {
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    if (graph.kernels()[k].name == name) return KernelId(k);
  }
  return std::nullopt;
}

LayerRole role_of(const DataflowGraph& graph, KernelId id) {
  const Kernel& kernel = graph.kernel(id);
  const Name name = split_name(kernel);
  const RowUnit unit = unit_of(name.base, find_kernel(graph, "KV_A").has_value());
  switch (kernel.kind) {
    case KernelKind::Attention:
      return {KernelRole::Attention, unit};
    case KernelKind::WeightGemm:
      return {kernel.weight_of ? KernelRole::DataGradient : KernelRole::WeightProduct, unit};
    case KernelKind::Gemm:
      if (kernel.weight_of) return {KernelRole::WeightGradient, unit};
      // The gradients of keys and values, from SCORES and CONTEXT, have heads of keys and values.
      if (name.suffix == "_bwd_2") return {KernelRole::ProductOfQueries, RowUnit::KeyHead};
      return {KernelRole::Product, unit};
    case KernelKind::Elementwise:
    case KernelKind::Elementwise2:
      break;
  }
  const KernelRole role = elementwise_role(kernel, name);
  // A sum treats the rows of a norm like any others.
  if (role == KernelRole::Sum && unit == RowUnit::All) return {role, RowUnit::Row};
  return {role, unit};
}

bool is_shared_key(const DataflowGraph& graph, TensorId input) {
  const Tensor& tensor = graph.tensor(input);
  if (graph.kernel(tensor.to).kind != KernelKind::Attention || tensor.operand != 2) return false;
  return role_of(graph, tensor.from).unit == RowUnit::All;
}

bool is_of_latents(const DataflowGraph& graph, KernelId kernel) {
  const KernelId owner = graph.kernel(kernel).weight_of.value_or(kernel);
  return graph.kernel(owner).name == "KV_B";
}

TensorId differentiated(const DataflowGraph& graph, const Tensor& gradient) {
  return graph.inputs(gradient.from)[static_cast<std::size_t>(gradient.value - 1)];
}

}  // namespace dfsearch::training
