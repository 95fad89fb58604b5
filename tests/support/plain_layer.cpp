#include "support/plain_layer.hpp"

#include <algorithm>

namespace dfsearch::test {
namespace {

std::uint64_t word(std::int64_t i) { return static_cast<std::uint64_t>(i); }

bool adds_gradients(const Kernel& kernel) {
  return kernel.phase == Phase::Backward && kernel.name.find("_sum") != std::string::npos;
}

}  // namespace

PlainKernel::PlainKernel(const DataflowGraph& graph, KernelId id, const LayerShape& shape)
    : graph_(graph), kernel_(graph.kernel(id)), id_(id), shape_(shape) {}

Summed PlainKernel::everything() const {
  // The tokens of the gradient of an expert's weight are the expert's own rows.
  const std::int64_t tokens = kernel_.weight_of ? kernel_.k : shape_.tokens;
  return {.depth = {0, kernel_.k}, .heads = {0, shape_.heads}, .tokens = {0, tokens}};
}

bool PlainKernel::has_own_inputs() const { return kernel_.name.starts_with("EXPERT_"); }

std::int64_t PlainKernel::input_rows(std::size_t input) const {
  return graph_.rows(graph_.inputs(id_)[input]);
}

std::uint64_t PlainKernel::weight(std::int64_t outer, std::int64_t m, std::int64_t k) const {
  const std::size_t owner = kernel_.weight_of.value_or(id_).index();
  std::uint64_t mixed = word(outer * 1'000'003 + m * 10'007 + k * 101) + owner * 7'919 + 1;
  mixed *= 0x9E3779B97F4A7C15U;
  return mixed ^ (mixed >> 29U);
}

/// The row (outer, m) of the gradient of what a weight computes, which may come in pieces that
/// lie side by side within each of `outer`, or in words of half the size.
std::uint64_t PlainKernel::gradient(std::int64_t outer, std::int64_t m, std::int64_t column,
                                    std::size_t pieces, Read read) const {
  const Kernel& owner = graph_.kernel(*kernel_.weight_of);
  if (pieces == 1) {
    const std::int64_t words = input_rows(0) / (owner.outer * owner.m);
    const std::int64_t row = (outer * owner.m + m) * words;
    return words == 2 ? read(0, row, column) + 3 * read(0, row + 1, column) : read(0, row, column);
  }
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t own = input_rows(piece) / owner.outer;
    if (m < own) return read(piece, outer * own + m, column);
    m -= own;
  }
  return 0;
}

std::uint64_t PlainKernel::weight_gradient(std::int64_t outer, std::int64_t m, std::int64_t k,
                                           const Summed& summed, Read read) const {
  const std::size_t last = graph_.inputs(id_).size() - 1;
  std::uint64_t sum = 0;
  for (std::int64_t c = summed.tokens.begin; c < summed.tokens.end; ++c) {
    const std::int64_t row = has_own_inputs() ? outer * kernel_.n + k : k;
    sum += gradient(outer, m, c, last, read) * read(last, row, c);
  }
  return sum;
}

std::uint64_t PlainKernel::product(std::int64_t row, std::int64_t column, const Summed& summed,
                                   Read read) const {
  std::uint64_t sum = 0;
  if (!kernel_.weight_of) {
    const std::int64_t outer = row / kernel_.m;
    for (std::int64_t k = summed.depth.begin; k < summed.depth.end; ++k) {
      const std::int64_t from = has_own_inputs() ? outer * kernel_.k + k : k;
      sum += weight(outer, row % kernel_.m, k) * read(0, from, column);
    }
    return sum;
  }
  const Kernel& owner = graph_.kernel(*kernel_.weight_of);
  const std::size_t pieces = graph_.inputs(id_).size();
  for (std::int64_t i = summed.depth.begin; i < summed.depth.end; ++i) {
    const std::int64_t outer = has_own_inputs() ? row / kernel_.m : i / owner.m;
    const std::int64_t k = has_own_inputs() ? row % kernel_.m : row;
    sum += weight(outer, i % owner.m, k) * gradient(outer, i % owner.m, column, pieces, read);
  }
  return sum;
}

// A row of a value with more or fewer rows than the kernel has is made of, or with, the row at
// the same height.
std::uint64_t PlainKernel::elementwise(std::int32_t part, std::int64_t rows, std::int64_t row,
                                       std::int64_t column, Read read) const {
  const std::int64_t own_rows = kernel_.outer * kernel_.m;
  const std::int64_t at = row * own_rows / rows;
  const std::size_t inputs = graph_.inputs(id_).size();
  const auto height = [&](std::size_t input, std::int64_t of) {
    return of * input_rows(input) / own_rows;
  };
  const bool is_sum = kernel_.name.starts_with("ADD_") || adds_gradients(kernel_);
  const bool couples = kernel_.name.starts_with("NORM_") || kernel_.name.starts_with("ROPE_") ||
                       kernel_.name.starts_with("SOFTMAX") || kernel_.name.starts_with("TOPK");
  std::uint64_t sum = 0;
  std::uint64_t all = 1;
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::uint64_t element = read(i, height(i, at), column);
    sum += is_sum ? element : element * (i + 2);
    all *= element;
  }
  if (is_sum) return sum;
  const std::uint64_t factor = word(part) + 1;
  if (!couples) return factor * all + (kernel_.phase == Phase::Forward ? sum : 0);
  // Linear in the first input on the way back.
  std::uint64_t coupled = 0;
  const std::int64_t begin = at / kernel_.m * kernel_.m;
  for (std::int64_t r = begin; r < begin + kernel_.m; ++r) {
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < inputs; ++i) product *= read(i, height(i, r), column);
    coupled += product;
  }
  const std::uint64_t first = read(0, height(0, at), column);
  if (kernel_.phase == Phase::Forward) return factor * first * coupled + word(row);
  return first + factor * coupled;
}

// Copy j of token c is the row number used * c + j of all experts together.
std::uint64_t PlainKernel::routed(std::int32_t part, std::int64_t row, std::int64_t column,
                                  Read read) const {
  const std::int64_t experts = shape_.experts, used = shape_.used;
  const std::int64_t h = kernel_.m;
  if (is("DISPATCH")) {
    const std::int64_t slot = column * experts + row / h;
    return read(0, row % h, slot / used) + read(1, slot % used, slot / used);
  }
  if (is("COMBINE_bwd") && part != 2) {
    const std::int64_t slot = column * experts + row / h;
    return read(0, row % h, slot / used) * read(1, slot % used, slot / used);
  }
  if (is("COMBINE_bwd")) {  // of the choice
    std::uint64_t sum = 0;
    for (std::int64_t r = 0; r < h; ++r) sum += read(0, r, column) * word(r + 1);
    return sum * read(1, row, column);
  }
  std::uint64_t sum = 0;  // COMBINE, and backward DISPATCH
  for (std::int64_t copy = 0; copy < used; ++copy) {
    const std::int64_t slot = used * column + copy;
    sum += read(0, slot % experts * h + row, slot / experts) * read(1, copy, column);
  }
  return sum;
}

std::int64_t PlainKernel::heads_of(std::size_t input) const {
  const Tensor& tensor = graph_.tensor(graph_.inputs(id_)[input]);
  const std::string& from = graph_.kernel(tensor.from).name;
  if (from == "K" || from == "V" || from == "NORM_K") return shape_.kv_heads;
  if (from == "ROPE_K") return graph_.kernel(tensor.from).outer;
  return shape_.heads;
}

/// Element i of a head of an operand, whose pieces lie side by side.
std::uint64_t PlainKernel::of_head(int operand, std::int64_t head, std::int64_t i,
                                   std::int64_t column, Read read) const {
  const std::span<const TensorId> inputs = graph_.inputs(id_);
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    if (graph_.tensor(inputs[input]).operand != operand) continue;
    const std::int64_t heads = heads_of(input);
    const std::int64_t own = input_rows(input) / heads;
    if (i < own) return read(input, head * heads / shape_.heads * own + i, column);
    i -= own;
  }
  return 0;
}

std::int64_t PlainKernel::width(int operand) const {
  std::int64_t width = 0;
  const std::span<const TensorId> inputs = graph_.inputs(id_);
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    if (graph_.tensor(inputs[input]).operand != operand) continue;
    width += input_rows(input) / heads_of(input);
  }
  return width;
}

std::uint64_t PlainKernel::score(std::int64_t head, std::int64_t query, std::int64_t key,
                                 Read read) const {
  std::uint64_t sum = 0;
  // Keys may have values among them: whatever meets, all of both is read.
  const std::int64_t queries = width(1), keys = width(2);
  for (std::int64_t i = 0; i < std::max(queries, keys); ++i) {
    sum += of_head(1, head, i % queries, query, read) * of_head(2, head, i % keys, key, read);
  }
  return sum;
}

std::uint64_t PlainKernel::score_gradient(std::int64_t head, std::int64_t query, std::int64_t key,
                                          Read read) const {
  // Latent attention has its values among the keys.
  const int values = width(3) > 0 ? 3 : 2;
  std::uint64_t sum = of_head(5, head, 0, query, read) + of_head(6, head, 0, query, read);
  for (std::int64_t i = 0; i < kernel_.m; ++i) {
    sum += of_head(4, head, i, query, read) * of_head(values, head, i, key, read);
  }
  return sum * score(head, query, key, read);
}

std::uint64_t PlainKernel::attention(std::int32_t part, std::int64_t rows, std::int64_t row,
                                     std::int64_t column, const Summed& summed, Read read) const {
  const int values = width(3) > 0 ? 3 : 2;
  std::uint64_t sum = 0;
  if (kernel_.phase == Phase::Forward) {
    const std::int64_t own = rows / shape_.heads;
    const std::int64_t head = row / own;
    for (std::int64_t key = 0; key < shape_.tokens; ++key) {
      sum += score(head, column, key, read) *
             (part > 0 ? word(row + 1) : of_head(values, head, row % own, key, read));
    }
    return sum;
  }
  const auto input = static_cast<std::size_t>(part - 1);
  const int operand = graph_.tensor(graph_.inputs(id_)[input]).operand;
  const std::int64_t heads = heads_of(input);
  const std::int64_t own = rows / heads;
  for (std::int64_t head = summed.heads.begin; head < summed.heads.end; ++head) {
    if (head * heads / shape_.heads != row / own) continue;
    if (operand == 1) {
      for (std::int64_t key = 0; key < shape_.tokens; ++key) {
        sum += score_gradient(head, column, key, read) * of_head(2, head, row % own, key, read);
      }
      continue;
    }
    for (std::int64_t query = summed.tokens.begin; query < summed.tokens.end; ++query) {
      sum +=
          operand == 2
              ? score_gradient(head, query, column, read) * of_head(1, head, row % own, query, read)
              : of_head(4, head, row % own, query, read) * score(head, query, column, read);
    }
  }
  return sum;
}

// Input 0 streams, with the tokens of queries in its columns, or is its gradient.
std::uint64_t PlainKernel::unfused(std::int64_t row, std::int64_t column, const Summed& summed,
                                   Read read) const {
  const bool is_scores = kernel_.name.starts_with("SCORES");
  const std::int64_t shared = shape_.heads / shape_.kv_heads;
  std::uint64_t sum = 0;
  if (kernel_.name.ends_with("_bwd_2")) {  // keys and values: rows of their heads, all tokens
    const std::int64_t own = kernel_.m;
    const std::int64_t kv_head = row / own;
    for (std::int64_t head = summed.heads.begin; head < summed.heads.end; ++head) {
      if (head / shared != kv_head) continue;
      for (std::int64_t query = summed.tokens.begin; query < summed.tokens.end; ++query) {
        const std::int64_t keys = shape_.tokens;
        sum += is_scores
                   ? read(0, head * keys + column, query) * read(1, head * own + row % own, query)
                   : read(0, head * own + row % own, query) * read(1, head * keys + column, query);
      }
    }
    return sum;
  }
  // W x with a matrix of each head; SCORES and backward CONTEXT have the keys in their rows.
  const std::int64_t head = row / kernel_.m;
  const std::int64_t m = row % kernel_.m;
  const bool keys_in_rows = kernel_.name == "SCORES" || kernel_.name == "CONTEXT_bwd_1";
  for (std::int64_t k = 0; k < kernel_.k; ++k) {
    const std::uint64_t streamed = read(0, head * kernel_.k + k, column);
    sum += streamed * (keys_in_rows ? read(1, head / shared * kernel_.k + k, m)
                                    : read(1, head / shared * kernel_.m + m, k));
  }
  return sum;
}

std::uint64_t PlainKernel::element(std::int32_t part, std::int64_t rows, std::int64_t row,
                                   std::int64_t column, const Summed& summed, Read read) const {
  if (kernel_.kind == KernelKind::Attention) {
    return attention(part, rows, row, column, summed, read);
  }
  if (kernel_.kind == KernelKind::Gemm) return unfused(row, column, summed, read);
  if (kernel_.kind == KernelKind::WeightGemm) {
    // Parts lie side by side within each of `outer`; logits have two words.
    const std::int64_t all = kernel_.outer * kernel_.m;
    if (rows >= all) return product(row * all / rows, column, summed, read);
    const std::int64_t own = rows / kernel_.outer;
    const std::int64_t before = part == 1 ? 0 : kernel_.m - own;
    return product(row / own * kernel_.m + before + row % own, column, summed, read);
  }
  const bool routes = kernel_.name.starts_with("DISPATCH") || kernel_.name.starts_with("COMBINE");
  if (routes && !adds_gradients(kernel_)) return routed(part, row, column, read);
  return elementwise(part, rows, row, column, read);
}

}  // namespace dfsearch::test
