#pragma once
// The weights of a layer, or of an end of a model, on a rank, and the bytes of a micro-batch that
// fused kernels of training libraries keep for the backward pass (docs/truth.md, section 5;
// Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, 2022).

#include <array>

#include "graph/workloads/blocks/form_counts.hpp"
#include "graph/workloads/llm/transformer.hpp"
#include "model/memory/trained.hpp"

namespace dfsearch::memory {

inline constexpr double kWord = 2.0;

/// Bytes of a micro-batch; `routed` are the bytes of rows of experts, at an even load.
struct Amount {
  double bytes = 0.0;
  double routed = 0.0;

  Amount& operator+=(const Amount& other) {
    bytes += other.bytes;
    routed += other.routed;
    return *this;
  }
  friend Amount operator+(Amount a, const Amount& b) { return a += b; }
  friend Amount operator*(double factor, const Amount& a) {
    return {factor * a.bytes, factor * a.routed};
  }
};

/// How ranks share a micro-batch and the weights of a layer.
struct RankShares {
  double tokens = 1.0;    ///< tokens of a rank: samples * sequence / context ranks
  double sequence = 1.0;  ///< tokens that one token may see, over the context ranks
  double tensor = 1.0;
  double expert = 1.0;         ///< ranks that divide the experts, and send tokens to each other
  double expert_tensor = 1.0;  ///< ranks that divide one expert
  bool sequence_parallel = false;
  double encoded = 1.0;  ///< tokens of an encoder that a token may see
};

/// Properties of the software and of linears that bytes depend on.
struct KeptRules {
  bool eight_bits = false;    ///< inputs of linears are kept in 8 bits
  double unfused = 0.0;       ///< share of attention that is not fused, so that scores are kept
  double eager_widths = 0.0;  ///< values kept in addition to fused kernels, in model widths
  const Lora* lora = nullptr;
};

struct LayerMemory {
  // Elements of weights on a rank.
  double dense = 0.0;  ///< of a layer, or a norm, but not of experts
  double experts = 0.0;
  double adapters = 0.0;
  double end = 0.0;  ///< elements of the embedding, or of the head
  // Bytes of a micro-batch.
  double input = 0.0;
  Amount all;                         ///< with nothing computed again
  std::array<Amount, kModules> part;  ///< bytes of `all` not kept if a module is recomputed
  Amount every_second_product;        ///< kept if every second product is computed again
  Amount working;                     ///< temporary bytes of the backward pass
  // Elements at the head: of a row of logits, of all logits, and of the input of the head.
  double columns = 0.0, logits = 0.0, head_input = 0.0;

  [[nodiscard]] double weights() const { return dense + experts; }
  /// The bytes kept until the backward pass; `recompute` is not Unknown.
  [[nodiscard]] Amount kept(Recompute recompute) const;
};

/// If a model has several kinds of layers, `form` is the kind, and `model` is its view.
LayerMemory layer_memory(const Transformer& model, const RankShares& shares, const KeptRules& rules,
                         bool of_experts, const LayerForm* form = nullptr);
/// The memory of the embedding, and of the last norm with the head.
LayerMemory first_memory(const Transformer& model, const RankShares& shares);
LayerMemory last_memory(const Transformer& model, const RankShares& shares);

}  // namespace dfsearch::memory
