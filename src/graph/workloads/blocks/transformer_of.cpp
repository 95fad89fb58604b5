// A transformer is guessed from the blocks.  Then each kind of layer is counted from the blocks and
// from the guess: a difference shows that the guess cannot express the layer, unless it is one of
// vectors alone.

#include "graph/workloads/blocks/transformer_of.hpp"

#include <algorithm>
#include <initializer_list>

#include "base/counts.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"

namespace dfsearch {
namespace {

/// The reason why a shape is no transformer of equal layers.
struct Misfit {
  std::string why;
};

[[noreturn]] void misfit(const std::string& why) { throw Misfit{why}; }

/// Refuses a block with parameters outside of `known` that are neither 0 nor at their preset.
void allow(const Block& block, std::initializer_list<std::string_view> known) {
  const std::string name = name_of(block.kind);
  if (!block.linears.empty()) misfit("further matrices of the block " + name);
  for (const BlockParameter& row : parameters_of(block.kind)) {
    const std::int64_t value = block.*row.member;
    const bool is_preset = value == (row.as ? block.*row.as : row.preset);
    if (value == 0 || is_preset) continue;
    if (std::find(known.begin(), known.end(), row.name) != known.end()) continue;
    misfit("the parameter '" + std::string(row.name) + "' of the block " + name);
  }
}

/// The block that mixes tokens, and the one that mixes channels.
struct Halves {
  const Block* mixer = nullptr;
  const Block* mlp = nullptr;
};

Halves halves_of(const LayerKind& layer) {
  Halves halves;
  for (const Block& block : layer.blocks) {
    const bool mixes = block.kind == BlockKind::Attention || block.kind == BlockKind::Mla;
    const bool is_mlp = block.kind == BlockKind::Dense || block.kind == BlockKind::Moe;
    if (!mixes && !is_mlp) misfit("layers with the block " + std::string(name_of(block.kind)));
    const Block*& half = mixes ? halves.mixer : halves.mlp;
    if (half) misfit("layers with the blocks " + layer.text());
    half = &block;
  }
  if (!halves.mixer || !halves.mlp) misfit("layers with the blocks " + layer.text() + " alone");
  if (!layer.owns) misfit("layers that share weights");
  return halves;
}

/// The number of tokens that a query of the layer sees; 0: all.
std::int64_t seen(const Block& mixer) { return mixer.window > 0 ? mixer.window : mixer.chunk; }

void take_attention(const Block& block, Transformer& model) {
  model.heads = block.heads;
  if (block.kind == BlockKind::Mla) {
    allow(block, {"heads", "q_rank", "kv_rank", "nope", "rope", "value", "bias"});
    model.kv_heads = block.heads;
    model.head_dim = block.nope + block.rope;
    model.value_dim = block.value;
    model.latent = LatentAttention{
        .query_rank = block.q_rank, .key_value_rank = block.kv_rank, .rope_dim = block.rope};
    return;
  }
  allow(block, {"heads", "dim", "kv", "value", "bias", "out_bias", "k_bias", "qk_norm",
                "qk_norm_bias", "sinks", "window", "chunk", "causal", "project"});
  if (block.causal == 0 || block.project == 0) {
    misfit("attention " + std::string(block.causal == 0 ? "to later tokens" : "of other matrices"));
  }
  model.kv_heads = block.kv;
  model.head_dim = block.dim;
  model.value_dim = block.value;
  model.qk_norm = block.qk_norm != kNoQkNorm;
  if (block.bias != 0) model.bias = block.out_bias != 0 ? Bias::All : Bias::Qkv;
}

/// Sets the window, and how often a layer sees all tokens.
void take_sights(const Stack& stack, Transformer& model) {
  std::int64_t first_full = 0, index = 0;
  for (const std::uint16_t kind : stack.layers) {
    const std::int64_t tokens = seen(*halves_of(stack.kinds[kind]).mixer);
    ++index;
    if (tokens == 0 && first_full == 0) first_full = index;
    if (tokens > 0 && model.window > 0 && tokens != model.window) misfit("windows of two sizes");
    model.window = std::max(model.window, tokens);
  }
  if (model.window == 0) return;
  model.full_attention_every = first_full;
  if (first_full == 1) misfit("a first layer that sees all tokens before others with a window");
  index = 0;
  for (const std::uint16_t kind : stack.layers) {
    const bool is_full = seen(*halves_of(stack.kinds[kind]).mixer) == 0;
    if (is_full != (model.full_layers(index, index + 1) == 1)) {
      misfit("layers that see all tokens, but neither all nor each n-th of them");
    }
    ++index;
  }
}

void take_experts(const Stack& stack, Transformer& model) {
  const Block* experts = nullptr;
  std::int64_t dense_layers = 0;
  bool has_gates = true;
  for (const std::uint16_t kind : stack.layers) {
    const Block& mlp = *halves_of(stack.kinds[kind]).mlp;
    has_gates = mlp.gated != 0;
    if (mlp.kind == BlockKind::Dense) {
      allow(mlp, {"width", "gated", "bias"});
      if (mlp.copies != 1) misfit("several MLPs of a layer");
      if (experts) misfit("layers without experts behind layers with them");
      model.mlp = mlp.width;
      ++dense_layers;
    } else {
      allow(mlp, {"experts", "used", "width", "gated", "bias", "shared", "shared_bias",
                  "router_bias", "router_linear_bias"});
      experts = &mlp;
    }
  }
  model.gated = has_gates;
  if (!experts) return;
  if (experts->shared % experts->width != 0) {
    misfit("a shared expert whose width is no multiple of that of the others");
  }
  const std::int64_t into = experts->gated != 0 ? 2 : 1;
  model.experts =
      Experts{.count = experts->experts,
              .used = experts->used,
              .mlp = experts->width,
              .shared = experts->shared / experts->width,
              .dense_layers = dense_layers,
              .router_bias = experts->router_bias != 0 || experts->router_linear_bias != 0,
              .vectors = experts->bias != 0 ? into * experts->width + model.hidden : 0};
}

ShapeCounts counts_of_kind(const Stack& stack, std::uint16_t kind) {
  Stack alone{.name = "", .hidden = stack.hidden, .norm = stack.norm, .linears = {}};
  alone.kinds = {stack.kinds[kind]};
  alone.layers = {0};
  return counts_of(ModelShape{.stacks = {alone}, .prediction = {}}, 1);
}

/// Sets the elements of a layer that no other member counts; all kinds must have the same number.
void take_vectors(const Stack& stack, Transformer& model) {
  std::optional<double> beside;
  for (std::uint16_t kind = 0; kind < stack.kinds.size(); ++kind) {
    Transformer layer = model;
    layer.layers = 1;
    layer.vocabulary = 0;
    const bool is_dense = halves_of(stack.kinds[kind]).mlp->kind == BlockKind::Dense;
    if (is_dense) layer.experts.reset();
    if (layer.experts) layer.experts->dense_layers = 0;
    const ShapeCounts counts = counts_of_kind(stack, kind);
    const ModelCounts known = count(layer, 1, Bytes(2.0));
    const double rest = counts.parameters - number(known.parameters);
    if (counts.matmul != number(known.matmul_parameters)) misfit("layers of other matrices");
    if (counts.active - number(known.active_parameters) != rest) misfit("experts of other vectors");
    if (beside && *beside != rest) misfit("layers that differ in their vectors");
    if (rest < 0.0) misfit("layers of one norm, or of norms without weights");
    beside = rest;
  }
  model.layer_vectors = static_cast<std::int64_t>(beside.value_or(0.0));
}

void take_ends(const Stack& stack, Transformer& model) {
  if (stack.vocabulary == 0 || !stack.has_head) misfit("a model without a head for tokens");
  if (stack.embedding != stack.hidden) misfit("an embedding of another width than the layers");
  if (!stack.linears.empty()) misfit("matrices beside the layers");
  if (stack.position_width != stack.hidden) misfit("positions of another width than the layers");
  model.vocabulary = stack.vocabulary;
  model.positions = stack.positions;
  model.tied = stack.tied;
  const double rest = stack.vectors - number(model.norm_parameters(model.hidden));
  if (rest < 0.0) misfit("a model without a last norm");
  model.end_vectors = static_cast<std::int64_t>(rest);
}

Transformer uniform(const Stack& stack) {
  if (stack.layers.empty()) misfit("a model without layers");
  Transformer model{.hidden = stack.hidden,
                    .layers = static_cast<std::int64_t>(stack.layers.size())};
  if (stack.norm == 2 * stack.hidden) model.norm = Norm::Layer;
  if (stack.norm == 0) misfit("norms without weights");
  const LayerKind& first = stack.kinds.front();
  const Halves halves = halves_of(first);
  const auto without_view = [](Block block) {
    block.window = block.chunk = 0;
    return block;
  };
  bool has_plain_mlp = false;
  for (const LayerKind& kind : stack.kinds) {
    const Halves other = halves_of(kind);
    if (without_view(*other.mixer) != without_view(*halves.mixer)) {
      misfit("layers that differ in their attention");
    }
    if (kind.norms != first.norms) misfit("layers of different numbers of norms");
    has_plain_mlp = has_plain_mlp || (other.mlp->kind == BlockKind::Dense && other.mlp->bias == 0);
  }
  take_attention(*halves.mixer, model);
  // If MLPs have no biases, the bias of the projection counts among the vectors.
  if (model.bias == Bias::All && has_plain_mlp) model.bias = Bias::Qkv;
  if (first.norms == 4) model.post_norm = true;
  if (first.norms != 2 && first.norms != 4) {
    misfit("layers of " + std::to_string(first.norms) + " norms");
  }
  model.dropout = stack.dropout;
  take_experts(stack, model);
  if (model.post_norm && model.experts) misfit("experts in layers of four norms");
  take_sights(stack, model);
  take_ends(stack, model);
  take_vectors(stack, model);
  return model;
}

}  // namespace

UniformTransformer transformer_of(const ModelShape& shape) {
  UniformTransformer result;
  try {
    if (shape.stacks.empty()) misfit("a model without layers");
    for (const Stack& stack : shape.stacks) {
      if (stack.name == "encoder") misfit("an encoder");
    }
    result.model = uniform(shape.stacks.front());
  } catch (const Misfit&) {
    MixedModel mixed = mixed_model_of(shape);
    result.model = std::move(mixed.model);
    result.why = std::move(mixed.why);
    if (!result.model) return result;
  }
  const auto add = [&](const std::string& part) {
    result.left_out += (result.left_out.empty() ? "" : "; ") + part;
  };
  for (std::size_t i = 1; i < shape.stacks.size(); ++i) {
    if (shape.stacks[i].name != "encoder") add("the " + shape.stacks[i].name + " part");
  }
  if (!shape.prediction.layers.empty()) add("the modules that predict further tokens");
  for (const LayerKind& kind : shape.stacks.front().kinds) {
    const Block& first = kind.blocks.front();
    if (first.kind != BlockKind::Attention || first.chunk == 0) continue;
    add("a chunk is taken for a window of as many tokens");
    break;
  }
  return result;
}

}  // namespace dfsearch
