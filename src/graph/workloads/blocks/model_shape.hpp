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

  /// Names of the blocks, as "attention+moe"; `w` behind them if a query sees a window, "encoder"
  /// before them in an encoder.
  [[nodiscard]] std::string text() const;
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// A list of layers between an embedding and a head, which may be missing.
struct Stack {
  std::string name;  ///< "text", "encoder", "vision", "mtp"
  std::int64_t hidden = 1;
  std::int64_t vocabulary = 0;  ///< 0: no embedding
  std::int64_t embedding = 0;   ///< elements of a row of the embedding
  std::int64_t positions = 0;   ///< learned ones, of rows of `position_width` elements
  std::int64_t position_width = 0;
  std::int64_t norm = 0;  ///< elements of the weights of a norm
  double tables = 0.0;    ///< elements beside the embedding, looked up for each token
  bool has_head = false;
  bool tied = false;                  ///< the head has the weight of the embedding
  bool dropout = false;               ///< in training
  std::vector<Linear> linears;        ///< beside the layers
  double vectors = 0.0;               ///< further elements beside the layers, norms among them
  std::vector<LayerKind> kinds;       ///< each once
  std::vector<std::uint16_t> layers;  ///< the index of the kind of each layer

  /// "3x(mla+dense) 58x(mla+moe)".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const Stack&, const Stack&) = default;
};

/// The stack of text, or of a model for images alone its only one, comes first.
struct ModelShape {
  std::vector<Stack> stacks;
  Stack prediction;           ///< modules that predict further tokens (MTP); no layers: none
  std::int64_t sequence = 1;  ///< tokens that it takes

  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// Sums over the stacks, without MTP but for `prediction`.  Elements and FLOP, not bytes.
struct ShapeCounts {
  double parameters = 0.0;  ///< all that is stored
  double prediction = 0.0;  ///< parameters of MTP modules
  double active = 0.0;      ///< parameters that a token uses, all of the embedding included
  double matmul = 0.0;      ///< of matrices that a token is multiplied with, the head's too
  double cache = 0.0;       ///< elements that a token of the context adds
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

/// Counts for a sequence of this length.
ShapeCounts counts_of(const ModelShape& model, std::int64_t sequence);

/// Runs of equal layers, those that repeat in brackets: "12 x (3 deltanet+moe, 1 attention+moe)".
/// Totals of each kind where this has more than eight runs: "23 mamba2, 23 moe, 6 attention in an
/// order of their own".
std::string layer_summary(const Stack& stack);

}  // namespace dfsearch
