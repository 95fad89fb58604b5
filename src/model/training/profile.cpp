// Kernel by kernel: extents on one chip by the rule of each axis, then FLOP and bytes, then the
// time of each at the rate that so much work reaches.
//
// Tokens of all samples of a micro-batch are worked on together by kernels with a weight;
// attention works sample by sample, which changes neither its FLOP nor its bytes.

#include "model/training/profile.hpp"

#include <algorithm>

#include "base/number.hpp"
#include "model/layer/shard.hpp"
#include "model/training/block_exchanges.hpp"

namespace dfsearch::training {
namespace {

/// The extents of a kernel on one chip.
struct Extents {
  std::int64_t outer, m, k, n;

  explicit Extents(const Kernel& kernel)
      : outer(kernel.outer), m(kernel.m), k(kernel.k), n(kernel.n) {}

  void divide(Loop loop, std::int64_t chips) {
    std::int64_t* extent = nullptr;
    if (loop == Loop::Outer) extent = &outer;
    if (loop == Loop::M) extent = &m;
    if (loop == Loop::K) extent = &k;
    if (loop == Loop::N) extent = &n;
    if (extent != nullptr) *extent = ceil_div(*extent, chips);
  }
};

class Profiler {
 public:
  Profiler(const Task& task, const Block& block, const BlockLayouts& layouts,
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

  BlockProfile run() {
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) add_kernel(KernelId(k));
    for (std::size_t v = 0; v < block_.values().size(); ++v) add_value(v);
    profile_.exchanges = exchanges_of(block_, layouts_, shares_, word_);
    return std::move(profile_);
  }

 private:
  [[nodiscard]] bool is_of_experts(KernelId kernel) const {
    return layouts_.expert != nullptr &&
           layouts_.expert->rules[kernel.index()].divided == Loop::Outer;
  }

  [[nodiscard]] Extents extents_of(KernelId id) const {
    Extents extents(graph_.kernel(id));
    const auto divide = [&](const AxisLayout* layout, std::int64_t chips) {
      if (layout != nullptr) extents.divide(layout->rules[id.index()].divided, chips);
    };
    divide(layouts_.tensor, tensor_);
    divide(layouts_.context, context_);
    // What goes back through heads of keys that are fewer than the chips has a whole one.
    const Kernel& kernel = graph_.kernel(id);
    const bool of_rows = layouts_.tensor != nullptr && kernel.has_weight() && kernel.weight_of &&
                         layouts_.tensor->rules[id.index()].divided == Loop::K;
    if (of_rows && !block_.is_grouped(id)) {
      const Kernel& forward = graph_.kernel(*kernel.weight_of);
      if (forward.outer > 1) extents.k = ceil_div(forward.outer, tensor_) * forward.m;
    }
    // Samples are divided already; of experts a chip has fewer, with the rows of all chips.
    if (is_of_experts(id)) extents.divide(Loop::Outer, expert_);
    return extents;
  }

  /// Elements of a value on one chip, of all samples of a micro-batch, in these layouts.
  [[nodiscard]] double elements(std::size_t v, ValueLayout tensor, ValueLayout context) const {
    return shares_.elements(block_.values()[v], tensor, context);
  }

  [[nodiscard]] static ValueLayout produced(const AxisLayout* layout, std::size_t v) {
    return layout == nullptr ? ValueLayout::Replicated : layout->produced[v];
  }
  [[nodiscard]] static ValueLayout kept(const AxisLayout* layout, std::size_t v) {
    return layout == nullptr ? ValueLayout::Replicated : layout->kept[v];
  }
  [[nodiscard]] static ValueLayout wanted(const AxisLayout* layout, KernelId kernel,
                                          std::size_t input) {
    return layout == nullptr ? ValueLayout::Replicated
                             : layout->rules[kernel.index()].inputs[input];
  }

  /// Bytes that a kernel reads but for its weight, and writes.
  [[nodiscard]] Bytes streamed(KernelId id, const Extents& extents) const {
    double sum = 0.0;
    const auto inputs = graph_.inputs(id);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      sum += elements(block_.value_of(inputs[i]), wanted(layouts_.tensor, id, i),
                      wanted(layouts_.context, id, i));
    }
    for (const std::size_t v : block_.computed(id)) {
      sum += elements(v, produced(layouts_.tensor, v), produced(layouts_.context, v));
    }
    if (block_.computed(id).empty()) {
      // Nobody in the block reads it: the block's result, or the gradient of a weight.
      const bool of_samples = block_.pass(id) != Block::Pass::WeightGradient;
      sum += number(extents.outer) * number(extents.m) * number(extents.n) *
             (of_samples ? samples_ : 1.0);
    }
    return word_ * sum;
  }

  [[nodiscard]] Flops work(const Kernel& kernel, const Extents& e, double rows_of_experts) const {
    if (kernel.kind == KernelKind::Attention) {
      const double products = kernel.phase == Phase::Forward
                                  ? number(e.k) + number(e.m)
                                  : 3.0 * number(e.k) + 2.0 * number(e.m);
      return Flops(2.0 * number(e.outer) * scored_pairs(kernel) * (number(e.n) / number(kernel.n)) *
                   products * samples_);
    }
    const double elements =
        number(e.outer) * number(e.m) * number(e.n) * samples_ * rows_of_experts;
    if (is_product(kernel)) return Flops(2.0 * elements * number(e.k));
    return Flops(elements * number(passes(kernel)));
  }

  [[nodiscard]] static bool is_product(const Kernel& kernel) {
    return kernel.kind == KernelKind::WeightGemm || kernel.kind == KernelKind::Gemm ||
           kernel.kind == KernelKind::Attention;
  }

  // docs/training.md (8)
  [[nodiscard]] WorkTime time_of(KernelId id, const Extents& extents, Bytes streamed) const {
    const Kernel& kernel = graph_.kernel(id);
    const double groups = is_of_experts(id) ? number(expert_) : 1.0;
    Flops flops = work(kernel, extents, groups);
    // A look-up computes nothing.
    if (graph_.inputs(id).empty()) flops = {};
    const Engine& engine = is_product(kernel) ? task_.machine.matrix : task_.machine.vector;
    const double count = block_.is_grouped(id) ? number(extents.outer) : 1.0;
    const Seconds compute = engine.time(flops / count) * count;
    Bytes bytes = streamed;
    if (kernel.has_weight()) {
      bytes += word_ * (number(extents.outer) * number(extents.m) * number(extents.k));
    }
    const Seconds memory = task_.machine.memory[0].time(bytes);
    const Seconds both =
        task_.overlap == Overlap::None ? compute + memory : std::max(compute, memory);
    return {.time = both, .memory = both - compute};
  }

  void add_kernel(KernelId id) {
    add_parameters(id);
    const Block::Pass pass = block_.pass(id);
    if (pass == Block::Pass::None) return;
    const Extents extents = extents_of(id);
    const Bytes moved = streamed(id, extents);
    const WorkTime time = time_of(id, extents, moved);
    const bool is_attention = graph_.kernel(id).kind == KernelKind::Attention;
    if (pass == Block::Pass::Forward) {
      profile_.forward += time;
      if (block_.is_scoring(id)) profile_.scoring += time;
      if (is_attention || block_.is_scoring(id)) profile_.attention_forward += time.time;
      return;
    }
    if (is_attention) profile_.attention_backward += time.time;
    (pass == Block::Pass::WeightGradient ? profile_.weight_gradient : profile_.input_gradient) +=
        time;
    profile_.working = std::max(profile_.working, moved);
  }

  // docs/training.md (1)
  void add_parameters(KernelId id) {
    const Kernel& kernel = graph_.kernel(id);
    if (kernel.weight_of) return;
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
    // Biases go with the rows of their matrix, the table of a look-up with its entries; the
    // weight of a norm is whole.
    const bool goes_along = kernel.has_weight() ? divided == Loop::Outer || divided == Loop::M
                                                : graph_.inputs(id).empty();
    const std::int64_t beside = goes_along && layouts_.tensor != nullptr
                                    ? ceil_div(kernel.parameters, tensor_)
                                    : kernel.parameters;
    elements += number(beside);
    (block_.is_grouped(id) ? profile_.expert_parameters : profile_.parameters) += elements;
  }

  // docs/training.md (3)
  void add_value(std::size_t v) {
    const Block::Value& value = block_.values()[v];
    const Bytes bytes = word_ * elements(v, kept(layouts_.tensor, v), kept(layouts_.context, v));
    if (value.is_kept) (value.is_score ? profile_.kept_scores : profile_.kept) += bytes;
    if (value.is_input) {
      profile_.input +=
          word_ * elements(v, produced(layouts_.tensor, v), produced(layouts_.context, v));
    }
  }

  const Task& task_;
  const Block& block_;
  const DataflowGraph& graph_;
  const BlockLayouts& layouts_;
  const std::int64_t tensor_, context_, expert_;
  const double samples_;
  const ValueShares shares_;
  const Bytes word_;
  BlockProfile profile_;
};

}  // namespace

BlockProfile profile(const Task& task, const Block& block, const BlockLayouts& layouts,
                     const Degrees& degrees, std::int64_t micro_batch) {
  return Profiler(task, block, layouts, degrees, micro_batch).run();
}

}  // namespace dfsearch::training
