#pragma once
// A model whose layers are of several kinds. A layer may have attention, an MLP, experts and blocks
// with a state; each kind has the equations of its blocks.
//
// The model is a list of kinds. Prefix counts of each kind give the sums over a range of layers, so
// computing the cost of a stage takes no longer than in a model of one kind.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/workloads/blocks/form_counts.hpp"
#include "graph/workloads/blocks/model_shape.hpp"
#include "graph/workloads/llm/transformer.hpp"

namespace dfsearch {

/// A kind of layer, by the quantities that the equations use.
struct LayerForm {
  std::string name;  ///< "mamba2+moe"
  /// The parts of the layer that a transformer has, including the window of attention; the members
  /// below describe the other parts.
  Transformer view;
  bool has_attention = false;
  bool has_mlp = false;  ///< a dense MLP
  bool has_experts = false;
  bool causal = true;
  bool caches = true;        ///< whether it caches keys and values
  bool makes_keys = true;    ///< false: it uses the keys and values of an earlier layer
  bool makes_values = true;  ///< false: values are the keys
  bool encodes = false;      ///< it is a layer of the encoder
  std::optional<Block> cross = std::nullopt;  ///< attention to the output of an encoder
  // Compressed attention, whose matrices are in `linears`.  Beside its window a query sees
  // compressed keys, each of which stands for `rate` tokens; if `rate` is 0, there are none.  The
  // query sees `chosen` of these keys, or all of them if `chosen` is 0.
  bool is_compressed = false;
  std::int64_t rate = 0, chosen = 0;
  std::int64_t groups = 1;  ///< groups of the outputs of compressed attention
  double norms = 2.0;
  double halves = 2.0;  ///< parts of the layer, each with a residual connection

  std::vector<Block> scans;     ///< blocks with a state or a convolution
  std::vector<Linear> linears;  ///< matrices of the scans, and of other blocks not in `view`
  double kept = 0.0;            ///< elements of a token that scans keep for the backward pass
  double matrices = 0.0;        ///< elements that multiply a token, all blocks together
  double vectors = 0.0;         ///< elements that no matrix product touches, all blocks together
  double scan_vectors = 0.0;    ///< elements of the scans alone
  bool has_shared = false;      ///< a shared expert is among `linears`
  // Sums over the scans, for a token or a sequence (see BlockCounts).
  double scan = 0.0, delta = 0.0, scan_elementwise = 0.0;
  double channels = 0.0;  ///< of the convolutions
  double inner = 0.0;     ///< width of the outputs
  double conv_state = 0.0, state = 0.0;
  // Scores of an index: FLOP of a query and key, elements of the cache of a token.
  double index_pair = 0.0, index_cache = 0.0;
  std::int64_t topk = 0;  ///< tokens that the index chooses for a query; 0: all

  /// Elements that a token adds to the cache on one of `tensor` chips; `cached_far`: to the cache
  /// of compressed keys.
  [[nodiscard]] double cached(double tensor) const;
  [[nodiscard]] double cached_far() const;
  /// Tokens that a query sees; 0: all.
  [[nodiscard]] std::int64_t seen() const { return topk > 0 ? topk : view.window; }
  /// Tokens that a query sees in compressed keys; 0: all.
  [[nodiscard]] std::int64_t seen_far() const { return chosen * rate; }
  /// Elements of the matrices that multiply tokens of an encoder.
  [[nodiscard]] double encoder_matrices() const;
};

/// Most different windows of a model.
inline constexpr std::size_t kMostWindows = 3;

/// The software that runs the model: Megatron-LM divides groups of states among tensor ranks, vLLM
/// may repeat a group.
enum class Runner : std::uint8_t { Training, Serving };

struct MixedLayers {
  ModelShape shape;  ///< the stack of the text alone
  std::vector<LayerForm> forms;
  std::vector<std::uint16_t> layers;  ///< the form of each layer, as an index into `forms`
  std::vector<FormCounts> before;     ///< prefix counts: layers of each form before layer i
  std::vector<std::int64_t> windows;  ///< different numbers of tokens that queries see
  double tables = 0.0;                ///< elements beside the embedding, looked up for each token

  /// The index of a window in `windows`, counted from 1; 0 for all tokens.
  [[nodiscard]] std::size_t window_index(std::int64_t window) const;

  /// The number of layers of each form in [begin, end).
  [[nodiscard]] FormCounts counts(std::int64_t begin, std::int64_t end) const;
  /// Names of the blocks without measured rates: "mamba2, deltanet"; empty if there are none.
  [[nodiscard]] std::string unmeasured() const;
  /// The rule that tensor and context ranks break, with the name of the block; empty if they break
  /// none.
  [[nodiscard]] std::string misfit(std::int64_t tensor, std::int64_t context, Runner runner) const;
  /// The reason why the model cannot be divided into pipeline stages; empty if it can.
  [[nodiscard]] std::string unsplit() const;
  [[nodiscard]] std::string text() const { return shape.stacks.front().text(); }
  [[nodiscard]] bool attends() const;
  /// Whether no token sees later ones.
  [[nodiscard]] bool is_causal() const;
  [[nodiscard]] bool has_encoder() const;
};

/// A model of several kinds, or the reason why it is not supported: the name of a block without
/// equations.  The returned transformer has `mixed`; its other members describe the model as a
/// whole.
struct MixedModel {
  std::optional<Transformer> model;
  std::string why;
};
MixedModel mixed_model_of(const ModelShape& shape);

/// A matrix product of a token on one tensor rank.
struct FurtherProduct {
  double in = 0.0, out = 0.0;
  LinearRole role = LinearRole::Other;  ///< the role of the first matrix
};
/// The products of the matrices that `view` does not contain.  Matrices with the same input and the
/// same division form one product, except that each matrix divided by rows is a product of its own.
std::vector<FurtherProduct> further_products(const LayerForm& form, double tensor);

/// Elements of a token in the all-to-alls before and after the scans, which turn a division by
/// tokens into one by heads and back.  `ranks` tensor and context ranks divide the heads
/// (Megatron-LM's context parallelism of Mamba).
double shifted_elements(const LayerForm& form, double ranks);

/// Elements of a token in all-reduces among tensor ranks within the scans: step sizes of Mamba.
double summed_elements(const LayerForm& form);

}  // namespace dfsearch
