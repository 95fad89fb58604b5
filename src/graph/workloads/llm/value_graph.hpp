#pragma once
// A forward graph in the making, whose edges are values, and the rules that make its
// backward kernels (docs/transformers.md, section 3).

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

  /// The backward kernel of a kernel.
  enum class Gradient : std::uint8_t {
    None,     ///< it begins the graph, which computes its gradient
    Product,  ///< by the kind of the kernel: one or two products, or fused attention
    Element,  ///< by an elementwise kernel
    Pass,     ///< unchanged, to all inputs: a sum
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
    std::vector<ValueId> saved{};  ///< values that an elementwise backward kernel reads as well
    /// The extents of the elementwise backward kernel, where they differ from the extents of
    /// `kernel`, and the FLOP of an element.
    std::optional<Kernel> reversed = std::nullopt;
    std::int64_t backward_flops = 1;
    std::int64_t backward_coupled = 0;
    bool own_inputs = false;  ///< of a weight GEMM: every one of `outer` has an input of its own
    bool transposed = false;  ///< of a GEMM: operand 2 is K x M and not M x K
  };

  /// Adds a kernel and returns its whole output as a value.
  ValueId add(Node node);
  /// A part, of `rows` rows, of the output of the kernel of a value.
  ValueId part(ValueId of, std::int64_t rows);
  /// Has the elementwise backward kernel of the kernel that computes `of` read a value too.
  void save(ValueId of, ValueId value);

  /// A layer hands value `from` on to the kernel of the next one that computes `to` here; the
  /// gradient of this kernel is handed to the layer before.
  void hand_over(ValueId from, ValueId to) { seams_.push_back({.from = from, .to = to}); }

  [[nodiscard]] Kernel& kernel(std::size_t index) { return nodes_[index].kernel; }
  [[nodiscard]] std::size_t kernel_count() const { return nodes_.size(); }
  [[nodiscard]] std::int64_t rows(ValueId value) const { return values_[value].rows; }

  /// Adds the backward kernels, in the reverse order of the forward ones, for the gradient of
  /// `result`: a source GRADIENT, or the gradient that its kernel makes by itself if it is a loss.
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
