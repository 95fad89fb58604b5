// Every legal rule of every kernel, with numbers: a chip that reads an element that it has not
// fails the test, so no legal assignment reads rows that are not there.

#include <doctest/doctest.h>

#include <utility>

#include "graph/workloads/llm/transformer_graph.hpp"
#include "model/training/layouts.hpp"
#include "support/divided_layer.hpp"

namespace dfsearch::training {
namespace {

using test::DividedLayer;
using test::LayerShape;

LayerShape shape_of(const Transformer& model, std::int64_t tokens) {
  LayerShape shape{.heads = model.heads, .kv_heads = model.kv_heads, .tokens = tokens};
  if (model.experts) shape.experts = model.experts->count, shape.used = model.experts->used;
  return shape;
}

/// All axes of 2 and of 4 chips; where there are fewer heads of keys, they are copied.
void check_model(const Transformer& model, bool fused) {
  const TransformerPass pass{.tokens = 8, .fused = fused};
  const DataflowGraph graphs[] = {transformer_training_graph(model, pass),
                                  transformer_last_graph(model, pass, true)};
  for (const DataflowGraph& graph : graphs) {
    for (const std::int64_t chips : {2, 4}) {
      for (const Axis axis : {Axis::Tensor, Axis::Context, Axis::Expert}) {
        CAPTURE(static_cast<int>(axis));
        const AxisRules rules{.axis = axis,
                              .chips = chips,
                              .replicated_weights = true,
                              .heads = model.heads,
                              .kv_heads = model.kv_heads};
        CHECK(DividedLayer(graph, rules, shape_of(model, pass.tokens)).check() > 100);
      }
    }
  }
}

Transformer small(std::int64_t heads, std::int64_t kv_heads) {
  return {.hidden = 8,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = 2,
          .value_dim = 3,
          .mlp = 12,
          .vocabulary = 8};
}

}  // namespace

TEST_CASE("divided dense layers compute what whole ones compute") {
  for (const auto& [heads, kv_heads] : {std::pair{4, 4}, {4, 2}, {8, 2}, {4, 1}}) {
    CAPTURE(heads);
    CAPTURE(kv_heads);
    Transformer model = small(heads, kv_heads);
    check_model(model, true);
    model.qk_norm = true;
    check_model(model, false);
    model.qk_norm = model.gated = false;
    model.dropout = true;
    model.positions = 8;
    check_model(model, true);
    check_model(model, false);
  }
}

// Two heads of queries of three that share a key would be on one chip, the third with one of
// another key on the next.
TEST_CASE("heads are not divided where a chip would need parts of the keys of others") {
  const DataflowGraph graph = transformer_training_graph(small(6, 2), {.tokens = 6});
  const auto offers_heads = [&](const AxisRules& axis) {
    bool offers = false;
    for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
      if (graph.kernels()[k].kind != KernelKind::Attention) continue;
      for (const LayoutRule& rule : legal_rules(graph, KernelId(k), axis)) {
        offers |= rule.divided == Loop::Outer;
      }
    }
    return offers;
  };
  CHECK(offers_heads({.chips = 2, .heads = 6, .kv_heads = 2}));
  CHECK_FALSE(offers_heads({.chips = 3, .heads = 6, .kv_heads = 2}));
  CHECK_FALSE(offers_heads({.chips = 4, .heads = 6, .kv_heads = 2}));
  CHECK(offers_heads({.chips = 6, .heads = 6, .kv_heads = 2}));
  CHECK(offers_heads({.axis = Axis::Context, .chips = 2, .heads = 6, .kv_heads = 2}));
  CHECK_FALSE(offers_heads({.axis = Axis::Context, .chips = 6, .heads = 6, .kv_heads = 2}));
}

TEST_CASE("divided layers with latents compute what whole ones compute") {
  Transformer model = small(4, 4);
  model.head_dim = 6;
  model.latent = LatentAttention{.query_rank = 8, .key_value_rank = 8, .rope_dim = 4};
  check_model(model, true);
  model.latent->query_rank = 0;
  check_model(model, true);
}

TEST_CASE("divided layers with experts compute what whole ones compute") {
  Transformer model = small(4, 2);
  model.experts = Experts{.count = 4, .used = 2, .mlp = 4, .shared = 1};
  check_model(model, true);
  model.gated = false;
  model.experts->shared = 0;
  model.experts->used = 4;
  check_model(model, true);
}

}  // namespace dfsearch::training
