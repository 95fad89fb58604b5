// Models of several kinds of layers: the parts of a form against the counts of its blocks, ranges
// of layers, and the rules that tensor and context ranks break.

#include "graph/workloads/blocks/mixed_layers.hpp"

#include <doctest/doctest.h>

#include "graph/workloads/blocks/model_shape.hpp"
#include "graph/workloads/blocks/prediction_layers.hpp"
#include "support/mixed_models.hpp"

namespace dfsearch {
namespace {

LayerKind kind_of(std::vector<Block> blocks, std::int64_t norms = 2) {
  return {.blocks = std::move(blocks), .norms = norms};
}

Block mamba2(std::int64_t heads, std::int64_t groups) {
  Block block{.kind = BlockKind::Mamba2, .heads = heads, .dim = 64};
  block.groups = groups;
  block.state = 128;
  block.conv = 4;
  block.chunk = 128;
  block.norm = 1;
  return block;
}

const Block kDense{.kind = BlockKind::Dense, .width = 1024, .gated = 1, .copies = 1};
const Block kAttention{.kind = BlockKind::Attention,
                       .heads = 32,
                       .kv = 2,
                       .dim = 128,
                       .value = 128,
                       .causal = 1,
                       .project = 1};

const MixedLayers& layers_of(const MixedModel& mixed) {
  CAPTURE(mixed.why);
  REQUIRE(mixed.model);
  return *mixed.model->mixed;
}

TEST_CASE("the parts of a form have the matrices of its blocks") {
  std::mt19937_64 random(7);
  for (int world = 0; world < 300; ++world) {
    CAPTURE(world);
    const Transformer model = test::random_mixed_model(random, 5);
    for (std::size_t i = 0; i < model.mixed->forms.size(); ++i) {
      const LayerForm& form = model.mixed->forms[i];
      CAPTURE(form.name);
      double all = 0.0;
      for (const Block& block : model.mixed->shape.stacks[0].kinds[i].blocks) {
        for (const Linear& linear : counts_of(block, model.hidden).linears) {
          all += static_cast<double>(linear.in * linear.out * linear.used);
        }
      }
      double parts = 0.0;
      for (const FurtherProduct& product : further_products(form, 1.0)) {
        parts += product.in * product.out;
      }
      Transformer view = form.view;
      view.experts = form.has_experts ? view.experts : std::nullopt;
      if (form.has_attention && !form.is_compressed) {
        // A model of attention and an MLP of width 1 for each matrix.
        Transformer alone = view;
        alone.experts.reset();
        alone.mlp = 1;
        std::int64_t left_out = alone.mlp_matrices() * alone.hidden;
        if (!form.makes_keys) left_out += alone.hidden * alone.kv_heads * alone.head_dim;
        if (!form.makes_values) left_out += alone.hidden * alone.kv_heads * alone.value_dim;
        parts += static_cast<double>(count(alone, 1, Bytes(2.0)).matmul_parameters - left_out);
      }
      if (form.has_mlp) {
        parts += static_cast<double>(view.mlp_matrices() * view.hidden * view.mlp);
      }
      if (form.has_experts) {
        const Experts& experts = *view.experts;
        parts += static_cast<double>(view.hidden * experts.count +
                                     view.mlp_matrices() * view.hidden * experts.mlp *
                                         (experts.used + experts.shared));
      }
      CHECK(parts == all);
    }
  }
}

TEST_CASE("numbers of layers in a range are those of its layers") {
  std::mt19937_64 random(11);
  for (int world = 0; world < 50; ++world) {
    const Transformer model = test::random_mixed_model(random, 12);
    const MixedLayers& mixed = *model.mixed;
    for (std::int64_t begin = 0; begin <= model.layers; ++begin) {
      for (std::int64_t end = begin; end <= model.layers; ++end) {
        FormCounts plain{};
        for (std::int64_t i = begin; i < end; ++i) {
          ++plain[mixed.layers[static_cast<std::size_t>(i)]];
        }
        REQUIRE(mixed.counts(begin, end) == plain);
      }
    }
  }
}

TEST_CASE("a model of one kind is one as well, with all counts of the shape") {
  const ModelShape shape =
      test::shape_of_kinds({kind_of({kAttention, mamba2(64, 8), kDense})}, 2048, {0, 0, 0});
  const MixedModel mixed = mixed_model_of(shape);
  const LayerForm& form = layers_of(mixed).forms.front();
  CHECK(form.has_attention);
  CHECK(form.has_mlp);
  CHECK(form.halves == 2.0);
  CHECK(form.state == 64.0 * 64.0 * 128.0);
  CHECK(form.channels == 64.0 * 64.0 + 2.0 * 8.0 * 128.0);
  const ShapeCounts counts = counts_of(shape, 4096);
  CHECK(parameter_count(*mixed.model) == counts.parameters);
  CHECK(mixed.model->mixed->unmeasured() == "mamba2");
  CHECK(forward_flop_per_token(*mixed.model, 4096, true).in_base_units() ==
        2.0 * counts.matmul + counts.attention_flop + counts.scan_flop_useful);
}

TEST_CASE("a summary has the runs of equal layers, or totals where these are many") {
  Stack stack;
  for (const BlockKind kind : {BlockKind::Dense, BlockKind::Moe, BlockKind::Mamba2}) {
    stack.kinds.push_back(kind_of({Block{.kind = kind}}));
  }
  const auto summary = [&](std::vector<std::uint16_t> layers) {
    stack.layers = std::move(layers);
    return layer_summary(stack);
  };
  CHECK(summary({}).empty());
  CHECK(summary({0, 0, 0, 0}) == "4 dense");
  CHECK(summary({0, 1}) == "1 dense, 1 moe");
  CHECK(summary({0, 0, 0, 1, 0, 0, 0, 1}) == "2 x (3 dense, 1 moe)");
  CHECK(summary({2, 0, 0, 1, 0, 0, 1, 0}) == "1 mamba2, 2 x (2 dense, 1 moe), 1 dense");
  CHECK(summary({0, 1, 2, 1, 0, 2, 2, 0, 1, 1, 2, 0, 0}) ==
        "5 dense, 4 moe, 4 mamba2 in an order of their own");
}

TEST_CASE("matrices beside the layers and a table without a head keep all counts of a shape") {
  ModelShape shape = test::shape_of_kinds({kind_of({kAttention, kDense})}, 2048, {0, 0, 0});
  Stack& stack = shape.stacks[0];
  stack.linears = {{.in = 2048, .out = 2, .bias = true}};
  for (const bool has_head : {true, false}) {
    CAPTURE(has_head);
    stack.has_head = has_head;
    const MixedModel mixed = mixed_model_of(shape);
    const ModelShape& own = layers_of(mixed).shape;
    const ShapeCounts counts = counts_of(own, 64), all = counts_of(shape, 64);
    CHECK(counts.parameters == all.parameters);
    CHECK(counts.active == all.active);
    CHECK(counts.matmul == all.matmul);
    CHECK(counts.attention_flop == all.attention_flop);
    CHECK((mixed.model->vocabulary > 0) == has_head);
    // The first and the last layer are of kinds of their own.
    CHECK(own.stacks[0].kinds.size() == (has_head ? 2 : 3));
    CHECK(own.stacks[0].text() == "3x(attention+dense)");
  }
}

TEST_CASE("modules that predict further tokens add the parameters that a family counts apart") {
  ModelShape shape =
      test::shape_of_kinds({kind_of({mamba2(64, 8)}, 1), kind_of({kAttention}, 1)}, 2048, {0, 1});
  const Transformer plain = *mixed_model_of(shape).model;
  Transformer longer = plain;
  add_prediction_layers(longer, 0);
  CHECK(longer.layers == 2);
  add_prediction_layers(longer, 3);  // a family without modules: as the last layer
  CHECK(longer.layers == 5);
  CHECK(longer.mixed->text() == "1x(mamba2) 4x(attention)");

  Stack& modules = shape.prediction;
  modules.hidden = 2048;
  modules.norm = 2048;
  modules.kinds = {kind_of({kAttention}, 1), kind_of({kDense}, 1)};
  modules.linears = {{.in = 4096, .out = 2048}, {.in = 4096, .out = 2048}};
  modules.vectors = 2 * 3 * 2048;
  modules.layers = {0, 1, 0, 1};
  const Transformer known = *mixed_model_of(shape).model;
  CHECK(parameter_count(known) == parameter_count(plain));
  longer = known;
  add_prediction_layers(longer, 2);
  CHECK(longer.layers == 6);
  CHECK(longer.mixed->text() == "1x(mamba2) 2x(attention) 1x(dense) 1x(attention) 1x(dense)");
  const ShapeCounts counts = counts_of(shape, 1);
  CHECK(parameter_count(longer) == counts.parameters + counts.prediction);

  Transformer alike{.hidden = 64, .layers = 4};
  add_prediction_layers(alike, 1);
  CHECK(alike.layers == 5);
}

/// Heads of 512 whose keys and values are one vector, a window of 128, every fourth token a key.
Block compressed(std::int64_t rate) {
  Block block{.kind = BlockKind::Compressed, .heads = 64, .dim = 512, .window = 128};
  block.topk = rate == 4 ? 512 : 0;
  block.index_heads = 64;
  block.index_dim = 128;
  block.q_rank = 1024;
  block.o_groups = 8;
  block.o_rank = 1024;
  block.rate = rate;
  return block;
}

TEST_CASE("compressed attention sees a window and keys of several tokens") {
  // Layers of DeepSeek V4: sums over the forms are the counts of the shape.
  const ModelShape shape =
      test::shape_of_kinds({kind_of({compressed(0), kDense}), kind_of({compressed(4), kDense}),
                            kind_of({compressed(128), kDense})},
                           4096, {0, 0, 1, 2, 1, 2});
  const MixedModel mixed = mixed_model_of(shape);
  const MixedLayers& layers = layers_of(mixed);
  CHECK(layers.windows == std::vector<std::int64_t>{128, 2048});
  CHECK(layers.window_index(0) == 0);
  CHECK(layers.window_index(2048) == 2);
  CHECK(layers.unmeasured() == "compressed, index");
  const std::int64_t s = 4096;
  const ShapeCounts counts = counts_of(shape, s);
  CHECK(forward_flop_per_token(*mixed.model, s, true).in_base_units() ==
        doctest::Approx(2.0 * counts.matmul + counts.attention_flop + counts.index_flop));
  double cache = 0.0, windows = 0.0;
  for (const std::uint16_t kind : layers.layers) {
    const LayerForm& form = layers.forms[kind];
    cache += form.cached_far();
    windows += 128.0 * form.cached(8.0);  // each of 8 tensor ranks has it whole
  }
  CHECK(cache == counts.cache);
  CHECK(windows == counts.window_cache);
  CHECK(layers.misfit(16, 1, Runner::Serving) ==
        "compressed: 8 groups of outputs do not divide over 16 tensor ranks");
  CHECK(layers.misfit(8, 2, Runner::Training) ==
        "compressed: no rule divides its tokens over context ranks");
  CHECK(layers.unsplit().empty());
}

TEST_CASE("layers with the keys of another one have neither their matrices nor a cache") {
  Block shared = kAttention, sight = kAttention;
  shared.kv_shared = 1;
  sight.k_is_v = 1;
  const ModelShape shape = test::shape_of_kinds(
      {kind_of({kAttention, kDense}), kind_of({shared, kDense}), kind_of({sight, kDense})}, 2048,
      {0, 1, 2});
  const MixedModel mixed = mixed_model_of(shape);
  const MixedLayers& layers = layers_of(mixed);
  const double row = 2.0 * 2.0 * 128.0;
  CHECK(layers.forms[0].cached(1.0) == row);
  CHECK(layers.forms[1].cached(1.0) == 0.0);
  CHECK(layers.forms[2].cached(1.0) == row);
  const ShapeCounts counts = counts_of(shape, 64);
  CHECK(counts.cache == 2.0 * row);
  CHECK(count(*mixed.model, 64, Bytes(2.0)).cache_bytes_per_token == Bytes(4.0 * row));
  CHECK(layers.unsplit().find("stay in its pipeline stage") != std::string::npos);
}

TEST_CASE("an encoder comes before its decoder, and has a length of its own") {
  Block sees_all = kAttention, cross = kAttention;
  sees_all.causal = 0;
  cross.cross = 1;
  ModelShape shape = test::shape_of_kinds({kind_of({kAttention, cross, kDense}, 3)}, 2048, {0, 0});
  Stack encoder = shape.stacks[0];
  encoder.name = "encoder";
  encoder.vocabulary = 0;
  encoder.kinds = {kind_of({sees_all, kDense})};
  encoder.layers = {0, 0, 0};
  shape.stacks.push_back(encoder);
  const MixedModel mixed = mixed_model_of(shape);
  const MixedLayers& layers = layers_of(mixed);
  CHECK(layers.text() == "3x(encoder attention+dense) 2x(attention+attention+dense)");
  CHECK(layers.has_encoder());
  CHECK(!layers.unsplit().empty());
  CHECK(layers.misfit(1, 2, Runner::Training) ==
        "attention to an encoder: no rule divides its tokens over context ranks");
  const ShapeCounts counts = counts_of(shape, 64);
  CHECK(parameter_count(*mixed.model) == counts.parameters);
  // With one length the family counts the same FLOP; cross attention sees all of it.
  CHECK(forward_flop_per_token(*mixed.model, 64, true).in_base_units() ==
        doctest::Approx(2.0 * counts.matmul + counts.attention_flop));
  // Twice the tokens of the encoder: its matrices, keys and values of the decoder, pairs.
  Transformer longer = *mixed.model;
  longer.encoder_sequence = 128;
  const double of_encoder =
      3.0 * (2.0 * 2048.0 * 4096.0 + 2.0 * 2048.0 * 256.0 + 3.0 * 2048.0 * 1024.0);
  const double of_keys = 2.0 * 2.0 * 2048.0 * 256.0, pair = 2.0 * 32.0 * 256.0;
  const double more =
      2.0 * (of_encoder + of_keys) + pair * (3.0 * (2.0 * 128.0 - 64.0) + 2.0 * (128.0 - 64.0));
  CHECK(forward_flop_per_token(longer, 64, true).in_base_units() -
            forward_flop_per_token(*mixed.model, 64, true).in_base_units() ==
        doctest::Approx(more));
  shape.stacks[1].hidden = 1024;
  CHECK(mixed_model_of(shape).why == "an encoder of another width or norm than the decoder");
}

TEST_CASE("a block names the rule that ranks break") {
  const auto misfit = [](const Block& block, std::int64_t t, std::int64_t c, Runner runner) {
    const MixedModel mixed = mixed_model_of(test::shape_of_kinds({kind_of({block}, 1)}, 2048, {0}));
    return layers_of(mixed).misfit(t, c, runner);
  };
  using enum Runner;
  CHECK(misfit(mamba2(64, 8), 16, 1, Training) ==
        "mamba2: 8 groups do not divide over 16 tensor ranks");
  CHECK(misfit(mamba2(64, 8), 8, 1, Training).empty());
  CHECK(misfit(mamba2(64, 8), 8, 8, Training).empty());
  CHECK(misfit(mamba2(64, 8), 8, 16, Training) ==
        "mamba2: 8 heads of a tensor rank do not divide over 16 context ranks");
  // A server repeats a single group.
  CHECK(!misfit(mamba2(64, 1), 8, 1, Training).empty());
  CHECK(misfit(mamba2(64, 1), 8, 1, Serving).empty());
  Block delta{.kind = BlockKind::Deltanet};
  delta.k_heads = 16;
  delta.v_heads = 32;
  delta.k_dim = delta.v_dim = 128;
  delta.conv = 4;
  CHECK(misfit(delta, 16, 1, Serving).empty());
  CHECK(misfit(delta, 32, 1, Serving) ==
        "deltanet: 16 heads of keys do not divide over 32 tensor ranks");
  Block selective{.kind = BlockKind::Mamba1};
  selective.inner = 512;
  selective.state = 16;
  selective.conv = 4;
  selective.dt_rank = 8;
  CHECK(misfit(selective, 512, 1, Training).empty());
  CHECK(misfit(selective, 1, 2, Training) ==
        "mamba1: no software divides its tokens over context ranks");
  CHECK(misfit(kAttention, 64, 1, Training) ==
        "attention: 32 heads do not divide over 64 tensor ranks");
}

TEST_CASE("what has no equations is named") {
  const auto why = [](const LayerKind& kind) {
    return mixed_model_of(test::shape_of_kinds({kind}, 2048, {0})).why;
  };
  Block cross = kAttention;
  cross.cross = 1;
  CHECK(why(kind_of({kAttention, kAttention})) == "several blocks of attention in a layer");
  CHECK(why(kind_of({cross, cross})) == "several blocks of attention to an encoder");
  cross.window = 8;
  CHECK(why(kind_of({cross, kDense})) == "attention to an encoder with further parts");
  CHECK(why(kind_of({kDense, kDense})) == "several MLPs or experts in a layer");
  std::vector<LayerKind> kinds;
  for (const std::int64_t window : {8, 16, 32, 64}) {
    Block block = kAttention;
    block.window = window;
    kinds.push_back(kind_of({block, kDense}));
  }
  CHECK(mixed_model_of(test::shape_of_kinds(kinds, 2048, {0, 1, 2, 3})).why ==
        "4 windows that differ, of at most 3");
  Block tower = kAttention;
  tower.no_cache = 1;
  ModelShape towers = test::shape_of_kinds({kind_of({tower, kDense})}, 2048, {0});
  towers.stacks[0].has_head = false;
  CHECK(mixed_model_of(towers).model);
  towers.stacks.push_back(towers.stacks[0]);
  CHECK(mixed_model_of(towers).why == "two towers that read samples of their own");
  LayerKind shared = kind_of({kAttention, kDense});
  shared.owns = false;
  CHECK(why(shared) == "layers that share weights");
}

}  // namespace
}  // namespace dfsearch
