#pragma once
// The halves of a transformer layer as kernels and values; transformer_graph.hpp puts them
// together.

#include <cstdint>
#include <string>
#include <vector>

#include "graph/workloads/llm/transformer_graph.hpp"
#include "graph/workloads/llm/value_graph.hpp"

namespace dfsearch {

/// Bits of a logit: with 16 bits, choices of experts and the loss would meet too many ties.
inline constexpr double kLogitBits = 32.0;
/// Rows that a softmax makes of a column: its maximum, and the sum of the exponentials.
inline constexpr std::int64_t kSoftmaxSums = 2;

/// Writes the kernels of a model, for one pass, into a graph.
class LayerWriter {
 public:
  using ValueId = ValueGraph::ValueId;

  LayerWriter(ValueGraph& graph, const Transformer& model, const TransformerPass& pass, bool decode)
      : graph_(graph), model_(model), pass_(pass), decode_(decode) {}

  /// A kernel without inputs, for a value from outside of the graph.
  ValueId source(const std::string& name, std::int64_t rows);
  ValueId norm(const std::string& name, std::int64_t heads, std::int64_t width, ValueId of);
  /// The first half: from the normed input to the value that is added to the input.
  ValueId attention_half(ValueId normed);
  /// The second half: an MLP.
  ValueId mlp(const std::string& prefix, std::int64_t width, bool bias, ValueId normed);
  /// The second half with experts: the outputs of the routed and of the shared experts, to be
  /// added.
  std::vector<ValueId> experts(ValueId normed);
  ValueId sum(const std::string& name, const std::vector<ValueId>& values);
  ValueId dropout(const std::string& name, std::int64_t heads, ValueId of);

  /// Sets the rows of the gates that the outputs of attention are multiplied by; 0: there are none.
  void gate_attention(std::int64_t rows) { gate_rows_ = rows; }
  /// The product of two values.
  ValueId gated(const std::string& name, ValueId of, ValueId gate);

  ValueId weight_gemm(const std::string& name, std::int64_t outer, std::int64_t m, std::int64_t k,
                      ValueId of, std::int64_t biases = 0);
  /// An elementwise kernel of the shape of a layer.
  [[nodiscard]] Kernel elementwise(const std::string& name, std::int64_t outer, std::int64_t m,
                                   std::int64_t flops) const;
  /// Rows of a value with `elements` rows of `bits` bits, counted in words of the model.
  [[nodiscard]] std::int64_t rows_of_bits(std::int64_t elements, double bits) const;
  [[nodiscard]] bool decodes() const { return decode_; }
  [[nodiscard]] Bytes word() const { return pass_.word; }

 private:
  /// Values that attention reads, by operand.
  struct Heads {
    std::vector<ValueId> queries, keys, values;
  };

  [[nodiscard]] std::int64_t tokens() const { return pass_.tokens; }
  /// Width of the inputs of the experts.
  [[nodiscard]] std::int64_t expert_width() const {
    return model_.experts->latent > 0 ? model_.experts->latent : model_.hidden;
  }
  [[nodiscard]] std::int64_t keys() const;
  [[nodiscard]] Loop tiled() const { return decode_ ? Loop::None : Loop::N; }
  ValueId rope(const std::string& name, std::int64_t heads, std::int64_t width, ValueId of);
  Heads plain_heads(ValueId normed);
  Heads latent_heads(ValueId normed);
  ValueId latent_decode(ValueId normed);
  ValueId fused(const Heads& heads, std::int64_t head_dim, std::int64_t value_dim);
  ValueId unfused(const Heads& heads);
  /// A kernel for each expert that has tokens, with the rows of its capacity.
  [[nodiscard]] Kernel of_experts(Kernel kernel) const;
  /// The activation of an MLP or of experts: `kernel` is elementwise, `wide` its inputs.
  ValueId activation(Kernel kernel, const std::vector<ValueId>& wide);
  ValueId expert_gemm(const std::string& name, std::int64_t m, std::int64_t k, ValueId of,
                      std::int64_t vectors = 0);
  ValueId expert_mlps(ValueId sent);

  ValueGraph& graph_;
  const Transformer& model_;
  const TransformerPass& pass_;
  bool decode_;
  std::int64_t gate_rows_ = 0;
};

/// Adds to each kernel the bytes that a decode pass reads from memory: weights (of experts, only of
/// the touched ones), and keys and values of all samples.
void read_from_memory(ValueGraph& graph, const Transformer& model, const TransformerPass& pass);

}  // namespace dfsearch
