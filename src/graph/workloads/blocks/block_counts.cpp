// Matrices, elements and work of each kind of blocks, as docs/transformers.md derives them.

#include <algorithm>
#include <cmath>

#include "base/counts.hpp"
#include "graph/workloads/blocks/block.hpp"

namespace dfsearch {
namespace {

using R = LinearRole;

/// A block whose counts are added up, and the width of its input.
struct Counter {
  const Block& block;
  std::int64_t hidden;
  BlockCounts counts;

  void linear(LinearRole role, std::int64_t in, std::int64_t out, bool bias = false,
              std::int64_t copies = 1, std::int64_t used = -1) {
    if (in > 0 && out > 0 && copies > 0) {
      counts.linears.push_back({in, out, bias, copies, used < 0 ? copies : used, role});
    }
  }
  /// Adds a convolution over `conv` tokens of `channels` channels: weights, elementwise work and
  /// state.
  void convolution(std::int64_t channels, bool bias) {
    const double c = number(channels), k = number(block.conv);
    counts.vectors += c * (k + (bias ? 1.0 : 0.0));
    counts.scan_elementwise += 2.0 * k * c;
    counts.conv_state += c * (k - 1.0);
  }
  /// Adds the scores of an index: queries made of `from` elements, and one key for each `rate`
  /// tokens.
  void index(std::int64_t from, std::int64_t key_from, std::int64_t key_width, std::int64_t rate) {
    linear(R::Index, from, block.index_heads * block.index_dim);
    linear(R::Index, key_from, key_width);
    const double pair = 2.0 * number(block.index_heads) * number(block.index_dim);
    counts.index.push_back({pair / number(rate), {}});
    counts.cache += number(block.index_dim) / number(rate);
  }

  void attention() {
    const Block& b = block;
    const std::int64_t queries = b.heads * b.dim, keys = b.kv * b.dim, values = b.kv * b.value;
    const std::int64_t out = b.heads * b.value;
    linear(R::Query, hidden, queries, b.bias != 0);
    if (b.kv_shared == 0) {
      linear(R::Key, hidden, keys, b.k_bias != 0);
      if (b.k_is_v == 0) linear(R::Value, hidden, values, b.bias != 0);
    }
    if (b.project != 0) linear(R::Output, out, hidden, b.out_bias != 0);
    if (b.gate == kElementGate) linear(R::OutputGate, hidden, out, b.gate_bias != 0);
    if (b.gate == kHeadGate) linear(R::OutputGate, hidden, b.heads, b.gate_bias != 0);
    norm_of_heads();
    if (b.sinks != 0) counts.vectors += number(b.heads);
    const std::int64_t window = b.topk > 0 ? b.topk : b.window;
    const bool causal = b.causal != 0 && b.cross == 0;
    counts.attention.push_back({2.0 * number(b.heads) * number(b.dim + b.value),
                                {.causal = causal, .window = window, .chunk = b.chunk}});
    const double row = number(keys + values);
    counts.kept = number(queries + out) + row + (b.gate != kNoGate ? number(out) : 0.0);
    if (b.index_heads > 0) {
      index(hidden, hidden, b.index_dim, 1);
      if (b.index_weights != 0) linear(R::Index, hidden, b.index_heads);
      counts.vectors += 2.0 * number(b.index_dim);
    }
    if (b.kv_shared != 0 || b.no_cache != 0 || b.causal == 0) return;
    const std::int64_t kept = b.window > 0 ? b.window : b.chunk;
    (kept > 0 ? counts.window_cache : counts.cache) += kept > 0 ? row * number(kept) : row;
  }

  void norm_of_heads() {
    const Block& b = block;
    const double shapes = b.qk_norm_bias != 0 ? 2.0 : 1.0;
    const double q = number(b.heads) * number(b.dim);
    const double k = b.kv_shared != 0 ? 0.0 : number(b.kv) * number(b.dim);
    if (b.qk_norm == kPerHead) {
      counts.vectors += shapes * number(b.dim) * (b.kv_shared != 0 ? 1.0 : 2.0);
    } else if (b.qk_norm != kNoQkNorm) {
      counts.vectors += shapes * (q + k);
    }
  }

  void mla() {
    const Block& b = block;
    const std::int64_t head = b.nope + b.rope;
    const std::int64_t query_from = b.q_rank > 0 ? b.q_rank : hidden;
    linear(R::Latent, hidden, b.q_rank, b.bias != 0);
    linear(R::Query, query_from, b.heads * head);
    linear(R::Latent, hidden, b.kv_rank + b.rope, b.bias != 0);
    linear(R::KeyValue, b.kv_rank, b.heads * (b.nope + b.value));
    linear(R::Output, b.heads * b.value, hidden, b.bias != 0);
    if (b.gate != 0) linear(R::OutputGate, hidden, b.heads * b.value);
    counts.vectors += number(b.q_rank + b.kv_rank);
    counts.attention.push_back(
        {2.0 * number(b.heads) * number(head + b.value), {.window = b.topk}});
    counts.cache += number(b.kv_rank + b.rope);
    counts.kept = number(2 * b.q_rank + 2 * b.kv_rank + b.rope) +
                  number(b.heads) * number(head + b.nope + b.value + b.value);
    if (b.index_heads == 0) return;
    index(query_from, hidden, b.index_dim, 1);
    if (b.index_weights != 0) linear(R::Index, hidden, b.index_heads);
    counts.vectors += 2.0 * number(b.index_dim);
  }

  void compressed() {
    const Block& b = block;
    const std::int64_t all = b.heads * b.dim;
    linear(R::Latent, hidden, b.q_rank);
    linear(R::Query, b.q_rank, all);
    linear(R::Latent, hidden, b.dim);
    linear(R::Output, all / b.o_groups, b.o_rank, false, b.o_groups);
    linear(R::Output, b.o_groups * b.o_rank, hidden);
    counts.vectors += number(b.q_rank + b.dim + b.heads);
    counts.window_cache += number(b.window) * number(b.dim);
    const double pair = 4.0 * number(b.heads) * number(b.dim);
    counts.attention.push_back({pair, {.window = b.window}});
    counts.kept = number(2 * b.q_rank + 2 * all + b.dim + b.o_groups * b.o_rank);
    if (b.rate == 0) return;
    const std::int64_t shares = b.topk > 0 ? 2 : 1;
    linear(R::Latent, hidden, shares * b.dim, false, 2);
    counts.vectors += number(shares * b.dim * b.rate + b.dim);
    counts.cache += number(b.dim) / number(b.rate);
    counts.attention.push_back({pair, {.window = b.topk, .rate = b.rate}});
    if (b.topk == 0) return;
    linear(R::Index, hidden, 2 * b.index_dim);
    linear(R::Index, hidden, b.index_heads);
    index(b.q_rank, hidden, 2 * b.index_dim, b.rate);
    counts.vectors += number(2 * b.index_dim * b.rate + b.index_dim);
  }

  void mamba1() {
    const Block& b = block;
    const double inner = number(b.inner), state = number(b.state);
    const std::int64_t steps = b.dt_rank + 2 * b.state;
    linear(R::In, hidden, 2 * b.inner, b.bias != 0);
    linear(R::Steps, b.inner, steps);
    linear(R::In, b.dt_rank, b.inner, true);
    linear(R::Out, b.inner, hidden, b.bias != 0);
    convolution(b.inner, b.conv_bias != 0);
    counts.vectors += inner * state + inner + (b.norm != 0 ? number(steps) : 0.0);
    counts.scan_elementwise += 9.0 * inner * state;
    counts.state = inner * state;
    counts.kept = 5.0 * inner + number(steps);
  }

  void mamba2() {
    const Block& b = block;
    const std::int64_t inner = b.heads * b.dim, mixed = b.groups * b.state;
    const std::int64_t channels = inner + 2 * mixed;
    const double state = number(inner) * number(b.state);
    linear(R::In, hidden, inner + channels + b.heads, b.bias != 0);
    linear(R::Out, inner, hidden, b.out_bias != 0);
    convolution(channels, b.conv_bias != 0);
    counts.vectors += number(3 * b.heads) + (b.norm != 0 ? number(inner) : 0.0);
    counts.scan = 2.0 * number(b.chunk) * number(mixed + inner) + 4.0 * state;
    counts.scan_useful = 7.0 * state;
    counts.state = state;
    counts.kept = number(inner + channels + b.heads + channels + inner);
  }

  /// Adds the chunked delta rule: products within a chunk, the inverse of a triangular matrix, and
  /// three products with the state.
  void delta_rule(std::int64_t heads, std::int64_t k_dim, std::int64_t v_dim) {
    const double k = number(k_dim), v = number(v_dim), c = number(kDeltaChunk);
    counts.scan =
        number(heads) * (c * (6.0 * k + 4.0 * v) + 6.0 * k * v + std::floor(2.0 * c * c / 3.0));
    counts.state = number(heads) * k * v;
    counts.scan_useful = 8.0 * counts.state;
  }

  void deltanet() {
    const Block& b = block;
    const std::int64_t keys = b.k_heads * b.k_dim, values = b.v_heads * b.v_dim;
    linear(R::In, hidden, 2 * keys + 2 * values);
    linear(R::In, hidden, 2 * b.v_heads);
    linear(R::Out, values, hidden);
    convolution(2 * keys + values, false);
    counts.vectors += number(2 * b.v_heads + b.v_dim);
    delta_rule(b.v_heads, b.k_dim, b.v_dim);
    counts.kept = number(4 * keys + 4 * values + 2 * b.v_heads);
  }

  void kda() {
    const Block& b = block;
    const std::int64_t inner = b.heads * b.dim;
    linear(R::In, hidden, inner, false, 3);
    linear(R::Latent, hidden, b.dim);
    linear(R::In, b.dim, inner);
    linear(R::In, hidden, b.heads);
    if (b.full_gate != 0) {
      linear(R::In, hidden, inner);
    } else {
      linear(R::Latent, hidden, b.dim);
      linear(R::In, b.dim, inner);
    }
    linear(R::Out, inner, hidden);
    convolution(3 * inner, false);
    counts.vectors += number(b.heads + inner + b.dim);
    delta_rule(b.heads, b.dim, b.dim);
    counts.kept = number(9 * inner + b.heads);
  }

  void lightning() {
    const Block& b = block;
    const std::int64_t inner = b.heads * b.dim;
    linear(R::In, hidden, 3 * inner);
    linear(R::In, hidden, inner);
    linear(R::Out, inner, hidden);
    counts.vectors += number(inner);
    counts.state = number(inner) * number(b.dim);
    counts.scan = 4.0 * number(b.chunk) * number(inner) + 4.0 * counts.state;
    counts.scan_useful = 4.0 * counts.state;
    counts.kept = 5.0 * number(inner);
  }

  void shortconv() {
    linear(R::In, hidden, 3 * hidden, block.bias != 0);
    linear(R::Out, hidden, hidden, block.bias != 0);
    convolution(hidden, block.bias != 0);
    counts.scan_elementwise += 2.0 * number(hidden);  // two gates
    counts.kept = 5.0 * number(hidden);
  }

  void recurrence() {
    counts.conv_state = number(block.conv_state);
    counts.state = number(block.state);
    counts.scan = number(block.flops);
    counts.scan_useful = number(block.flops);
    counts.scan_elementwise = number(block.elementwise);
    counts.kept = number(block.kept);
  }

  /// The roles of the two products of an MLP.
  struct MlpRoles {
    LinearRole up, down;
  };
  void mlp(MlpRoles roles, std::int64_t in, std::int64_t width, bool bias, std::int64_t copies,
           std::int64_t used) {
    const std::int64_t into = block.gated != 0 ? 2 : 1;
    linear(roles.up, in, width, bias, into * copies, into * used);
    linear(roles.down, width, in, bias, copies, used);
  }

  void dense() {
    mlp({R::Up, R::Down}, hidden, block.width, block.bias != 0, block.copies, block.copies);
    counts.kept = number(block.copies * block.width) * (block.gated != 0 ? 3.0 : 2.0);
  }

  void moe() {
    const Block& b = block;
    const std::int64_t in = b.latent > 0 ? b.latent : hidden;
    const std::int64_t choices = b.experts + b.zero;
    linear(R::Router, hidden, choices, b.router_linear_bias != 0);
    if (b.router_bias != 0) counts.vectors += number(choices);
    if (b.latent > 0) {
      linear(R::ExpertLatent, hidden, in, b.latent_bias != 0);
      linear(R::ExpertLatent, in, hidden, b.latent_bias != 0);
    }
    mlp({R::ExpertUp, R::ExpertDown}, in, b.width, b.bias != 0, b.experts, b.used);
    mlp({R::SharedUp, R::SharedDown}, hidden, b.shared, b.shared_bias != 0, 1, 1);
    if (b.shared_gate != 0) linear(R::SharedGate, hidden, 1);
    counts.kept = number(b.used) * number(in + 3 * b.width) + number(3 * b.shared + b.experts);
  }
};

}  // namespace

double keys_seen(const Sight& sight, double sequence) {
  const double s = sequence / number(sight.rate);
  if (sight.chunk > 0 && number(sight.chunk) < s) return (number(sight.chunk) + 1.0) / 2.0;
  const double most = sight.window > 0 ? std::min(number(sight.window), s) : s;
  if (!sight.causal) return most;
  // The first queries see fewer than the window.
  return (most * (most + 1.0) / 2.0 + (s - most) * most) / s;
}

BlockCounts counts_of(const Block& block, std::int64_t hidden) {
  Counter counter{.block = block, .hidden = hidden, .counts = {}};
  counter.counts.linears = block.linears;
  counter.counts.vectors = number(block.extra);
  switch (block.kind) {
    case BlockKind::Attention:
      counter.attention();
      break;
    case BlockKind::Mla:
      counter.mla();
      break;
    case BlockKind::Compressed:
      counter.compressed();
      break;
    case BlockKind::Mamba1:
      counter.mamba1();
      break;
    case BlockKind::Mamba2:
      counter.mamba2();
      break;
    case BlockKind::Deltanet:
      counter.deltanet();
      break;
    case BlockKind::Kda:
      counter.kda();
      break;
    case BlockKind::Lightning:
      counter.lightning();
      break;
    case BlockKind::Shortconv:
      counter.shortconv();
      break;
    case BlockKind::Recurrence:
      counter.recurrence();
      break;
    case BlockKind::Dense:
      counter.dense();
      break;
    case BlockKind::Moe:
      counter.moe();
      break;
    case BlockKind::Extra:
      break;
  }
  return std::move(counter.counts);
}

}  // namespace dfsearch
