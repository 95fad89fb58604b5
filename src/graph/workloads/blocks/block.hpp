#pragma once
// Blocks of a layer: the parts of a model that mix tokens (attention, state spaces, delta rules) or
// channels (MLPs, experts), by their published shapes.
//
// A block has matrices, elements that no matrix product touches, and counts for a token: FLOP of
// attention, of a scan and of scores of an index, elements of the cache and of the state.  All
// counts are of elements and FLOP, not bytes; docs/transformers.md has the equations.
//
// [1] Gu, Dao: "Mamba: Linear-Time Sequence Modeling with Selective State Spaces", 2023.
// [2] Dao, Gu: "Transformers are SSMs", 2024, section 6.
// [3] Yang, Kautz, Hatamizadeh: "Gated Delta Networks", 2024; "Kimi Linear", 2025.
// [4] "MiniMax-01: Scaling Foundation Models with Lightning Attention", 2025.
// [5] "DeepSeek-V3.2", 2025.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/words.hpp"

namespace dfsearch {

enum class BlockKind : std::uint8_t {
  Attention,   ///< softmax attention; heads of queries may share keys and values
  Mla,         ///< multi-head latent attention
  Compressed,  ///< attention to a window and to tokens that are compressed `rate` to one
  Mamba1,      ///< selective state space [1]
  Mamba2,      ///< state space duality [2]
  Deltanet,    ///< gated delta rule [3]
  Kda,         ///< Kimi delta attention: a delta rule with a decay for each channel [3]
  Lightning,   ///< linear attention with a fixed decay [4]
  Shortconv,   ///< gated short convolution
  Recurrence,  ///< any mixer with a state of fixed size, with given matrices
  Dense,       ///< MLP
  Moe,         ///< experts and a router
  Extra,       ///< given matrices and elements
};
constexpr auto words(BlockKind) {
  return named<BlockKind>("attention", "mla", "compressed", "mamba1", "mamba2", "deltanet", "kda",
                          "lightning", "shortconv", "recurrence", "dense", "moe", "extra");
}

/// The place of a matrix in its block, which decides how tensor ranks divide it and the number
/// format that it has.
enum class LinearRole : std::uint8_t {
  Other,
  Query,
  Key,
  Value,
  KeyValue,  ///< makes keys and values from latents
  Latent,    ///< makes the latents of queries, or of keys and values, from the input
  Output,
  OutputGate,  ///< of attention
  Index,
  In,     ///< into a scan
  Steps,  ///< of a selective scan: step sizes, inputs and outputs of the state
  Out,    ///< of a scan
  Up,     ///< of an MLP, the gate included
  Down,
  Router,
  ExpertUp,
  ExpertDown,
  ExpertLatent,  ///< to and from the width of the experts' inputs
  SharedUp,      ///< of experts that every token uses
  SharedDown,
  SharedGate,
};

/// How tensor ranks divide a matrix (Shoeybi et al., Megatron-LM, 2019).
enum class LinearSplit : std::uint8_t { Whole, Columns, Rows };
/// How tensor ranks divide a matrix of this role; the division of experts among ranks is not
/// included.
constexpr LinearSplit linear_split(LinearRole role) {
  using R = LinearRole;
  switch (role) {
    case R::Query:
    case R::Key:
    case R::Value:
    case R::KeyValue:
    case R::OutputGate:
    case R::In:
    case R::Up:
    case R::ExpertUp:
    case R::SharedUp:
      return LinearSplit::Columns;
    case R::Output:
    case R::Steps:
    case R::Out:
    case R::Down:
    case R::ExpertDown:
    case R::SharedDown:
      return LinearSplit::Rows;
    default:
      return LinearSplit::Whole;
  }
}

/// Matrices of one shape.
struct Linear {
  std::int64_t in = 0, out = 0;
  bool bias = false;
  std::int64_t copies = 1;  ///< number of stored matrices
  std::int64_t used = 1;    ///< number that a token uses
  LinearRole role = LinearRole::Other;

  friend bool operator==(const Linear&, const Linear&) = default;
};

/// Parameters of a block of any kind.  Parameters that are no row of parameters_of() are 0.
struct Block {
  BlockKind kind = BlockKind::Extra;
  std::int64_t heads = 0, kv = 0, dim = 0, value = 0;
  std::int64_t bias = 0, out_bias = 0, k_bias = 0, gate = 0, gate_bias = 0;
  std::int64_t qk_norm = 0, qk_norm_bias = 0, sinks = 0;
  std::int64_t window = 0;  ///< tokens that a query sees; 0: all
  std::int64_t chunk = 0;  ///< attention: tokens that a query sees; scans: tokens processed at once
  std::int64_t topk = 0;   ///< tokens that an index chooses for a query; 0: all
  std::int64_t causal = 0, cross = 0, no_cache = 0, kv_shared = 0, k_is_v = 0, project = 0;
  std::int64_t index_heads = 0, index_dim = 0, index_topk = 0, index_weights = 0;
  std::int64_t q_rank = 0, kv_rank = 0, nope = 0, rope = 0, o_groups = 0, o_rank = 0, rate = 0;
  std::int64_t inner = 0, state = 0, groups = 0, conv = 0, dt_rank = 0, conv_bias = 0, norm = 0;
  std::int64_t k_heads = 0, v_heads = 0, k_dim = 0, v_dim = 0, full_gate = 0;
  std::int64_t conv_state = 0, flops = 0, elementwise = 0, kept = 0;
  std::int64_t width = 0, gated = 0, copies = 0, experts = 0, used = 0, zero = 0, latent = 0;
  std::int64_t shared = 0, shared_gate = 0, shared_bias = 0, latent_bias = 0, router_bias = 0;
  std::int64_t router_linear_bias = 0;
  std::int64_t extra = 0;       ///< further elements
  std::vector<Linear> linears;  ///< further matrices

  friend bool operator==(const Block&, const Block&) = default;
};

/// Words of the parameters `gate` and `qk_norm`, by their values.
inline constexpr std::string_view kGates[] = {"none", "element", "head"};
inline constexpr std::string_view kQkNorms[] = {"none", "head", "heads", "full"};
enum Gate : std::int64_t { kNoGate, kElementGate, kHeadGate };
enum QkNorm : std::int64_t { kNoQkNorm, kPerHead, kAllHeads, kFullWidth };

struct BlockParameter {
  std::string_view name;
  std::int64_t Block::*member = nullptr;
  bool required = false;
  std::int64_t preset = 0;
  std::int64_t Block::*as = nullptr;             ///< the member whose value is the default
  std::span<const std::string_view> words = {};  ///< names of the values, if any
};
/// The parameters of a kind, without `linears` and `extra`, which all kinds have.  A name with a
/// dot is a key of a map.  A parameter comes after the parameter whose value is its default.
std::span<const BlockParameter> parameters_of(BlockKind kind);

/// The keys that a query of a sequence sees.
struct Sight {
  bool causal = true;
  std::int64_t window = 0;  ///< 0: all
  std::int64_t chunk = 0;   ///< 0: no chunks
  std::int64_t rate = 1;    ///< tokens for each key

  friend bool operator==(const Sight&, const Sight&) = default;
};
/// Mean number of keys that a query of a sequence of `sequence` tokens sees.
double keys_seen(const Sight& sight, double sequence);

/// FLOP of a pair of a query and a key, and the keys that a query sees.
struct Pairs {
  double flop = 0.0;
  Sight sight;
};

/// Tokens in a chunk of the delta rule.
inline constexpr std::int64_t kDeltaChunk = 64;

/// Counts of a block.  FLOP are for a token of a forward pass.
struct BlockCounts {
  std::vector<Linear> linears;
  double vectors = 0.0;           ///< elements that no matrix product touches
  std::vector<Pairs> attention;   ///< products of queries and keys, and of scores and values
  std::vector<Pairs> index;       ///< scores of an index
  double scan = 0.0;              ///< FLOP of matrix products of a scan, as executed in chunks
  double scan_useful = 0.0;       ///< without the work that chunks add
  double scan_elementwise = 0.0;  ///< FLOP that are no matrix products
  double cache = 0.0;             ///< elements of the cache that a token of the context adds
  double window_cache = 0.0;      ///< elements of the cache of a sequence in layers with a window
  double conv_state = 0.0;        ///< elements of a sequence, in the type of the model
  double state = 0.0;             ///< elements of a sequence, mostly in 32 bits
  double kept = 0.0;              ///< elements of a token that a backward pass needs
};

/// Counts of a block between layers of width `hidden`.
BlockCounts counts_of(const Block& block, std::int64_t hidden);

}  // namespace dfsearch
