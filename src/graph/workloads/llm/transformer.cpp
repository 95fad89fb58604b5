// Counts of parameters, FLOP and bytes, in closed form.
//
// A token is multiplied with every matrix that it uses: once forward, at 2 FLOP for each element of
// the matrix, and twice backward.  Attention is counted in addition, since it multiplies tokens
// with tokens.  All sums are of doubles, which are exact below 2^53 and never overflow; the totals
// of the generated graphs are the same numbers (tests/graph/workloads/transformer_graph_test.cpp).

#include "graph/workloads/llm/transformer.hpp"

#include "base/counts.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch {
namespace {

/// Elements of one layer: of matrices, and of norms and biases.
struct Elements {
  double matrices = 0.0;
  double beside = 0.0;

  Elements& operator+=(const Elements& other) {
    matrices += other.matrices;
    beside += other.beside;
    return *this;
  }
};

Elements latent_elements(const Transformer& model) {
  const LatentAttention& latent = *model.latent;
  const double h = number(model.hidden), a = number(model.heads);
  const double d = number(model.head_dim), r_q = number(latent.query_rank);
  const double r_kv = number(latent.key_value_rank), d_r = number(latent.rope_dim);
  const double queries = latent.query_rank > 0 ? r_q * h + a * d * r_q : a * d * h;
  return {.matrices = queries + (r_kv + d_r) * h + a * (d - d_r + number(model.value_dim)) * r_kv,
          .beside = number(model.norm_parameters(latent.query_rank)) +
                    number(model.norm_parameters(latent.key_value_rank))};
}

Elements attention_elements(const Transformer& model) {
  const double h = number(model.hidden), a = number(model.heads), g = number(model.kv_heads);
  const double d = number(model.head_dim), d_v = number(model.value_dim);
  const double heads = (a + g) * d + g * d_v;  // rows of queries, keys and values
  Elements sum{.matrices = heads * h, .beside = model.bias == Bias::None ? 0.0 : heads};
  if (model.latent) sum = latent_elements(model);
  if (model.qk_norm) sum.beside += 2.0 * number(model.norm_parameters(model.head_dim));
  sum.matrices += h * a * d_v;
  sum.beside += number(model.layer_vectors);
  if (model.bias == Bias::All) sum.beside += h;
  const double norms = model.post_norm ? 4.0 : 2.0;  // before, and maybe after, each half
  sum.beside += norms * number(model.norm_parameters(model.hidden));
  return sum;
}

Elements mlp_elements(const Transformer& model) {
  const double h = number(model.hidden), f = number(model.mlp);
  const double biases = model.bias == Bias::All ? number(model.mlp_matrices() - 1) * f + h : 0.0;
  return {.matrices = number(model.mlp_matrices()) * h * f, .beside = biases};
}

/// Elements of `experts` experts of a layer, shared ones included, and of its router.
Elements expert_elements(const Transformer& model, double experts) {
  const Experts& shape = *model.experts;
  const double h = number(model.hidden), count = number(shape.count);
  return {.matrices = h * count + number(model.mlp_matrices()) * h * number(shape.mlp) * experts,
          .beside = (shape.router_bias ? count : 0.0) +
                    (experts - number(shape.shared)) * number(shape.vectors)};
}

/// Elements of all layers, with `experts` experts in each layer that has any.
Elements layer_elements(const Transformer& model, double experts) {
  const double dense = number(model.dense_layers());
  const double layers = number(model.layers);
  const Elements attention = attention_elements(model);
  Elements sum{.matrices = layers * attention.matrices, .beside = layers * attention.beside};
  const Elements mlp = dense > 0.0 ? mlp_elements(model) : Elements{};
  sum += {.matrices = dense * mlp.matrices, .beside = dense * mlp.beside};
  if (!model.experts) return sum;
  const Elements routed = expert_elements(model, experts);
  return sum += {.matrices = (layers - dense) * routed.matrices,
                 .beside = (layers - dense) * routed.beside};
}

double all_experts(const Transformer& model, double routed) {
  return model.experts ? routed + number(model.experts->shared) : 0.0;
}

double embedding(const Transformer& model) {
  return number(model.vocabulary) * number(model.hidden);
}

/// Elements beside the layers: embeddings, the last norm and an untied head.
double end_elements(const Transformer& model) {
  if (model.vocabulary == 0) return 0.0;
  return embedding(model) * (model.tied ? 1.0 : 2.0) +
         number(model.positions) * number(model.hidden) +
         number(model.norm_parameters(model.hidden)) + number(model.end_vectors);
}

double parameters_with(const Transformer& model, double experts) {
  const Elements layers = layer_elements(model, experts);
  return layers.matrices + layers.beside + end_elements(model);
}

double active_experts(const Transformer& model) {
  return model.experts ? all_experts(model, number(model.experts->used)) : 0.0;
}

double matmul_elements(const Transformer& model) {
  return layer_elements(model, active_experts(model)).matrices + embedding(model);
}

/// Mean number of keys that a query of the sequence sees, at most `window`.
double keys_seen(std::int64_t window, std::int64_t sequence, bool causal) {
  const double s = number(sequence);
  const double most = number(std::min(window, sequence));
  if (!causal) return most;
  return most - most * (most - 1.0) / (2.0 * s);
}

double keys_seen(const Transformer& model, std::int64_t sequence, bool causal) {
  const double full = number(model.full_layers(0, model.layers));
  return full * keys_seen(sequence, sequence, causal) +
         (number(model.layers) - full) * keys_seen(model.window, sequence, causal);
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }

/// Elements of a cached token, in one layer.
double cached_elements(const Transformer& model) {
  if (model.latent) return number(model.latent->key_value_rank) + number(model.latent->rope_dim);
  return number(model.kv_heads) * (number(model.head_dim) + number(model.value_dim));
}

// Sums over the layers of a model of several kinds.

template <class Amount>
double sum_of_layers(const MixedLayers& mixed, const Amount& amount) {
  double sum = 0.0;
  for (std::size_t i = 0; i < mixed.forms.size(); ++i) {
    sum += number(mixed.before.back()[i]) * amount(mixed.forms[i]);
  }
  return sum;
}

/// FLOP for a token of the decoder, with its share of the encoder.
double mixed_forward(const Transformer& model, std::int64_t sequence, bool causal) {
  const MixedLayers& mixed = *model.mixed;
  const std::int64_t encoded = model.encoder_tokens(sequence);
  const double ratio = number(encoded) / number(sequence);
  const ShapeCounts counts = counts_of(mixed.shape, sequence);
  const double attention = sum_of_layers(mixed, [&](const LayerForm& form) {
    double flop = 0.0;
    if (form.cross) {
      flop += 2.0 * number(form.cross->heads) * number(form.cross->dim + form.cross->value) *
              number(encoded);
    }
    if (!form.has_attention) return flop;
    const std::int64_t tokens = form.encodes ? encoded : sequence;
    const std::int64_t seen = form.seen() > 0 ? form.seen() : tokens;
    double keys = keys_seen(seen, tokens, causal && form.causal);
    if (form.rate > 0) {
      const Sight far{.causal = causal, .window = form.chosen, .rate = form.rate};
      keys += dfsearch::keys_seen(far, number(sequence));
    }
    const double pair =
        2.0 * number(form.view.heads) * number(form.view.head_dim + form.view.value_dim);
    return flop + (form.encodes ? ratio : 1.0) * pair * keys;
  });
  const double of_encoder = (ratio - 1.0) * sum_of_layers(mixed, [](const LayerForm& form) {
                              return form.encoder_matrices();
                            });
  return 2.0 * (counts.matmul + of_encoder) + attention + counts.scan_flop_useful +
         counts.index_flop;
}

ModelCounts mixed_counts(const Transformer& model, std::int64_t sequence, Bytes word) {
  const MixedLayers& mixed = *model.mixed;
  const ShapeCounts counts = counts_of(mixed.shape, sequence);
  return {.parameters = whole(counts.parameters),
          .active_parameters = whole(counts.active),
          .matmul_parameters = whole(counts.matmul),
          .training_flop_per_token = Flops(3.0 * mixed_forward(model, sequence, false)),
          .causal_training_flop_per_token = Flops(3.0 * mixed_forward(model, sequence, true)),
          .cache_bytes_per_token = word * sum_of_layers(mixed, [](const LayerForm& form) {
                                     return form.cached(1.0) + form.cached_far();
                                   })};
}

}  // namespace

double Transformer::seen_in_layers(std::int64_t tokens) const {
  return keys_seen(*this, tokens, false);
}

double parameter_count(const Transformer& model) {
  if (model.mixed) return counts_of(model.mixed->shape, 1).parameters;
  return parameters_with(model,
                         all_experts(model, model.experts ? number(model.experts->count) : 0.0));
}

Flops forward_flop_per_token(const Transformer& model, std::int64_t sequence, bool causal) {
  if (model.mixed) return Flops(mixed_forward(model, sequence, causal));
  const double head = number(model.head_dim) + number(model.value_dim);
  return Flops(2.0 * matmul_elements(model) +
               2.0 * number(model.heads) * head * keys_seen(model, sequence, causal));
}

ModelCounts count(const Transformer& model, std::int64_t sequence, Bytes word) {
  if (model.mixed) return mixed_counts(model, sequence, word);
  return {.parameters = whole(parameter_count(model)),
          .active_parameters = whole(parameters_with(model, active_experts(model))),
          .matmul_parameters = whole(matmul_elements(model)),
          .training_flop_per_token = 3.0 * forward_flop_per_token(model, sequence, false),
          .causal_training_flop_per_token = 3.0 * forward_flop_per_token(model, sequence, true),
          .cache_bytes_per_token = word * (number(model.layers) * cached_elements(model))};
}

double touched_experts(const Experts& experts, std::int64_t tokens) {
  const double count = number(experts.count);
  if (tokens == 1) return number(experts.used);  // to the last bit
  return count * (1.0 - std::pow(1.0 - number(experts.used) / count, number(tokens)));
}

}  // namespace dfsearch
