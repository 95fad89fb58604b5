#include "support/mixed_models.hpp"

#include <utility>

#include "base/error.hpp"

namespace dfsearch::test {
namespace {

class BlockDraws {
 public:
  explicit BlockDraws(std::mt19937_64& random) : random_(random) {}

  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }

  Block attention() {
    return {.kind = BlockKind::Attention,
            .heads = 8,
            .kv = pick(0, 1) == 0 ? 8 : 2,
            .dim = 64,
            .value = 64,
            .gate = pick(0, 1),
            .window = pick(0, 2) == 0 ? 40 : 0,
            .causal = 1,
            .kv_shared = pick(0, 7) == 0,
            .k_is_v = pick(0, 7) == 0,
            .project = 1};
  }
  Block latent() {
    Block block{.kind = BlockKind::Mla, .heads = 8, .value = 64, .q_rank = 64 * pick(0, 1)};
    block.kv_rank = 128;
    block.nope = 48;
    block.rope = 16;
    if (pick(0, 1) == 0) return block;
    block.topk = 40;
    block.index_heads = 4;
    block.index_dim = 32;
    block.index_weights = 1;
    return block;
  }
  Block compressed() {
    Block block{.kind = BlockKind::Compressed, .heads = 8, .dim = 64, .window = 24};
    block.q_rank = 64;
    block.o_groups = 8;
    block.o_rank = 32;
    block.rate = pick(0, 2) * 4;
    if (block.rate != 4) return block;
    block.topk = 10;
    block.index_heads = 4;
    block.index_dim = 32;
    return block;
  }
  Block scan() {
    Block block;
    block.conv = 4;
    block.heads = 8;
    block.dim = 32;
    switch (pick(0, 5)) {
      case 0:
        block.kind = BlockKind::Mamba2;
        block.groups = pick(0, 1) == 0 ? 8 : 1;
        block.state = 64;
        block.chunk = 64;
        block.norm = 1;
        return block;
      case 1:
        block.kind = BlockKind::Deltanet;
        block.k_heads = 4;
        block.v_heads = 8;
        block.k_dim = block.v_dim = 32;
        return block;
      case 2:
        block.kind = BlockKind::Kda;
        return block;
      case 3:
        block.kind = BlockKind::Mamba1;
        block.inner = 256;
        block.state = 16;
        block.dt_rank = 8;
        return block;
      case 4:
        block.kind = BlockKind::Lightning;
        block.chunk = 64;
        block.conv = 0;
        return block;
      default:
        block.kind = BlockKind::Shortconv;
        block.conv = 3;
        return block;
    }
  }
  Block channels(bool may_have_experts) {
    if (!may_have_experts || pick(0, 1) == 0) {
      return {.kind = BlockKind::Dense, .width = 512, .gated = 1, .copies = 1};
    }
    return {.kind = BlockKind::Moe,
            .width = 128,
            .gated = 1,
            .experts = 4,
            .used = 2,
            .shared = shared_};
  }

  LayerKind kind(bool may_have_experts) {
    LayerKind kind{.blocks = {}};
    const std::int64_t which = pick(0, 10);
    if (which < 3) kind.blocks.push_back(attention());
    if (which == 3) kind.blocks.push_back(latent());
    if (which >= 4 && which < 10) kind.blocks.push_back(scan());
    if (which == 10) kind.blocks.push_back(compressed());
    if (which == 9) kind.blocks.push_back(attention());
    const bool is_alone = pick(0, 4) == 0;
    if (!is_alone) kind.blocks.push_back(channels(may_have_experts));
    if (kind.blocks.back().kind == BlockKind::Moe && pick(0, 3) == 0) {
      kind.blocks.push_back(channels(false));  // an MLP beside the experts
    }
    kind.norms = is_alone ? 1 : 2;
    return kind;
  }

 private:
  std::mt19937_64& random_;
  std::int64_t shared_ = 128;
};

}  // namespace

ModelShape shape_of_kinds(std::vector<LayerKind> kinds, std::int64_t hidden,
                          std::vector<std::uint16_t> layers) {
  Stack stack{.name = "text",
              .hidden = hidden,
              .vocabulary = 32000,
              .embedding = hidden,
              .norm = hidden,
              .has_head = true,
              .linears = {},
              .vectors = static_cast<double>(hidden),
              .kinds = std::move(kinds),
              .layers = std::move(layers)};
  return {.stacks = {std::move(stack)}, .prediction = {}, .sequence = 4096};
}

Transformer random_mixed_model(std::mt19937_64& random, std::int64_t most_layers) {
  for (;;) {
    BlockDraws draws(random);
    std::vector<LayerKind> kinds;
    const bool has_experts = draws.pick(0, 1) == 0;
    for (std::int64_t i = draws.pick(1, 4); i > 0; --i) kinds.push_back(draws.kind(has_experts));
    std::vector<std::uint16_t> layers;
    for (std::int64_t i = draws.pick(1, most_layers); i > 0; --i) {
      layers.push_back(
          static_cast<std::uint16_t>(draws.pick(0, static_cast<std::int64_t>(kinds.size()) - 1)));
    }
    const MixedModel mixed =
        mixed_model_of(shape_of_kinds(std::move(kinds), 256, std::move(layers)));
    // Some draws have no equations: they are drawn again.
    if (mixed.model) return *mixed.model;
  }
}

}  // namespace dfsearch::test
