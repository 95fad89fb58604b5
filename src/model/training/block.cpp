#include "model/training/block.hpp"

#include <utility>

#include "graph/workloads/blocks/mixed_layers.hpp"

namespace dfsearch::training {
namespace {

bool is_weight_gradient(const Kernel& kernel) {
  return kernel.weight_of && kernel.kind == KernelKind::Gemm;
}

Block::Pass pass_of(const DataflowGraph& graph, KernelId id) {
  const Kernel& kernel = graph.kernel(id);
  // EMBED has no inputs either, but it has parameters: a table.
  if (graph.inputs(id).empty() && kernel.parameters == 0) return Block::Pass::None;
  if (kernel.phase == Phase::Forward) return Block::Pass::Forward;
  return is_weight_gradient(kernel) ? Block::Pass::WeightGradient : Block::Pass::InputGradient;
}

/// Whether a forward kernel is a product of two streamed inputs, which makes scores or applies
/// them.
bool is_forward_product(const Kernel& kernel) {
  return kernel.phase == Phase::Forward && kernel.kind == KernelKind::Gemm && !kernel.weight_of;
}

}  // namespace

Block::Block(Part part, DataflowGraph graph) : part_(part), graph_(std::move(graph)) {
  for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
    passes_.push_back(pass_of(graph_, KernelId(k)));
  }
  find_scoring();
  find_values();
}

/// Finds the kernels from one forward product to the next, both included: scores are their inputs
/// or outputs.
void Block::find_scoring() {
  const std::size_t count = graph_.kernel_count();
  std::vector<bool> after(count, false), before(count, false);
  const auto order = graph_.topological_order();
  for (const KernelId k : order) {
    if (graph_.kernel(k).phase != Phase::Forward) continue;
    bool reached = is_forward_product(graph_.kernel(k));
    for (const TensorId t : graph_.inputs(k)) {
      const KernelId from = graph_.tensor(t).from;
      const Kernel& producer = graph_.kernel(from);
      reached = reached || (after[from.index()] && !producer.has_weight() &&
                            (graph_.kernel(k).kind == KernelKind::Elementwise));
    }
    after[k.index()] = reached && !graph_.kernel(k).has_weight();
  }
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const KernelId k = *it;
    if (graph_.kernel(k).phase != Phase::Forward) continue;
    bool reaches = is_forward_product(graph_.kernel(k));
    for (const TensorId t : graph_.outputs(k)) {
      const KernelId to = graph_.tensor(t).to;
      reaches = reaches || (graph_.kernel(to).phase == Phase::Forward && before[to.index()] &&
                            graph_.kernel(k).kind == KernelKind::Elementwise);
    }
    before[k.index()] = reaches;
  }
  for (std::size_t k = 0; k < count; ++k) scoring_.push_back(after[k] && before[k]);
}

void Block::find_values() {
  value_of_.resize(graph_.tensor_count());
  computed_.resize(graph_.kernel_count());
  grouped_.resize(graph_.kernel_count(), false);
  for (std::size_t v = 0; v < graph_.values().size(); ++v) {
    const std::vector<TensorId>& tensors = graph_.values()[v];
    const KernelId from = graph_.tensor(tensors.front()).from;
    const Kernel& producer = graph_.kernel(from);
    const std::int64_t rows = graph_.rows(tensors.front());
    // Either the value has equally many rows of every head, or its rows belong to no head.
    const bool by_heads = producer.outer > 1 && rows % producer.outer == 0;
    Value value{.producer = from,
                .heads = by_heads ? producer.outer : 1,
                .rows = by_heads ? rows / producer.outer : rows,
                .columns = producer.n};
    for (const TensorId t : tensors) {
      value_of_[t.index()] = v;
      const Kernel& consumer = graph_.kernel(graph_.tensor(t).to);
      value.is_kept =
          value.is_kept || (producer.phase == Phase::Forward && consumer.phase == Phase::Backward);
    }
    // The choice of experts follows from the logits, which are kept.
    if (producer.name == "TOPK") value.is_kept = false;
    value.is_input = producer.phase == Phase::Forward && passes_[from.index()] == Pass::None;
    // The output of the product that applies the scores is no score.
    const bool feeds_scoring = std::any_of(tensors.begin(), tensors.end(), [&](TensorId t) {
      return scoring_[graph_.tensor(t).to.index()];
    });
    value.is_score = scoring_[from.index()] && feeds_scoring;
    computed_[from.index()].push_back(v);
    values_.push_back(value);
  }
  // Only backward kernels read the mask of dropped scores; it counts as a score.
  for (Value& value : values_) {
    if (!scoring_[value.producer.index()] || value.is_score) continue;
    const auto& siblings = computed_[value.producer.index()];
    value.is_score = std::any_of(siblings.begin(), siblings.end(),
                                 [&](std::size_t v) { return values_[v].is_score; });
  }
  for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
    const Kernel& kernel = graph_.kernels()[k];
    const Kernel& forward = kernel.weight_of ? graph_.kernel(*kernel.weight_of) : kernel;
    // `outer` may be 1 although there are many experts, if only one of them is used.
    if (!forward.has_weight() || std::max(forward.outer, forward.matrices) == 1) continue;
    const KernelId id = kernel.weight_of.value_or(KernelId(k));
    grouped_[k] = graph_.rows(graph_.inputs(id).front()) == forward.outer * forward.k;
  }
}

std::size_t LayerOrder::kinds() const { return mixed ? mixed->forms.size() : 2; }

std::int64_t LayerOrder::of_kind(std::size_t kind) const {
  return mixed ? mixed->before.back()[kind] : kind == 0 ? layers : other_layers;
}

StageContent LayerOrder::mixed_content(std::int64_t begin, std::int64_t end) const {
  const FormCounts counts = mixed->counts(begin, end);
  StageContent content;
  for (std::size_t kind = 0; kind < kMostForms; ++kind) content.of_kind(kind) = counts[kind];
  return content;
}

LayerOrder layer_order(const Transformer& model) {
  if (model.mixed) return {.layers = model.layers, .mixed = model.mixed.get()};
  const std::int64_t other =
      model.alternates() ? model.full_layers(0, model.layers) : model.layers - model.dense_layers();
  return {.layers = model.layers - other,
          .other_layers = other,
          .every = model.alternates() ? model.full_attention_every : 0};
}

Blocks blocks_of(const Task& task) {
  const Transformer& model = task.model;
  Blocks blocks{.parts = {}, .order = layer_order(model)};
  if (model.mixed) return blocks;
  const auto place = [&](Part part) -> std::optional<Block>& {
    return blocks.parts[static_cast<std::size_t>(part)];
  };
  TransformerPass pass = task.pass;
  pass.dense = false;
  if (blocks.order.other_layers > 0) {
    place(Part::OtherLayer)
        .emplace(Part::OtherLayer,
                 transformer_training_graph(model.alternates() ? model.seeing(0) : model, pass));
  }
  pass.dense = !model.alternates();
  if (blocks.order.layers > 0) {
    place(Part::Layer).emplace(Part::Layer, transformer_training_graph(model, pass));
  }
  if (model.vocabulary > 0) {
    place(Part::First).emplace(Part::First, transformer_first_graph(model, pass, true));
    place(Part::Last).emplace(Part::Last, transformer_last_graph(model, pass, true));
  }
  return blocks;
}

}  // namespace dfsearch::training
