// Models of several kinds of layers: the parts of a form against the counts of its blocks, ranges of
// layers, and the rules that tensor and context ranks break.

#include "graph/workloads/blocks/mixed_layers.hpp"

#include <doctest/doctest.h>

#include "graph/workloads/blocks/form_products.hpp"
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
      if (form.has_attention) {
        // A model of attention and an MLP of width 1 for each matrix.
        Transformer alone = view;
        alone.experts.reset();
        alone.mlp = 1;
        parts += static_cast<double>(count(alone, 1, Bytes(2.0)).matmul_parameters -
                                     alone.mlp_matrices() * alone.hidden);
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
  CHECK(why(kind_of({kAttention, cross, kDense})) == "several blocks of attention in a layer");
  CHECK(why(kind_of({cross, kDense})) == "attention to an encoder");
  CHECK(why(kind_of({kDense, kDense})) == "several MLPs or experts in a layer");
  Block compressed{.kind = BlockKind::Compressed, .heads = 8, .dim = 64};
  compressed.o_groups = 1;
  CHECK(why(kind_of({compressed})) == "the block compressed");
  LayerKind shared = kind_of({kAttention, kDense});
  shared.owns = false;
  CHECK(why(shared) == "layers that share weights");
}

}  // namespace
}  // namespace dfsearch
