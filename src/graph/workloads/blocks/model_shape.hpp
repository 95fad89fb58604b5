#pragma once
// A model as stacks of layers, layers as blocks (block.hpp), and counts that follow from them.

#include <cstdint>
#include <string>
#include <vector>

#include "graph/workloads/blocks/block.hpp"

namespace dfsearch {

struct LayerKind {
  std::vector<Block> blocks;
  std::int64_t norms = 2;    ///< of the width of the stack
  std::int64_t vectors = 0;  ///< further elements that no matrix product touches
  bool owns = true;          ///< false: it reuses the weights of an earlier layer
  bool encodes = false;      ///< of an encoder, whose layers precede the decoder

  /// Names of the blocks, such as "attention+moe", with "encoder" before them in an encoder and `w`
  /// behind them if queries see a window.
  [[nodiscard]] std::string text() const;
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// A list of layers between an embedding and a head, which may be missing.
struct Stack {
  std::string name;  ///< "text", "encoder", "vision", "mtp"
  std::int64_t hidden = 1;
  std::int64_t vocabulary = 0;  ///< 0: no embedding
  std::int64_t embedding = 0;   ///< elements of a row of the embedding
  std::int64_t positions = 0;   ///< learned positions, each a row of `position_width` elements
  std::int64_t position_width = 0;
  std::int64_t norm = 0;  ///< elements of the weights of a norm
  double tables = 0.0;    ///< elements beside the embedding, looked up for each token
  bool has_head = false;
  bool tied = false;                  ///< the head has the weight of the embedding
  bool dropout = false;               ///< whether training uses dropout
  std::vector<Linear> linears;        ///< matrices beside the layers
  double vectors = 0.0;               ///< further elements beside the layers, norms among them
  std::vector<LayerKind> kinds;       ///< the different kinds of layers
  std::vector<std::uint16_t> layers;  ///< the index of the kind of each layer

  /// "3x(mla+dense) 58x(mla+moe)".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const Stack&, const Stack&) = default;
};

/// The first stack is the stack of text, or the only stack of a model for images alone.
struct ModelShape {
  std::vector<Stack> stacks;
  Stack prediction;           ///< modules that predict further tokens (MTP); no layers: none
  std::int64_t sequence = 1;  ///< tokens that it takes

  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// Sums over the stacks; only `prediction` counts MTP modules.  Elements and FLOP, not bytes.
struct ShapeCounts {
  double parameters = 0.0;  ///< all stored parameters
  double prediction = 0.0;  ///< parameters of MTP modules
  double active = 0.0;      ///< parameters that a token uses, with the whole embedding
  double matmul = 0.0;      ///< elements of the matrices that multiply a token, head included
  double cache = 0.0;       ///< elements of the cache that a token of the context adds
  double window_cache = 0.0;
  double conv_state = 0.0;
  double state = 0.0;
  double attention_flop = 0.0;  ///< of a token forward, without masked pairs
  double scan_flop = 0.0;
  double scan_flop_useful = 0.0;
  double scan_elementwise = 0.0;
  double index_flop = 0.0;  ///< scores of indexes, without masked pairs
  double kept = 0.0;        ///< elements of a token that a backward pass needs, norms left out
};

/// Counts for a sequence of `sequence` tokens.
ShapeCounts counts_of(const ModelShape& model, std::int64_t sequence);

/// Runs of equal layers, with repeated runs in brackets: "12 x (3 deltanet+moe, 1 attention+moe)".
/// If there are more than eight runs, the totals of each kind instead: "23 mamba2, 23 moe, 6
/// attention in an order of their own".
std::string layer_summary(const Stack& stack);

}  // namespace dfsearch
