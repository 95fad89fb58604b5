// A shape is refused unless a known cause explains it: heads as rows, samples as columns, shared
// heads, fewer tokens in a window, tokens dealt out to experts.

#include "graph/dataflow_graph.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/counts.hpp"

namespace dfsearch {
namespace {

// Greatest ratio between the words of a part of an output (masks, logits) and words of the
// workload.
constexpr double kMostWords = 16.0;

struct Matrix {
  std::int64_t rows, columns;
  const char* name;
};

/// a / b, if that is a whole number; else 0.
std::int64_t multiple(double a, double b) {
  const double ratio = std::round(a / b);
  // Products of extents may be rounded.
  return ratio >= 1.0 && std::abs(a / b - ratio) <= 1e-12 * ratio ? static_cast<std::int64_t>(ratio)
                                                                  : 0;
}

bool is_power_of_two(double ratio) {
  int exponent = 0;
  return std::frexp(ratio, &exponent) == 0.5;
}

/// Whether the ratio of `a` and `b` is a power of two within kMostWords: equal sizes in different
/// words.
bool are_other_words(double a, double b) {
  return a <= kMostWords * b && b <= kMostWords * a && is_power_of_two(a / b);
}

bool is_elementwise(const Kernel& kernel) {
  return kernel.kind == KernelKind::Elementwise || kernel.kind == KernelKind::Elementwise2;
}

/// Whether `count` is `one` times a divisor of `outer`: several of `outer` may share one operand.
bool is_for_each(double count, double one, std::int64_t outer) {
  const std::int64_t shared_by = multiple(number(outer) * one, count);
  return shared_by > 0 && outer % shared_by == 0;
}

/// Whether `count` lies between `one` and `outer` times `one`, for some allowed size of words.
bool is_in_words(double count, double one, std::int64_t outer) {
  return count * kMostWords >= one && count <= kMostWords * number(outer) * one;
}

/// The allowed shapes of an operand, for each of `outer` products; empty: any shape is allowed.
std::vector<Matrix> operand_matrices(const Kernel& kernel, int operand) {
  const Matrix streamed{.rows = kernel.k, .columns = kernel.n, .name = "K x N"};
  if (kernel.kind == KernelKind::WeightGemm) return {streamed};
  if (kernel.kind == KernelKind::Gemm) {
    return {streamed, {.rows = kernel.m, .columns = kernel.k, .name = "M x K"}};
  }
  // The operand with the keys may also contain values, and keys of other tokens.
  return operand == 1 ? std::vector{streamed} : std::vector<Matrix>{};
}

std::string in_words(double outer_rows, double columns) {
  const auto text = [](double count) { return std::to_string(static_cast<std::int64_t>(count)); };
  return text(outer_rows) + " x " + text(columns);
}

std::optional<std::string> wrong_product(const DataflowGraph& graph, const Tensor& first,
                                         TensorId id) {
  const Kernel& kernel = graph.kernel(first.to);
  const std::vector<Matrix> matrices = operand_matrices(kernel, first.operand);
  double elements = 0.0;
  double rows = 0.0;
  bool has_parts = false;
  for (const TensorId t : graph.inputs(first.to)) {
    const Tensor& tensor = graph.tensor(t);
    if (tensor.operand != first.operand) continue;
    if (t < id) return std::nullopt;  // checked with the first tensor of the operand
    rows += number(graph.rows(t));
    elements += number(graph.rows(t)) * number(graph.kernel(tensor.from).n);
    has_parts = has_parts || tensor.rows > 0;
  }
  std::string expected;
  for (const Matrix& matrix : matrices) {
    const double one = number(matrix.rows) * number(matrix.columns);
    if (is_for_each(elements, one, kernel.outer)) return std::nullopt;
    if (has_parts && is_in_words(elements, one, kernel.outer)) return std::nullopt;
    expected += (expected.empty() ? "" : " or ") +
                in_words(number(matrix.rows), number(matrix.columns)) + " (" + matrix.name + ")";
  }
  if (matrices.empty()) return std::nullopt;
  // A window has fewer tokens than the sequence.
  const bool has_fewer = elements <= rows * number(kernel.n);
  if (has_fewer && is_for_each(rows, number(kernel.k), kernel.outer)) return std::nullopt;
  for (const std::int64_t extent : {kernel.m, kernel.k, kernel.n}) {
    const bool streamed = kernel.kind == KernelKind::Gemm;
    if (streamed && is_for_each(rows, number(extent), kernel.outer)) return std::nullopt;
  }
  if (kernel.outer > 1) {
    expected += " for each of " + std::to_string(kernel.outer) + " or for several of them";
  }
  return "operand " + std::to_string(first.operand) + " of " + kernel.name + " has " +
         in_words(rows, elements / rows) + " elements, expected " + expected;
}

/// Allowed rows: the rows of the kernel, of one of `outer`, of groups that are added up, or
/// repeated rows.  Parts may be masks or choices of any size.  Any number of columns is allowed,
/// since tokens are appended to caches and dealt out to experts.
std::optional<std::string> wrong_elements(const DataflowGraph& graph, const Tensor& tensor) {
  const Kernel& kernel = graph.kernel(tensor.to);
  const Kernel& from = graph.kernel(tensor.from);
  const std::int64_t rows = graph.rows(tensor);
  const std::int64_t own = kernel.outer * kernel.m;
  const bool in_groups = kernel.outer > 1 || from.outer > 1;
  const bool related =
      tensor.rows > 0 || rows % own == 0 || own % rows == 0 || (in_groups && rows % kernel.m == 0);
  if (related) return std::nullopt;
  if (multiple(number(rows) * number(from.n), number(own) * number(kernel.n)) == 1) {
    return std::nullopt;
  }
  return kernel.name + " is given " + in_words(number(rows), number(from.n)) +
         " elements, expected " + in_words(number(own), number(kernel.n)) +
         (kernel.outer > 1 ? " (outer * M x N)" : " (M x N)");
}

RowUse use_of_elements(const Kernel& from, const Kernel& kernel, std::int64_t rows) {
  const std::int64_t own = kernel.outer * kernel.m;
  if (rows == own) return RowUse::Same;
  // Rows of experts are added up although the numbers of columns differ.
  const bool has_groups =
      from.outer > 1 ? rows == from.outer * kernel.m : rows % kernel.m == 0 && from.n != kernel.n;
  if (kernel.outer == 1 && rows > kernel.m && has_groups) return RowUse::Summed;
  if (kernel.outer > 1 && from.outer == 1 && rows <= kernel.m) return RowUse::All;
  const bool is_same = are_other_words(number(rows), number(own)) || rows % own == 0 ||
                       (kernel.outer > 1 && from.outer > 1);
  return is_same ? RowUse::Same : RowUse::All;
}

/// The use of an operand by products of heads, or by gradients of their weights.
RowUse use_of_heads(const Kernel& from, const Kernel& kernel, const Tensor& tensor,
                    std::int64_t rows) {
  if (kernel.outer == 1) return RowUse::Same;
  if (kernel.kind == KernelKind::Attention) {
    const bool of_one = from.outer == 1 && rows <= std::max(kernel.k, kernel.m);
    return of_one ? RowUse::All : RowUse::Same;
  }
  if (kernel.has_weight()) {
    const bool of_one = rows == kernel.k || (from.outer == 1 && rows < kernel.k);
    return of_one ? RowUse::All : RowUse::Same;
  }
  const bool gradient = kernel.weight_of && tensor.operand == 2 && tensor.value >= 0;
  if (gradient && rows == kernel.n) return RowUse::All;
  const double elements = number(rows) * number(from.n);
  for (const Matrix& matrix : operand_matrices(kernel, tensor.operand)) {
    const double one = number(matrix.rows) * number(matrix.columns);
    if (multiple(elements, number(kernel.outer) * one) == 1) return RowUse::Same;
  }
  return from.outer == 1 && rows <= std::max(kernel.m, kernel.k) ? RowUse::All : RowUse::Same;
}

}  // namespace

// docs/model.md (33), (37)
std::int64_t shared_heads(const DataflowGraph& graph, const Tensor& tensor) {
  const Kernel& kernel = graph.kernel(tensor.to);
  const bool is_shared = tensor.operand == 2 || tensor.operand == 3;
  if (kernel.kind != KernelKind::Attention || !is_shared) return kernel.outer;
  const std::int64_t rows = graph.rows(tensor);
  const std::int64_t of_one = tensor.operand == 2 ? kernel.k : kernel.m;
  if (rows <= of_one) return 1;
  const bool divides = rows % of_one == 0 && kernel.outer % (rows / of_one) == 0;
  return divides ? rows / of_one : kernel.outer;
}

// docs/model.md (37)
RowUse row_use(const DataflowGraph& graph, const Tensor& tensor) {
  const Kernel& kernel = graph.kernel(tensor.to);
  const Kernel& from = graph.kernel(tensor.from);
  const std::int64_t rows = graph.rows(tensor);
  return is_elementwise(kernel) ? use_of_elements(from, kernel, rows)
                                : use_of_heads(from, kernel, tensor, rows);
}

std::optional<std::string> wrong_shape(const DataflowGraph& graph, TensorId id) {
  const Tensor& tensor = graph.tensor(id);
  const Kernel& kernel = graph.kernel(tensor.to);
  // Kernels spread over the whole machine work on blocks of a matrix that shrinks.
  if (kernel.spread != Spread::Tensor || graph.kernel(tensor.from).spread != Spread::Tensor) {
    return std::nullopt;
  }
  return is_elementwise(kernel) ? wrong_elements(graph, tensor) : wrong_product(graph, tensor, id);
}

bool has_wrong_shape(const DataflowGraph& graph) {
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    if (wrong_shape(graph, TensorId(t))) return true;
  }
  return false;
}

}  // namespace dfsearch
