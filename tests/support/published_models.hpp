#pragma once
// Shapes of transformers as their authors give them.

#include "graph/workloads/llm/transformer.hpp"

namespace dfsearch::test {

inline Transformer gpt(std::int64_t hidden, std::int64_t layers, std::int64_t heads,
                       std::int64_t vocabulary) {
  return {.hidden = hidden,
          .layers = layers,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = hidden / heads,
          .value_dim = hidden / heads,
          .mlp = 4 * hidden,
          .vocabulary = vocabulary,
          .positions = 2048,
          .norm = Norm::Layer,
          .bias = Bias::All,
          .gated = false,
          .tied = true};
}

/// A model as Megatron trains it, with dropout.
inline Transformer megatron(std::int64_t hidden, std::int64_t heads, std::int64_t layers) {
  Transformer model = gpt(hidden, layers, heads, 51200);
  model.dropout = true;
  return model;
}

inline Transformer llama(std::int64_t hidden, std::int64_t layers, std::int64_t heads,
                         std::int64_t mlp, std::int64_t vocabulary) {
  return {.hidden = hidden,
          .layers = layers,
          .heads = heads,
          .kv_heads = 8,
          .head_dim = 128,
          .value_dim = 128,
          .mlp = mlp,
          .vocabulary = vocabulary};
}

inline Transformer llama3_8b() { return llama(4096, 32, 32, 14336, 128256); }

inline Transformer llama3_70b() { return llama(8192, 80, 64, 28672, 128256); }

inline Transformer llama3_405b() { return llama(16384, 126, 128, 53248, 128256); }

inline Transformer mixtral_8x7b() {
  Transformer model = llama(4096, 32, 32, 1, 32000);
  model.experts = Experts{.count = 8, .used = 2, .mlp = 14336};
  return model;
}

inline Transformer deepseek_v3() {
  return {.hidden = 7168,
          .layers = 61,
          .heads = 128,
          .kv_heads = 128,
          .head_dim = 192,
          .value_dim = 128,
          .mlp = 18432,
          .vocabulary = 129280,
          .experts = Experts{.count = 256,
                             .used = 8,
                             .mlp = 2048,
                             .shared = 1,
                             .dense_layers = 3,
                             .router_bias = true},
          .latent = LatentAttention{.query_rank = 1536, .key_value_rank = 512, .rope_dim = 64}};
}

}  // namespace dfsearch::test
