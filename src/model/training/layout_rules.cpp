// The legal ways to divide each kernel of a layer (docs/training.md, section 2).
//
// A rule is legal if every chip finds, in the layouts in which the inputs arrive, all elements that
// its part of the loops reads, and if the results of all chips form the output in the layout of the
// rule.  Tests check this with data: they compute divided layers chip by chip and compare them with
// whole layers (tests/model/training/divided_layer_test.cpp).

#include "model/training/layer_roles.hpp"
#include "model/training/layouts.hpp"

namespace dfsearch::training {
namespace {

constexpr ValueLayout R = ValueLayout::Replicated;
constexpr ValueLayout F = ValueLayout::Features;
constexpr ValueLayout T = ValueLayout::Tokens;
constexpr ValueLayout X = ValueLayout::Experts;
constexpr ValueLayout P = ValueLayout::Partial;

/// The split of a weight, which all kernels that use it share.
enum class WeightSplit : std::uint8_t {
  Columns,  ///< split by rows of the output
  Rows,     ///< split by rows of the input
  Tokens,   ///< not split: chips have different tokens
  Whole,    ///< not split: chips compute the same
  Summed,   ///< not split: chips compute the same forward, and summands of the gradients backward
  Experts,
};

class KernelRules {
 public:
  KernelRules(const DataflowGraph& graph, KernelId id, const AxisRules& axis)
      : graph_(graph), kernel_(graph.kernel(id)), id_(id), axis_(axis), role_(role_of(graph, id)) {}

  [[nodiscard]] std::vector<LayoutRule> list() const {
    switch (role_.role) {
      case KernelRole::Source:
        return source();
      case KernelRole::Embedding:
        // Every chip of the tensor axis has the table for some words, and contributes zeros for
        // others.
        if (axis_.axis == Axis::Tensor) return {alike(R, Loop::None, P)};
        return {tokens()};
      case KernelRole::EmbeddingGradient:
        return {axis_.axis == Axis::Tensor ? whole() : tokens()};
      case KernelRole::Elementwise:
        return elementwise({R, F, T});
      case KernelRole::Sum:
        return elementwise({R, F, T, P});
      case KernelRole::Loss:
        return loss();
      case KernelRole::Spread:
        return axis_.axis == Axis::Expert ? List{tokens()} : List{whole(), tokens()};
      case KernelRole::Collect:
        return collect();
      case KernelRole::Attention:
        return attention();
      case KernelRole::Product:
      case KernelRole::ProductOfQueries:
        return product();
      case KernelRole::WeightProduct:
      case KernelRole::DataGradient:
      case KernelRole::WeightGradient:
        break;
    }
    List rules;
    for (const WeightSplit split : splits()) rules.push_back(of_weight(split));
    return rules;
  }

 private:
  using List = std::vector<LayoutRule>;

  [[nodiscard]] LayoutRule alike(ValueLayout inputs, Loop divided, ValueLayout output) const {
    return {.divided = divided,
            .inputs = std::vector<ValueLayout>(graph_.inputs(id_).size(), inputs),
            .output = output};
  }
  [[nodiscard]] LayoutRule whole() const { return alike(R, Loop::None, R); }
  [[nodiscard]] LayoutRule tokens() const { return alike(T, Loop::N, T); }

  [[nodiscard]] bool heads_divide() const {
    const std::int64_t n = axis_.chips;
    if (axis_.axis == Axis::Expert || axis_.heads % n != 0) return false;
    return axis_.kv_heads % n == 0 || (axis_.axis == Axis::Tensor && n % axis_.kv_heads == 0);
  }
  [[nodiscard]] bool has_heads() const {
    return role_.unit == RowUnit::QueryHead || role_.unit == RowUnit::KeyHead;
  }
  [[nodiscard]] bool rows_divide() const {
    if (has_heads()) return heads_divide();
    return role_.unit == RowUnit::Row || role_.unit == RowUnit::Expert;
  }
  /// The loop that a division of rows divides.
  [[nodiscard]] Loop row_loop() const {
    if (role_.unit == RowUnit::Expert) return Loop::M;
    return has_heads() || kernel_.outer > 1 ? Loop::Outer : Loop::M;
  }

  [[nodiscard]] List source() const {
    const bool is_gradient = kernel_.phase == Phase::Backward;
    const std::optional<ValueLayout>& given = is_gradient ? axis_.gradient : axis_.input;
    List rules =
        axis_.axis == Axis::Expert ? List{tokens()} : List{whole(), tokens(), alike(R, Loop::M, F)};
    if (given) std::erase_if(rules, [&](const LayoutRule& rule) { return rule.output != *given; });
    return rules;
  }

  [[nodiscard]] List elementwise(const std::vector<ValueLayout>& layouts) const {
    if (axis_.axis == Axis::Expert) {
      return {role_.unit == RowUnit::Expert ? alike(X, Loop::Outer, X) : tokens()};
    }
    List rules;
    for (const ValueLayout layout : layouts) {
      if (layout == F && !rows_divide()) continue;
      const Loop loop = layout == F ? row_loop() : layout == T ? Loop::N : Loop::None;
      rules.push_back(alike(layout, loop, layout));
    }
    return rules;
  }

  /// If rows of the logits are divided, a few numbers for each token join the parts, and all chips
  /// get them.
  [[nodiscard]] List loss() const {
    if (axis_.axis == Axis::Expert) return {tokens()};
    return {whole(), alike(F, Loop::M, R), tokens()};
  }

  /// A weighted sum is linear in its rows, so rows may be partial, but not the weights, the last
  /// input.
  [[nodiscard]] List collect() const {
    if (axis_.axis == Axis::Expert) return {tokens()};
    List rules{whole(), tokens()};
    rules.push_back(alike(P, Loop::None, P));
    rules.back().inputs.back() = R;
    return rules;
  }

  [[nodiscard]] List attention() const {
    if (axis_.axis == Axis::Expert) return {with_parts(tokens(), T)};
    List rules;
    if (heads_divide()) {
      LayoutRule rule = with_parts(alike(F, Loop::Outer, F), F);
      for_each_input([&](std::size_t i, TensorId input) {
        if (!is_shared_key(graph_, input)) return;
        rule.inputs[i] = R;
        if (i < rule.parts.size()) rule.parts[i] = P;  // each head contributes a summand
      });
      rules.push_back(rule);
    }
    LayoutRule queries = with_parts(tokens(), T);
    for_each_input([&](std::size_t i, TensorId input) {
      const int operand = graph_.tensor(input).operand;
      if (operand != 2 && operand != 3) return;
      queries.inputs[i] = R;
      if (i < queries.parts.size()) queries.parts[i] = P;  // each query contributes a summand
    });
    rules.push_back(queries);
    rules.push_back(with_parts(whole(), R));
    return rules;
  }
  template <class Function>
  void for_each_input(const Function& function) const {
    const std::span<const TensorId> inputs = graph_.inputs(id_);
    for (std::size_t i = 0; i < inputs.size(); ++i) function(i, inputs[i]);
  }
  /// Backward, adds the layout of the gradient of each tensor of queries, keys and values.
  [[nodiscard]] LayoutRule with_parts(LayoutRule rule, ValueLayout layout) const {
    if (kernel_.phase == Phase::Forward) return rule;
    for_each_input([&](std::size_t, TensorId input) {
      if (graph_.tensor(input).operand <= 3) rule.parts.push_back(layout);
    });
    return rule;
  }

  [[nodiscard]] List product() const {
    const bool sums_queries = role_.role == KernelRole::ProductOfQueries;
    if (axis_.axis == Axis::Expert) return {alike(T, sums_queries ? Loop::K : Loop::N, T)};
    List rules;
    if (heads_divide()) rules.push_back(alike(F, Loop::Outer, F));
    if (sums_queries) {
      rules.push_back(alike(T, Loop::K, P));
    } else {
      rules.push_back(tokens());
      rules.back().inputs.back() = R;
    }
    rules.push_back(whole());
    return rules;
  }

  [[nodiscard]] std::vector<WeightSplit> splits() const {
    if (axis_.axis == Axis::Context) {
      // Each chip may make keys and values of all tokens from latents, which are smaller to send.
      if (is_of_latents(graph_, id_)) return {WeightSplit::Tokens, WeightSplit::Summed};
      return {WeightSplit::Tokens};
    }
    if (axis_.axis == Axis::Expert) {
      return {role_.unit == RowUnit::Expert ? WeightSplit::Experts : WeightSplit::Tokens};
    }
    if (role_.unit == RowUnit::RoutedTable) return {WeightSplit::Whole, WeightSplit::Tokens};
    std::vector<WeightSplit> splits;
    if (rows_divide()) splits.push_back(WeightSplit::Columns);
    splits.push_back(WeightSplit::Rows);
    if (axis_.replicated_weights) splits.push_back(WeightSplit::Tokens);
    return splits;
  }

  [[nodiscard]] LayoutRule of_weight(WeightSplit split) const {
    if (split == WeightSplit::Experts) return alike(X, Loop::Outer, X);
    if (split == WeightSplit::Whole) return whole();
    switch (role_.role) {
      case KernelRole::DataGradient:
        if (split == WeightSplit::Summed) return alike(P, Loop::None, P);
        if (split == WeightSplit::Columns) return alike(F, Loop::K, P);
        return split == WeightSplit::Rows ? alike(R, Loop::M, F) : tokens();
      case KernelRole::WeightGradient: {
        if (split == WeightSplit::Tokens) return alike(T, Loop::K, P);
        if (split == WeightSplit::Summed) {
          LayoutRule rule = alike(P, Loop::None, P);
          rule.inputs.back() = R;
          return rule;
        }
        // The first input is the gradient, the last one the streamed input.
        const bool columns = split == WeightSplit::Columns;
        LayoutRule rule = alike(columns ? F : R, columns ? row_loop() : Loop::N, F);
        rule.inputs.back() = columns ? R : F;
        return rule;
      }
      default:
        if (split == WeightSplit::Summed) return whole();
        if (split == WeightSplit::Columns) return alike(R, row_loop(), F);
        return split == WeightSplit::Rows ? alike(F, Loop::K, P) : tokens();
    }
  }

  const DataflowGraph& graph_;
  const Kernel& kernel_;
  KernelId id_;
  const AxisRules& axis_;
  LayerRole role_;
};

}  // namespace

ValueLayout produced_layout(const LayoutRule& rule, const Tensor& tensor) {
  if (rule.parts.empty() || tensor.value < 1) return rule.output;
  return rule.parts[static_cast<std::size_t>(tensor.value - 1)];
}

std::vector<LayoutRule> legal_rules(const DataflowGraph& graph, KernelId kernel,
                                    const AxisRules& axis) {
  return KernelRules(graph, kernel, axis).list();
}

}  // namespace dfsearch::training
