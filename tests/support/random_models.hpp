#pragma once
// Small transformers with every option that there is.

#include <cstdint>
#include <random>

#include "graph/workloads/llm/transformer.hpp"

namespace dfsearch::test {

/// Bytes that are read for a token of each of `batch` samples after `context` others: once the
/// weights but the embedding, with the experts that are touched, and the cache of each sample.
inline Bytes decode_bytes(const Transformer& model, std::int64_t context, std::int64_t batch,
                          Bytes word) {
  const auto weights = [&](std::int64_t used) {
    Transformer one = model;
    if (one.experts) one.experts->used = used;
    return static_cast<double>(count(one, 1, Bytes(1.0)).active_parameters);
  };
  const double touched = model.experts ? touched_experts(*model.experts, batch) : 1.0;
  const double tables = static_cast<double>(model.end_vectors) +
                        static_cast<double>(model.hidden) *
                            ((model.tied ? 0.0 : static_cast<double>(model.vocabulary)) +
                             static_cast<double>(model.positions));
  const double elements = weights(1) + (touched - 1.0) * (weights(2) - weights(1)) - tables;
  const Bytes cached = count(model, 1, word).cache_bytes_per_token;
  return word * elements +
         cached * (model.seen_in_layers(context) / static_cast<double>(model.layers) *
                   static_cast<double>(batch));
}

/// Random models that depend on the seed alone, on every machine.
class RandomModels {
 public:
  explicit RandomModels(std::uint64_t seed) : random_(seed) {}

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance() { return pick(0, 1) == 1; }

  Transformer model() {
    Transformer m{.hidden = pick(1, 40), .layers = pick(1, 9)};
    m.kv_heads = pick(1, 5);
    m.heads = m.kv_heads * pick(1, 4);
    m.head_dim = pick(2, 12);
    m.value_dim = pick(1, 12);
    m.mlp = pick(1, 50);
    m.vocabulary = pick(1, 70);
    m.positions = chance() ? pick(1, 30) : 0;
    m.window = chance() ? pick(1, 60) : 0;
    m.norm = chance() ? Norm::Rms : Norm::Layer;
    m.gated = chance();
    m.tied = chance();
    m.dropout = chance();
    if (chance()) {
      m.kv_heads = m.heads;
      m.latent = LatentAttention{.query_rank = chance() ? pick(1, 9) : 0,
                                 .key_value_rank = pick(1, 9),
                                 .rope_dim = pick(1, m.head_dim - 1)};
    } else {
      m.bias = static_cast<Bias>(pick(0, 2));
      m.qk_norm = chance();
    }
    if (chance()) {
      m.experts = Experts{.count = pick(1, 9),
                          .mlp = pick(1, 30),
                          .shared = pick(0, 2),
                          .dense_layers = pick(0, m.layers - 1),
                          .router_bias = chance()};
      m.experts->used = pick(1, m.experts->count);
      if (chance()) m.experts->capacity_factor = 1.0 + static_cast<double>(pick(0, 8)) / 4.0;
    }
    m.post_norm = !m.experts && chance();
    m.layer_vectors = m.hidden % 3;
    m.end_vectors = m.heads % 2;
    if (m.experts) m.experts->vectors = m.mlp % 4;
    if (m.window > 0 && m.layers > 1 && chance()) m.full_attention_every = pick(2, m.layers);
    return m;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace dfsearch::test
