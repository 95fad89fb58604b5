// Kernels with a weight process the tokens of all samples of a micro-batch together.  Attention
// works sample by sample, which changes neither its FLOP nor its bytes.

#include "model/training/kernel_shares.hpp"

#include "base/counts.hpp"
#include "model/layer/shard.hpp"

namespace dfsearch::training {
namespace {

bool is_product(const Kernel& kernel) {
  return kernel.kind == KernelKind::WeightGemm || kernel.kind == KernelKind::Gemm ||
         kernel.kind == KernelKind::Attention;
}

ValueLayout layout_in(const std::vector<ValueLayout> AxisLayout::*list, const AxisLayout* layout,
                      std::size_t v) {
  return layout == nullptr ? ValueLayout::Replicated : (layout->*list)[v];
}

ValueLayout wanted(const AxisLayout* layout, KernelId kernel, std::size_t input) {
  return layout == nullptr ? ValueLayout::Replicated : layout->rules[kernel.index()].inputs[input];
}

}  // namespace

void Extents::divide(Loop loop, std::int64_t chips) {
  std::int64_t* extent = nullptr;
  if (loop == Loop::Outer) extent = &outer;
  if (loop == Loop::M) extent = &m;
  if (loop == Loop::K) extent = &k;
  if (loop == Loop::N) extent = &n;
  if (extent != nullptr) *extent = ceil_div(*extent, chips);
}

KernelShares::KernelShares(const Task& task, const Block& block, const BlockLayouts& layouts,
                           const Degrees& degrees, std::int64_t micro_batch)
    : task_(task),
      block_(block),
      graph_(block.graph()),
      layouts_(layouts),
      tensor_(degrees[Role::Tensor]),
      context_(degrees[Role::Context]),
      expert_(degrees[Role::Expert]),
      samples_(number(micro_batch)),
      shares_{.tensor = tensor_, .context = context_, .expert = expert_, .samples = samples_},
      word_(task.pass.word) {}

bool KernelShares::is_of_experts(KernelId kernel) const {
  return layouts_.expert != nullptr &&
         layouts_.expert->rules[kernel.index()].divided == Loop::Outer;
}

Extents KernelShares::extents(KernelId id) const {
  Extents extents(graph_.kernel(id));
  const auto divide = [&](const AxisLayout* layout, std::int64_t chips) {
    if (layout != nullptr) extents.divide(layout->rules[id.index()].divided, chips);
  };
  divide(layouts_.tensor, tensor_);
  divide(layouts_.context, context_);
  // If there are fewer heads of keys than chips, each chip has the whole gradient of a head.
  const Kernel& kernel = graph_.kernel(id);
  const bool of_rows = layouts_.tensor != nullptr && kernel.has_weight() && kernel.weight_of &&
                       layouts_.tensor->rules[id.index()].divided == Loop::K;
  if (of_rows && !block_.is_grouped(id)) {
    const Kernel& forward = graph_.kernel(*kernel.weight_of);
    if (forward.outer > 1) extents.k = ceil_div(forward.outer, tensor_) * forward.m;
  }
  // Samples are already divided.  A chip has a part of the experts, with the rows from all chips.
  if (is_of_experts(id)) extents.divide(Loop::Outer, expert_);
  return extents;
}

Bytes KernelShares::read(KernelId id, std::size_t input) const {
  const std::size_t v = block_.value_of(graph_.inputs(id)[input]);
  return word_ * shares_.elements(block_.values()[v], wanted(layouts_.tensor, id, input),
                                  wanted(layouts_.context, id, input));
}

Bytes KernelShares::produced(std::size_t v) const {
  return word_ * shares_.elements(block_.values()[v],
                                  layout_in(&AxisLayout::produced, layouts_.tensor, v),
                                  layout_in(&AxisLayout::produced, layouts_.context, v));
}

Bytes KernelShares::kept(std::size_t v) const {
  return word_ * shares_.elements(block_.values()[v],
                                  layout_in(&AxisLayout::kept, layouts_.tensor, v),
                                  layout_in(&AxisLayout::kept, layouts_.context, v));
}

Bytes KernelShares::results(KernelId id, const Extents& extents) const {
  if (!block_.computed(id).empty()) return Bytes{};
  const bool of_samples = block_.pass(id) != Block::Pass::WeightGradient;
  return word_ * (number(extents.outer) * number(extents.m) * number(extents.n) *
                  (of_samples ? samples_ : 1.0));
}

Bytes KernelShares::weight(KernelId id, const Extents& extents) const {
  if (!graph_.kernel(id).has_weight()) return Bytes{};
  return word_ * (number(extents.outer) * number(extents.m) * number(extents.k));
}

Flops KernelShares::work(const Kernel& kernel, const Extents& e, double rows_of_experts) const {
  if (kernel.kind == KernelKind::Attention) {
    const double products = kernel.phase == Phase::Forward ? number(e.k) + number(e.m)
                                                           : 3.0 * number(e.k) + 2.0 * number(e.m);
    return Flops(2.0 * number(e.outer) * scored_pairs(kernel) * (number(e.n) / number(kernel.n)) *
                 products * samples_);
  }
  const double elements = number(e.outer) * number(e.m) * number(e.n) * samples_ * rows_of_experts;
  if (is_product(kernel)) return Flops(2.0 * elements * number(e.k));
  return Flops(elements * number(passes(kernel)));
}

Flops KernelShares::flops(KernelId id, const Extents& extents) const {
  if (graph_.inputs(id).empty()) return {};  // a look-up computes nothing
  return work(graph_.kernel(id), extents, is_of_experts(id) ? number(expert_) : 1.0);
}

// docs/training.md (8)
Seconds KernelShares::compute(KernelId id, const Extents& extents) const {
  const Kernel& kernel = graph_.kernel(id);
  const Engine& engine = is_product(kernel) ? task_.machine.matrix : task_.machine.vector;
  const double count = block_.is_grouped(id) ? number(extents.outer) : 1.0;
  return engine.time(flops(id, extents) / count) * count;
}

// docs/training.md (1)
double KernelShares::parameters(KernelId id) const {
  const Kernel& kernel = graph_.kernel(id);
  if (kernel.weight_of) return 0.0;
  const Loop divided =
      layouts_.tensor == nullptr ? Loop::None : layouts_.tensor->rules[id.index()].divided;
  double elements = 0.0;
  if (kernel.has_weight()) {
    Extents extents(kernel);
    if (kernel.matrices > 0) extents.outer = kernel.matrices;
    extents.divide(divided, tensor_);
    if (is_of_experts(id)) extents.divide(Loop::Outer, expert_);
    elements = number(extents.outer) * number(extents.m) * number(extents.k);
  }
  // Biases are divided with the rows of their matrix, and the table of a look-up by its entries;
  // the weight of a norm is whole.
  const bool goes_along = kernel.has_weight() ? divided == Loop::Outer || divided == Loop::M
                                              : graph_.inputs(id).empty();
  const std::int64_t own =
      is_of_experts(id) ? ceil_div(kernel.parameters, expert_) : kernel.parameters;
  const std::int64_t beside =
      goes_along && layouts_.tensor != nullptr ? ceil_div(own, tensor_) : own;
  return elements + number(beside);
}

}  // namespace dfsearch::training
