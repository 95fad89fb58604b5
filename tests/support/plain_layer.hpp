#pragma once
// Layers computed with whole numbers, element by element, whole or in parts.
//
// What the kernels compute is made up, but reads what the real ones read: norms couple the rows
// of a column, attention the tokens, and so on.  Kernels that are linear in an input are linear
// here.  Numbers wrap, so sums do not depend on their order.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/dataflow_graph.hpp"

namespace dfsearch::test {

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool operator==(const Range&) const = default;
  [[nodiscard]] bool has(std::int64_t i) const { return begin <= i && i < end; }
};

/// What a layer is made of, beside its graph.
struct LayerShape {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t experts = 1;
  std::int64_t used = 1;
  std::int64_t tokens = 1;
};

/// An element of an input of a kernel, by the place of the input in graph.inputs(kernel).
using ReadInput =
    std::function<std::uint64_t(std::size_t input, std::int64_t row, std::int64_t column)>;

/// The part of a kernel's sums that is computed.
struct Summed {
  Range depth;   ///< of what a weight is multiplied with
  Range heads;   ///< of queries
  Range tokens;  ///< of queries, and of gradients of weights
};

/// Computes single elements of what a kernel hands on.
class PlainKernel {
 public:
  PlainKernel(const DataflowGraph& graph, KernelId id, const LayerShape& shape);

  /// All that it sums over.
  [[nodiscard]] Summed everything() const;
  /// An element of the value with the number `part` (Tensor::value) and `rows` rows.
  [[nodiscard]] std::uint64_t element(std::int32_t part, std::int64_t rows, std::int64_t row,
                                      std::int64_t column, const Summed& summed,
                                      const ReadInput& read) const;
  /// The element (m, k) of the matrix `outer` of the gradient of a weight.
  [[nodiscard]] std::uint64_t weight_gradient(std::int64_t outer, std::int64_t m, std::int64_t k,
                                              const Summed& summed, const ReadInput& read) const;
  /// Of a kernel with a weight: whether each matrix has an input of its own.
  [[nodiscard]] bool has_own_inputs() const;
  /// Rows of an input value.
  [[nodiscard]] std::int64_t input_rows(std::size_t input) const;

 private:
  using Read = const ReadInput&;

  [[nodiscard]] bool is(const char* name) const { return kernel_.name == name; }
  [[nodiscard]] std::uint64_t weight(std::int64_t outer, std::int64_t m, std::int64_t k) const;
  [[nodiscard]] std::uint64_t gradient(std::int64_t outer, std::int64_t m, std::int64_t column,
                                       std::size_t pieces, Read read) const;
  [[nodiscard]] std::uint64_t product(std::int64_t row, std::int64_t column, const Summed& summed,
                                      Read read) const;
  [[nodiscard]] std::uint64_t elementwise(std::int32_t part, std::int64_t rows, std::int64_t row,
                                          std::int64_t column, Read read) const;
  [[nodiscard]] std::uint64_t routed(std::int32_t part, std::int64_t row, std::int64_t column,
                                     Read read) const;
  [[nodiscard]] std::uint64_t unfused(std::int64_t row, std::int64_t column, const Summed& summed,
                                      Read read) const;
  [[nodiscard]] std::uint64_t attention(std::int32_t part, std::int64_t rows, std::int64_t row,
                                        std::int64_t column, const Summed& summed, Read read) const;
  [[nodiscard]] std::uint64_t of_head(int operand, std::int64_t head, std::int64_t i,
                                      std::int64_t column, Read read) const;
  [[nodiscard]] std::int64_t width(int operand) const;
  [[nodiscard]] std::uint64_t score(std::int64_t head, std::int64_t query, std::int64_t key,
                                    Read read) const;
  [[nodiscard]] std::uint64_t score_gradient(std::int64_t head, std::int64_t query,
                                             std::int64_t key, Read read) const;
  [[nodiscard]] std::int64_t heads_of(std::size_t input) const;

  const DataflowGraph& graph_;
  const Kernel& kernel_;
  KernelId id_;
  LayerShape shape_;
};

}  // namespace dfsearch::test
