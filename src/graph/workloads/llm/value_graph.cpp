#include "graph/workloads/llm/value_graph.hpp"

#include <string>
#include <utility>

namespace dfsearch {

ValueGraph::ValueId ValueGraph::add(Node node) {
  values_.push_back({.kernel = nodes_.size(),
                     .number = 0,
                     .rows = node.kernel.outer * node.kernel.m,
                     .is_part = false});
  nodes_.push_back(std::move(node));
  return values_.size() - 1;
}

ValueGraph::ValueId ValueGraph::part(ValueId of, std::int64_t rows) {
  std::int32_t number = 1;
  for (const Value& value : values_) {
    if (value.kernel == values_[of].kernel && value.is_part) ++number;
  }
  values_.push_back(
      {.kernel = values_[of].kernel, .number = number, .rows = rows, .is_part = true});
  return values_.size() - 1;
}

void ValueGraph::save(ValueId of, ValueId value) {
  nodes_[values_[of].kernel].saved.push_back(value);
}

DataflowGraph ValueGraph::build() const {
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;
  for (const Node& node : nodes_) {
    const KernelId id(kernels.size());
    kernels.push_back(node.kernel);
    for (const Input& input : node.inputs) {
      const Value& value = values_[input.value];
      tensors.push_back({.from = KernelId(value.kernel),
                         .to = id,
                         .operand = input.operand,
                         .value = value.number,
                         .rows = value.is_part ? value.rows : 0});
    }
  }
  std::vector<Tensor> seams;
  for (const Seam& seam : seams_) {
    seams.push_back(
        {.from = KernelId(values_[seam.from].kernel), .to = KernelId(values_[seam.to].kernel)});
  }
  return {std::move(kernels), std::move(tensors), std::move(seams)};
}

// The backward pass, derived kernel by kernel.
//
// Kernels are visited in the reverse order of the list, so that every consumer of a value has
// handed back its gradient before the producer asks for it.  Gradients that meet at one value are
// added by a kernel; gradients of different parts of the output of a kernel are operands side by
// side.  Rules (docs/transformers.md, section 3):
//
//   weight GEMM  Y = W X      dX = W^T dY with the same weight; dW = dY X^T, which is tiled on its
//                             sum over the tokens and all-reduced over the data dimensions
//   GEMM         Y = A B      dB = A^T dY; dA = dY B^T
//   attention                 one kernel, which computes the scores again
//   elementwise               one kernel, which reads what the forward kernel had saved
//   sum                       no kernel

class BackwardRules {
 public:
  using ValueId = ValueGraph::ValueId;
  using Node = ValueGraph::Node;
  using Input = ValueGraph::Input;

  explicit BackwardRules(ValueGraph& graph) : graph_(graph), parts_(graph.values_.size()) {}

  void run(ValueId result, bool is_loss) {
    const std::size_t forward = graph_.kernel_count();
    if (!is_loss) {
      const Kernel& end = graph_.nodes_[graph_.values_[result].kernel].kernel;
      parts_[result].push_back(graph_.add({.kernel = {.name = "GRADIENT",
                                                      .phase = Phase::Backward,
                                                      .tiled = end.tiled,
                                                      .m = end.outer * end.m,
                                                      .n = end.n,
                                                      .element_flops = 1},
                                           .inputs = {}}));
    }
    const std::vector<ValueGraph::Seam> seams = graph_.seams_;
    for (std::size_t k = forward; k-- > 0;) {
      const std::vector<Input> gradients = gradients_of(k);
      for (const ValueGraph::Seam& seam : seams) {
        const bool begins = graph_.values_[seam.to].kernel == k;
        if (begins) graph_.hand_over(gradients.front().value, parts_[seam.from].front());
      }
      const bool is_root = is_loss && graph_.values_[result].kernel == k;
      if (!gradients.empty() || is_root) pass_back(k, gradients);
    }
  }

 private:
  /// The gradient of each value of kernel k for which some consumer has handed back a gradient.
  std::vector<Input> gradients_of(std::size_t k) {
    std::vector<Input> gradients;
    for (ValueId v = 0; v < parts_.size(); ++v) {
      if (graph_.values_[v].kernel != k || parts_[v].empty()) continue;
      gradients.push_back({.value = parts_[v].size() == 1 ? parts_[v].front() : sum(v)});
    }
    return gradients;
  }

  /// Adds the gradients that the consumers of a value have handed back.
  ValueId sum(ValueId v) {
    const ValueGraph::Value value = graph_.values_[v];
    const Kernel& producer = graph_.nodes_[value.kernel].kernel;
    Node node{.kernel = {.name = producer.name + "_sum",
                         .kind = KernelKind::Elementwise2,
                         .phase = Phase::Backward,
                         .tiled = producer.tiled,
                         .m = value.rows,
                         .n = producer.n,
                         .element_flops = static_cast<std::int64_t>(parts_[v].size())},
              .inputs = {}};
    if (value.is_part) node.kernel.name += "_" + std::to_string(value.number);
    for (const ValueId part : parts_[v]) {
      node.inputs.push_back({.value = part, .operand = node.inputs.empty() ? 1 : 2});
    }
    return graph_.add(std::move(node));
  }

  void pass_back(std::size_t k, const std::vector<Input>& gradients) {
    const Node node = graph_.nodes_[k];
    switch (node.gradient) {
      case ValueGraph::Gradient::None:
        return;
      case ValueGraph::Gradient::Pass:
        for (const Input& input : node.inputs) hand_back(input, gradients.front().value);
        return;
      case ValueGraph::Gradient::Element:
        return element(node, gradients);
      case ValueGraph::Gradient::Product:
        break;
    }
    if (node.kernel.kind == KernelKind::WeightGemm) return weight_gemm(k, node, gradients);
    if (node.kernel.kind == KernelKind::Gemm) return gemm(node, gradients);
    attention(node, gradients);
  }

  void hand_back(const Input& input, ValueId gradient) {
    if (input.has_gradient) parts_[input.value].push_back(gradient);
  }

  /// The gradient of an input from the output of a backward kernel: all of its rows, or some of
  /// them.
  ValueId gradient_from(ValueId whole, ValueId input) {
    if (graph_.rows(whole) == graph_.rows(input)) return whole;
    return graph_.part(whole, graph_.rows(input));
  }

  static Kernel backward_of(const Kernel& forward, const std::string& suffix) {
    Kernel kernel = forward;
    kernel.name += suffix;
    kernel.phase = Phase::Backward;
    kernel.parameters = 0;
    kernel.coupled = 0;
    return kernel;
  }

  void element(const Node& node, const std::vector<Input>& gradients) {
    Node back{.kernel = backward_of(node.reversed.value_or(node.kernel), ""), .inputs = gradients};
    back.kernel.name = node.kernel.name + "_bwd";
    back.kernel.element_flops = node.backward_flops;
    back.kernel.coupled = node.backward_coupled;
    for (const ValueId v : node.saved) {
      back.inputs.push_back({.value = v, .operand = back.inputs.empty() ? 1 : 2});
    }
    back.kernel.kind = back.inputs.size() > 1 ? KernelKind::Elementwise2 : KernelKind::Elementwise;
    const ValueId whole = graph_.add(std::move(back));
    std::size_t wanted = 0;
    for (const Input& input : node.inputs) wanted += input.has_gradient ? 1U : 0U;
    for (const Input& input : node.inputs) {
      if (!input.has_gradient) continue;
      hand_back(input, wanted == 1 ? gradient_from(whole, input.value)
                                   : graph_.part(whole, graph_.rows(input.value)));
    }
  }

  void weight_gemm(std::size_t k, const Node& node, const std::vector<Input>& gradients) {
    const Kernel& forward = node.kernel;
    const Input& x = node.inputs.front();
    Kernel data = backward_of(forward, "_bwd");
    data.weight_of = KernelId(k);
    data.m = forward.k;
    data.k = forward.m;
    if (!node.own_inputs) {
      data.outer = 1;
      data.k = forward.outer * forward.m;
    }
    const ValueId whole = graph_.add(
        {.kernel = data, .inputs = gradients, .gradient = ValueGraph::Gradient::Product});
    hand_back(x, gradient_from(whole, x.value));

    Kernel weight = backward_of(forward, "_wgrad");
    weight.kind = KernelKind::Gemm;
    weight.k = forward.n;
    weight.n = forward.k;
    if (forward.tiled != Loop::None) weight.tiled = Loop::K;
    weight.matrices = 0;
    weight.weight_of = KernelId(k);
    weight.communication = Communication{.type = CommunicationType::GradientAllReduce, .bytes = {}};
    Node node_of_weight{
        .kernel = weight, .inputs = gradients, .gradient = ValueGraph::Gradient::Product};
    node_of_weight.inputs.push_back({.value = x.value, .operand = 2});
    graph_.add(std::move(node_of_weight));
  }

  void gemm(const Node& node, const std::vector<Input>& gradients) {
    const Kernel& forward = node.kernel;
    const Input& streamed = node.inputs[0];  // operand 1, K x N
    const Input& other = node.inputs[1];     // operand 2, M x K
    struct Extents {
      std::int64_t m, k, n;
    };
    const auto product = [&](const char* suffix, const Extents& extents, Loop tiled,
                             const Input& with) {
      Kernel kernel = backward_of(forward, suffix);
      kernel.m = extents.m;
      kernel.k = extents.k;
      kernel.n = extents.n;
      if (forward.tiled == Loop::N) kernel.tiled = tiled;
      Node back{.kernel = kernel, .inputs = gradients, .gradient = ValueGraph::Gradient::Product};
      back.inputs.push_back({.value = with.value, .operand = 2});
      return graph_.add(std::move(back));
    };
    const auto& [m, depth, n] = Extents{.m = forward.m, .k = forward.k, .n = forward.n};
    const ValueId of_streamed = product("_bwd_1", {.m = depth, .k = m, .n = n}, Loop::N, other);
    hand_back(streamed, gradient_from(of_streamed, streamed.value));
    const Extents extents =
        node.transposed ? Extents{.m = depth, .k = n, .n = m} : Extents{.m = m, .k = n, .n = depth};
    const ValueId of_other = product("_bwd_2", extents, Loop::K, streamed);
    hand_back(other, gradient_from(of_other, other.value));
  }

  /// Adds the backward kernel of fused attention, which reads the inputs of the forward kernel, its
  /// output and the saved log-sum-exp.
  void attention(const Node& node, const std::vector<Input>& gradients) {
    Node back{.kernel = backward_of(node.kernel, "_bwd"),
              .inputs = node.inputs,
              .gradient = ValueGraph::Gradient::Product};
    for (const Input& gradient : gradients) {
      back.inputs.push_back({.value = gradient.value, .operand = 4});
    }
    int operand = 5;
    for (const ValueId v : node.saved) back.inputs.push_back({.value = v, .operand = operand++});
    const ValueId whole = graph_.add(std::move(back));
    for (const Input& input : node.inputs) {
      hand_back(input, graph_.part(whole, graph_.rows(input.value)));
    }
  }

  ValueGraph& graph_;
  std::vector<std::vector<ValueId>> parts_;  // parts of the gradient, by forward value
};

void ValueGraph::add_backward(ValueId result, bool is_loss) {
  BackwardRules(*this).run(result, is_loss);
}

}  // namespace dfsearch
