#pragma once
// A forward graph under construction, whose edges are values, and the rules for its backward
// kernels (docs/transformers.md, section 3).

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

/// Kernels in the order of the list and the values between them.  A value is the output of a
/// kernel, or a part of it, and may have any number of consumers.
class ValueGraph {
 public:
  using ValueId = std::size_t;

  /// The rule for the backward kernel of a kernel.
  enum class Gradient : std::uint8_t {
    None,     ///< the kernel is a source, so its gradient is an output of the graph
    Product,  ///< one or two products, or fused attention
    Element,  ///< an elementwise kernel
    Pass,     ///< none: a sum passes its gradient unchanged to all inputs
  };

  struct Input {
    ValueId value;
    int operand = 1;
    bool has_gradient = true;
  };
  /// A kernel with its properties for the rules.
  struct Node {
    Kernel kernel;
    std::vector<Input> inputs;
    Gradient gradient = Gradient::Element;
    std::vector<ValueId> saved{};  ///< further inputs of the elementwise backward kernel
    /// The extents of the elementwise backward kernel, where they differ from the extents of
    /// `kernel`, and the FLOP of an element.
    std::optional<Kernel> reversed = std::nullopt;
    std::int64_t backward_flops = 1;
    std::int64_t backward_coupled = 0;
    bool own_inputs = false;  ///< of a weight GEMM: each of `outer` products has its own input
    bool transposed = false;  ///< of a GEMM: operand 2 is K x M and not M x K
  };

  /// Adds a kernel and returns its whole output as a value.
  ValueId add(Node node);
  /// A part of `rows` rows of the output of the kernel that computes `of`.
  ValueId part(ValueId of, std::int64_t rows);
  /// Lets the elementwise backward kernel of the kernel that computes `of` also read `value`.
  void save(ValueId of, ValueId value);

  /// Adds a seam: value `from` is an input of the kernel of the next layer that computes `to` in
  /// this layer.  The gradient of this kernel is handed to the layer before.
  void hand_over(ValueId from, ValueId to) { seams_.push_back({.from = from, .to = to}); }

  [[nodiscard]] Kernel& kernel(std::size_t index) { return nodes_[index].kernel; }
  [[nodiscard]] std::size_t kernel_count() const { return nodes_.size(); }
  [[nodiscard]] std::int64_t rows(ValueId value) const { return values_[value].rows; }

  /// Adds the backward kernels in the reverse order of the forward kernels.  They start from the
  /// gradient of `result`: a source GRADIENT or, if `result` is a loss, the gradient that its
  /// kernel makes.
  void add_backward(ValueId result, bool is_loss);

  [[nodiscard]] DataflowGraph build() const;

 private:
  struct Value {
    std::size_t kernel;
    std::int32_t number;
    std::int64_t rows;
    bool is_part;
  };
  struct Seam {
    ValueId from, to;
  };
  friend class BackwardRules;

  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<Seam> seams_;
};

}  // namespace dfsearch
