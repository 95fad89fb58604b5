// The first half of a layer: queries, keys and values, attention and the projection.
//
// Every GEMM is written as output(M, N) = weight(M, K) x input(K, N) with the tokens along N.  A
// head of keys and values that several heads of queries share is counted once: keys and values have
// `kv_heads` heads.  Latent attention makes keys and values of a short vector.  A decode pass
// caches this vector, and applies the weight that would make keys and values to the query and to
// the output of attention instead.

#include <algorithm>

#include "graph/workloads/llm/layer_parts.hpp"

namespace dfsearch {

// FLOP of an element, forward and backward; these are no FLOP of the model.
namespace {
constexpr std::int64_t kRope = 3, kRopeBackward = 3;
constexpr std::int64_t kSoftmax = 5, kSoftmaxBackward = 8;
constexpr double kLogSumExpBits = 32.0;
}  // namespace

std::int64_t LayerWriter::keys() const { return pass_.context + (decode_ ? 1 : pass_.tokens); }

LayerWriter::ValueId LayerWriter::rope(const std::string& name, std::int64_t heads,
                                       std::int64_t width, ValueId of) {
  return graph_.add({.kernel = elementwise(name, heads, width, kRope),
                     .inputs = {{.value = of}},
                     .backward_flops = kRopeBackward});
}

LayerWriter::Heads LayerWriter::plain_heads(ValueId normed) {
  const std::int64_t h = model_.hidden, a = model_.heads, g = model_.kv_heads;
  const std::int64_t d = model_.head_dim, d_v = model_.value_dim;
  const auto biases = [this](std::int64_t rows) { return model_.bias == Bias::None ? 0 : rows; };
  ValueId q = weight_gemm("Q", a, d, h, normed, biases(a * d));
  ValueId k = weight_gemm("K", g, d, h, normed, biases(g * d));
  const ValueId v = weight_gemm("V", g, d_v, h, normed, biases(g * d_v));
  if (model_.qk_norm) {
    q = norm("NORM_Q", a, d, q);
    k = norm("NORM_K", g, d, k);
  }
  if (model_.positions == 0) {
    q = rope("ROPE_Q", a, d, q);
    k = rope("ROPE_K", g, d, k);
  }
  return {.queries = {q}, .keys = {k}, .values = {v}};
}

LayerWriter::Heads LayerWriter::latent_heads(ValueId normed) {
  const LatentAttention& latent = *model_.latent;
  const std::int64_t h = model_.hidden, a = model_.heads;
  const std::int64_t d_r = latent.rope_dim, d_n = model_.head_dim - d_r;
  ValueId from = normed;
  std::int64_t width = h;
  if (latent.query_rank > 0) {
    width = latent.query_rank;
    from = norm("NORM_Q", 1, width, weight_gemm("Q_A", 1, width, h, normed));
  }
  const ValueId q = weight_gemm("Q_B", a, model_.head_dim, width, from);
  const ValueId q_plain = graph_.part(q, a * d_n);
  const ValueId q_rope = rope("ROPE_Q", a, d_r, graph_.part(q, a * d_r));
  const ValueId kv = weight_gemm("KV_A", 1, latent.key_value_rank + d_r, h, normed);
  const ValueId kept =
      norm("NORM_KV", 1, latent.key_value_rank, graph_.part(kv, latent.key_value_rank));
  const ValueId k_rope = rope("ROPE_K", 1, d_r, graph_.part(kv, d_r));
  if (decode_) return {.queries = {q_plain, q_rope}, .keys = {kept, k_rope}, .values = {}};
  const ValueId both = weight_gemm("KV_B", a, d_n + model_.value_dim, latent.key_value_rank, kept);
  return {.queries = {q_plain, q_rope}, .keys = {both, k_rope}, .values = {}};
}

LayerWriter::ValueId LayerWriter::latent_decode(ValueId normed) {
  const LatentAttention& latent = *model_.latent;
  const std::int64_t a = model_.heads, r = latent.key_value_rank;
  Heads heads = latent_heads(normed);
  // The weight of a head is applied to each query.
  heads.queries[0] =
      weight_gemm("Q_ABSORB", a, r, model_.head_dim - latent.rope_dim, heads.queries[0]);
  const ValueId mixed = fused(heads, r + latent.rope_dim, r);
  return weight_gemm("O_ABSORB", a, model_.value_dim, r, mixed);
}

LayerWriter::ValueId LayerWriter::fused(const Heads& heads, std::int64_t head_dim,
                                        std::int64_t value_dim) {
  ValueGraph::Node node{.kernel = {.name = "ATTENTION",
                                   .kind = KernelKind::Attention,
                                   .mode = Mode::Systolic,
                                   .tiled = tiled(),
                                   .outer = model_.heads,
                                   .m = value_dim,
                                   .k = head_dim,
                                   .n = tokens(),
                                   .attention = Attention{.keys = keys(),
                                                          .window = model_.window,
                                                          .causal = pass_.causal && !decode_}},
                        .inputs = {},
                        .gradient = ValueGraph::Gradient::Product};
  for (const ValueId v : heads.queries) node.inputs.push_back({.value = v, .operand = 1});
  for (const ValueId v : heads.keys) node.inputs.push_back({.value = v, .operand = 2});
  for (const ValueId v : heads.values) node.inputs.push_back({.value = v, .operand = 3});
  const ValueId out = graph_.add(std::move(node));
  if (decode_) return out;
  graph_.save(out, out);
  graph_.save(out, graph_.part(out, rows_of_bits(model_.heads, kLogSumExpBits)));
  return out;
}

LayerWriter::ValueId LayerWriter::unfused(const Heads& heads) {
  const std::int64_t a = model_.heads;
  const std::int64_t seen = model_.window > 0 ? std::min(model_.window, keys()) : keys();
  const auto product = [&](const char* name, std::int64_t m, std::int64_t k) {
    return Kernel{.name = name,
                  .kind = KernelKind::Gemm,
                  .mode = Mode::Systolic,
                  .tiled = tiled(),
                  .outer = a,
                  .m = m,
                  .k = k,
                  .n = tokens()};
  };
  ValueGraph::Node scores{.kernel = product("SCORES", seen, model_.head_dim),
                          .inputs = {},
                          .gradient = ValueGraph::Gradient::Product,
                          .transposed = true};
  for (const ValueId v : heads.queries) scores.inputs.push_back({.value = v, .operand = 1});
  for (const ValueId v : heads.keys) scores.inputs.push_back({.value = v, .operand = 2});
  Kernel softmax = elementwise("SOFTMAX", a, seen, kSoftmax);
  softmax.coupled = kSoftmaxSums;
  ValueId p = graph_.add({.kernel = softmax,
                          .inputs = {{.value = graph_.add(std::move(scores))}},
                          .backward_flops = kSoftmaxBackward,
                          .backward_coupled = 1});
  graph_.save(p, p);
  if (model_.dropout) p = dropout("DROPOUT_1", a, p);
  return graph_.add(
      {.kernel = product("CONTEXT", model_.value_dim, seen),
       .inputs = {{.value = p, .operand = 2}, {.value = heads.values.front(), .operand = 1}},
       .gradient = ValueGraph::Gradient::Product});
}

LayerWriter::ValueId LayerWriter::attention_half(ValueId normed) {
  ValueId mixed{};
  if (model_.latent && decode_) {
    mixed = latent_decode(normed);
  } else {
    const Heads heads = model_.latent ? latent_heads(normed) : plain_heads(normed);
    mixed = pass_.fused ? fused(heads, model_.head_dim, model_.value_dim) : unfused(heads);
  }
  if (gate_rows_ > 0) {
    mixed =
        gated("GATED_HEADS", mixed, weight_gemm("HEAD_GATE", 1, gate_rows_, model_.hidden, normed));
  }
  const ValueId out =
      weight_gemm("PROJ", 1, model_.hidden, model_.heads * model_.value_dim, mixed,
                  (model_.bias == Bias::All ? model_.hidden : 0) + model_.layer_vectors);
  return model_.dropout ? dropout("DROPOUT_2", 1, out) : out;
}

}  // namespace dfsearch
