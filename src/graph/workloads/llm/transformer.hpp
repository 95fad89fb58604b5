#pragma once
// The published shape of a transformer, and counts that follow from it (docs/transformers.md).

#include <cstdint>
#include <memory>
#include <optional>

#include "base/units.hpp"
#include "graph/workloads/blocks/form_counts.hpp"

namespace dfsearch {

enum class Norm : std::uint8_t {
  Rms,    ///< one weight for each element
  Layer,  ///< a weight and a bias
};

enum class Bias : std::uint8_t {
  None,
  Qkv,  ///< of queries, keys and values
  All,  ///< also of the projection after attention and of dense MLPs
};

/// The experts that take the place of the MLP.
struct Experts {
  std::int64_t count = 1;
  std::int64_t used = 1;          ///< by a token
  std::int64_t mlp = 1;           ///< width of one
  std::int64_t shared = 0;        ///< further experts of this width that every token uses
  double capacity_factor = 1.0;   ///< rows that an expert has room for over rows of an even load
  std::int64_t dense_layers = 0;  ///< number of first layers that have an MLP instead
  bool router_bias = false;       ///< an element for each expert
  double imbalance = 1.0;         ///< rows of the busiest rank over the mean, when serving
  std::int64_t vectors = 0;       ///< elements of each beside its matrices: biases
  std::int64_t latent = 0;        ///< width of their inputs, if not `hidden`

  friend bool operator==(const Experts&, const Experts&) = default;
};

/// Multi-head latent attention: keys and values are made from short vectors, and so are queries if
/// `query_rank` is not 0.  A part of each key is the same for all heads.
struct LatentAttention {
  std::int64_t query_rank = 0;
  std::int64_t key_value_rank = 1;
  std::int64_t rope_dim = 1;  ///< the part of `head_dim` that carries the position, shared by keys

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// A transformer whose layers are equal, with two exceptions: dense layers may come before the
/// layers with experts, and some layers may see all tokens while the others have a window.  All
/// counts are at least 1 unless stated.
struct Transformer {
  std::int64_t hidden = 1;
  std::int64_t layers = 1;
  std::int64_t heads = 1;     ///< of queries
  std::int64_t kv_heads = 1;  ///< of keys and values, a divisor of `heads`; `heads` if latent
  std::int64_t head_dim = 1;  ///< of queries and keys
  std::int64_t value_dim = 1;
  std::int64_t mlp = 1;         ///< width of a dense MLP; without effect if no layer has one
  std::int64_t vocabulary = 0;  ///< 0: neither embedding nor head
  std::int64_t positions = 0;   ///< learned positions; 0: rotary positions
  std::int64_t window = 0;      ///< tokens that a query sees; 0: all
  std::int64_t full_attention_every = 0;  ///< one layer in this many has no window; 0: none
  Norm norm = Norm::Rms;
  Bias bias = Bias::None;
  bool gated = true;                  ///< an MLP of three matrices, else of two
  bool qk_norm = false;               ///< each head of queries and keys is normed
  bool post_norm = false;             ///< the outputs of attention and the MLP are normed as well
  bool tied = false;                  ///< the head has the weight of the embedding
  bool dropout = false;               ///< after the projection, after the MLP and on the scores
  std::int64_t layer_vectors = 0;     ///< elements of a layer that no other member counts
  std::int64_t end_vectors = 0;       ///< elements beside the layers that no other member counts
  std::int64_t encoder_sequence = 0;  ///< tokens of an encoder for a sample; 0: as the decoder
  std::optional<Experts> experts = std::nullopt;
  std::optional<LatentAttention> latent = std::nullopt;
  /// Layers of several kinds; the members above then describe the model as a whole, with its
  /// embedding and head.
  std::shared_ptr<const MixedLayers> mixed = nullptr;

  /// Elements of the weight of a norm over `width`.
  [[nodiscard]] std::int64_t norm_parameters(std::int64_t width) const {
    return norm == Norm::Layer ? 2 * width : width;
  }
  [[nodiscard]] std::int64_t mlp_matrices() const { return gated ? 3 : 2; }
  [[nodiscard]] std::int64_t dense_layers() const {
    return experts ? experts->dense_layers : layers;
  }
  /// The number of layers without a window in [begin, end), counted from 0.
  [[nodiscard]] std::int64_t full_layers(std::int64_t begin, std::int64_t end) const {
    if (window == 0) return end - begin;
    if (full_attention_every == 0) return 0;
    return end / full_attention_every - begin / full_attention_every;
  }
  /// Whether layers differ in the tokens that they see.
  [[nodiscard]] bool alternates() const { return window > 0 && full_attention_every > 0; }
  /// The model if all its layers were of the kind that sees `tokens` tokens; 0: all tokens.
  [[nodiscard]] Transformer seeing(std::int64_t tokens) const {
    Transformer model = *this;
    model.window = tokens;
    model.full_attention_every = 0;
    return model;
  }
  /// Tokens that an encoder has for `tokens` tokens of the decoder.
  [[nodiscard]] std::int64_t encoder_tokens(std::int64_t tokens) const {
    return encoder_sequence > 0 ? encoder_sequence : tokens;
  }
  /// The number of tokens that a query sees if `tokens` are before it, summed over the layers.
  [[nodiscard]] double seen_in_layers(std::int64_t tokens) const;

  friend bool operator==(const Transformer&, const Transformer&) = default;
};

/// Sizes of a model.
struct ModelCounts {
  std::int64_t parameters = 0;         ///< all stored parameters
  std::int64_t active_parameters = 0;  ///< used by a token, embedding included
  std::int64_t matmul_parameters =
      0;  ///< elements of the matrices that multiply a token, head included
  /// FLOP of matrix products for a token of a training sequence, attention over the full
  /// square; 0 where the workload has no sequence.
  Flops training_flop_per_token{};
  Flops causal_training_flop_per_token{};  ///< the same without masked pairs
  Bytes cache_bytes_per_token{};           ///< keys and values of all layers

  friend bool operator==(const ModelCounts&, const ModelCounts&) = default;
};

/// Limit of counts, 2^53: larger ones would not be exact as doubles.
inline constexpr double kMostParameters = 9007199254740992.0;

/// The parameters as a double, for shapes of any size.
double parameter_count(const Transformer& model);

/// Counts for a sequence of `sequence` tokens.  The model has fewer than kMostParameters.
ModelCounts count(const Transformer& model, std::int64_t sequence, Bytes word);

/// FLOP of matrix products for a token of a forward pass over the sequence, a third of the FLOP of
/// training.
Flops forward_flop_per_token(const Transformer& model, std::int64_t sequence, bool causal);

/// Experts of a layer that `tokens` tokens use together, on average if each chooses evenly.
double touched_experts(const Experts& experts, std::int64_t tokens);

}  // namespace dfsearch
