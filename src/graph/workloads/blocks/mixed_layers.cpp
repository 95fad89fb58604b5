// Each block goes to the part of a form that has equations for it.  Softmax attention, MLPs and
// experts go to a transformer, and matrices that a transformer lacks go to a list of further ones.
// Mixers with a state go to the scans.  Matrices beside the layers and tables without a head go
// into layers.

#include "graph/workloads/blocks/mixed_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "base/counts.hpp"

namespace dfsearch {
namespace {

/// The reason why there are no equations for a shape.
struct NoForm {
  std::string why;
};

[[noreturn]] void no_form(const std::string& why) { throw NoForm{why}; }

bool is_scan(BlockKind kind) { return kind >= BlockKind::Mamba1 && kind <= BlockKind::Recurrence; }

bool is_delta_rule(BlockKind kind) { return kind == BlockKind::Deltanet || kind == BlockKind::Kda; }

/// Whether a transformer has a matrix with this role.
bool is_in_view(const Linear& linear) {
  switch (linear.role) {
    case LinearRole::Query:
    case LinearRole::Key:
    case LinearRole::Value:
    case LinearRole::KeyValue:
    case LinearRole::Latent:
    case LinearRole::Output:
    case LinearRole::Up:
    case LinearRole::Down:
    case LinearRole::Router:
    case LinearRole::ExpertUp:
    case LinearRole::ExpertDown:
      return true;
    default:
      return false;
  }
}

class FormMaker {
 public:
  FormMaker(const Stack& stack, const LayerKind& kind) : stack_(stack), kind_(kind) {
    form_.name = kind.text();
    form_.view.hidden = stack.hidden;
    form_.view.layers = 1;
    form_.view.mlp = 1;
    form_.view.norm = stack.norm == 2 * stack.hidden ? Norm::Layer : Norm::Rms;
    form_.view.dropout = stack.dropout;
    form_.norms = number(kind.norms);
    form_.vectors = number(kind.norms * stack.norm + kind.vectors);
  }

  LayerForm make() {
    if (!kind_.owns) no_form("layers that share weights");
    bool mixes = false, has_channels = false;
    form_.encodes = kind_.encodes;
    has_moe_ = std::any_of(kind_.blocks.begin(), kind_.blocks.end(),
                           [](const Block& block) { return block.kind == BlockKind::Moe; });
    for (const Block& block : kind_.blocks) {
      const BlockCounts counts = counts_of(block, stack_.hidden);
      form_.vectors += counts.vectors;
      for (const Linear& linear : counts.linears) {
        if (linear.bias) form_.vectors += number(linear.out * linear.copies);
        form_.matrices += number(linear.in) * number(linear.out * linear.used);
      }
      if (block.cross != 0) {
        take_cross(block);
      } else if (block.kind == BlockKind::Compressed) {
        mixes = true;
        take_compressed(block, counts);
      } else if (block.kind == BlockKind::Attention || block.kind == BlockKind::Mla) {
        mixes = true;
        take_attention(block, counts);
      } else if (block.kind == BlockKind::Dense || block.kind == BlockKind::Moe) {
        has_channels = true;
        take_channels(block, counts);
      } else if (is_scan(block.kind)) {
        mixes = true;
        take_scan(block, counts);
      } else if (block.kind == BlockKind::Extra) {
        take_linears(counts, false);
      } else {
        no_form("the block " + std::string(name_of(block.kind)));
      }
    }
    form_.halves = (mixes ? 1.0 : 0.0) + (has_channels ? 1.0 : 0.0) + (form_.cross ? 1.0 : 0.0);
    if (!mixes && !has_channels) no_form("layers without blocks");
    return std::move(form_);
  }

 private:
  /// Adds matrices of a block; if `has_view`, without the matrices that a transformer has.
  void take_linears(const BlockCounts& counts, bool has_view) {
    for (const Linear& linear : counts.linears) {
      if (has_view && is_in_view(linear)) continue;
      form_.linears.push_back(linear);
      form_.has_shared = form_.has_shared || linear.role == LinearRole::SharedDown ||
                         linear.role == LinearRole::Down;
      if (linear.role == LinearRole::OutputGate || linear.role == LinearRole::SharedUp ||
          linear.role == LinearRole::ExpertLatent || linear.role == LinearRole::Up) {
        form_.kept += number(linear.out * linear.used);
      }
    }
  }

  void take_attention(const Block& block, const BlockCounts& counts) {
    Transformer& view = form_.view;
    if (form_.has_attention) no_form("several blocks of attention in a layer");
    if (!block.linears.empty()) no_form("further matrices of the block attention");
    if (block.kind == BlockKind::Attention && block.project == 0) {
      no_form("attention of other matrices");
    }
    form_.has_attention = true;
    view.heads = block.heads;
    view.value_dim = block.value;
    if (block.kind == BlockKind::Mla) {
      view.kv_heads = block.heads;
      view.head_dim = block.nope + block.rope;
      view.latent = LatentAttention{
          .query_rank = block.q_rank, .key_value_rank = block.kv_rank, .rope_dim = block.rope};
    } else {
      form_.makes_keys = block.kv_shared == 0;
      form_.makes_values = form_.makes_keys && block.k_is_v == 0;
      if (block.heads % block.kv != 0) no_form("attention whose heads share keys unevenly");
      form_.causal = block.causal != 0;
      form_.caches = form_.causal && block.no_cache == 0 && form_.makes_keys;
      view.kv_heads = block.kv;
      view.head_dim = block.dim;
      view.qk_norm = block.qk_norm != kNoQkNorm;
      view.window = block.window > 0 ? block.window : block.chunk;
    }
    take_linears(counts, true);
    for (const Pairs& index : counts.index) form_.index_pair += index.flop;
    if (block.index_heads > 0) form_.index_cache = number(block.index_dim);
    form_.topk = block.topk;
  }

  /// One short vector of a token is its key and its value, for all heads.
  void take_compressed(const Block& block, const BlockCounts& counts) {
    if (form_.has_attention) no_form("several blocks of attention in a layer");
    Transformer& view = form_.view;
    form_.has_attention = form_.is_compressed = true;
    view.heads = block.heads;
    view.kv_heads = 1;
    view.head_dim = view.value_dim = block.dim;
    view.window = block.window;
    form_.rate = block.rate;
    form_.chosen = block.rate > 0 ? block.topk : 0;
    form_.groups = block.o_groups;
    take_linears(counts, false);
    form_.kept += counts.kept;
    for (const Pairs& index : counts.index) form_.index_pair += index.flop;
    if (!counts.index.empty()) form_.index_cache = number(block.index_dim) / number(block.rate);
  }

  void take_cross(const Block& block) {
    if (form_.cross || block.kind != BlockKind::Attention) {
      no_form("several blocks of attention to an encoder");
    }
    if (!block.linears.empty() || block.kv_shared != 0 || block.k_is_v != 0 || block.window != 0 ||
        block.gate != 0 || block.index_heads != 0 || block.project == 0) {
      no_form("attention to an encoder with further parts");
    }
    form_.cross = block;
  }

  void take_channels(const Block& block, const BlockCounts& counts) {
    Transformer& view = form_.view;
    if (has_moe_ && block.kind == BlockKind::Dense && !has_dense_) {
      // Every token uses an MLP beside experts.
      has_dense_ = true;
      return take_linears(counts, false);
    }
    if (form_.has_mlp || form_.has_experts) no_form("several MLPs or experts in a layer");
    if (!block.linears.empty()) {
      no_form("further matrices of the block " + std::string(name_of(block.kind)));
    }
    view.gated = block.gated != 0;
    if (block.kind == BlockKind::Dense) {
      form_.has_mlp = true;
      view.mlp = block.width * block.copies;
    } else {
      if (block.zero != 0) no_form("experts that compute nothing");
      form_.has_experts = true;
      const bool is_multiple =
          block.shared % block.width == 0 && block.latent == 0 && block.shared_gate == 0;
      view.experts = Experts{.count = block.experts,
                             .used = block.used,
                             .mlp = block.width,
                             .shared = is_multiple ? block.shared / block.width : 0,
                             .latent = block.latent};
      BlockCounts beside = counts;
      if (is_multiple) {
        std::erase_if(beside.linears, [](const Linear& linear) {
          return linear.role == LinearRole::SharedUp || linear.role == LinearRole::SharedDown;
        });
      }
      return take_linears(beside, true);
    }
  }

  void take_scan(const Block& block, const BlockCounts& counts) {
    form_.scans.push_back(block);
    take_linears(counts, false);
    form_.scan_vectors += counts.vectors;
    (is_delta_rule(block.kind) ? form_.delta : form_.scan) += counts.scan;
    form_.scan_elementwise += counts.scan_elementwise;
    form_.conv_state += counts.conv_state;
    form_.state += counts.state;
    form_.kept += counts.kept;
    if (block.conv > 1) form_.channels += counts.conv_state / number(block.conv - 1);
    for (const Linear& linear : counts.linears) {
      if (linear.role == LinearRole::Out) form_.inner += number(linear.in);
    }
  }

  const Stack& stack_;
  const LayerKind& kind_;
  LayerForm form_;
  bool has_moe_ = false, has_dense_ = false;
};

/// Adds a block to a layer.  If other layers share its kind, the layer gets a new kind.
void add_to_layer(Stack& stack, std::size_t at, Block block) {
  const std::uint16_t kind = stack.layers[at];
  LayerKind layer = stack.kinds[kind];
  layer.blocks.push_back(std::move(block));
  if (std::count(stack.layers.begin(), stack.layers.end(), kind) == 1) {
    stack.kinds[kind] = std::move(layer);
    return;
  }
  stack.layers[at] = static_cast<std::uint16_t>(stack.kinds.size());
  stack.kinds.push_back(std::move(layer));
}

/// The stack with nothing beside its layers but an embedding and a head for tokens: further
/// matrices become work of the last layer, and the first layer stores tables if there is no head.
/// All counts stay the same.
Stack with_ends_in_layers(Stack stack) {
  if (stack.layers.empty()) no_form("a model without layers");
  if (!stack.linears.empty()) {
    Block beside{.kind = BlockKind::Extra};
    beside.linears = std::exchange(stack.linears, {});
    add_to_layer(stack, stack.layers.size() - 1, std::move(beside));
  }
  if (!stack.has_head) {
    Block table{.kind = BlockKind::Extra};
    table.extra = stack.vocabulary * stack.embedding + stack.positions * stack.position_width +
                  static_cast<std::int64_t>(stack.vectors);
    stack.vocabulary = stack.positions = 0;
    stack.embedding = stack.hidden;
    stack.vectors = 0.0;
    if (table.extra > 0) add_to_layer(stack, 0, std::move(table));
  }
  if (stack.embedding != stack.hidden) no_form("an embedding of another width than the layers");
  if (stack.positions > 0 && stack.position_width != stack.hidden) {
    no_form("positions of another width than the layers");
  }
  return stack;
}

/// Whether no layer joins images and text, and no text is decoded (Radford et al., CLIP, 2021).
bool is_two_towers(const std::vector<Stack>& stacks) {
  const Stack& text = stacks.front();
  if (stacks.size() == 1 || stacks[1].name == "encoder" || text.has_head) return false;
  return std::all_of(text.kinds.begin(), text.kinds.end(), [](const LayerKind& kind) {
    return !kind.blocks.empty() && kind.blocks.front().no_cache != 0;
  });
}

/// One stack, in which the layers of an encoder precede the others.
Stack with_encoder(const std::vector<Stack>& stacks) {
  Stack stack = with_ends_in_layers(stacks.front());
  for (const Stack& other : stacks) {
    if (other.name != "encoder") continue;
    Stack encoder = other;
    encoder.has_head = false;  // so that embeddings go into layers
    encoder = with_ends_in_layers(std::move(encoder));
    if (encoder.hidden != stack.hidden || encoder.norm != stack.norm) {
      no_form("an encoder of another width or norm than the decoder");
    }
    const auto first = static_cast<std::uint16_t>(stack.kinds.size());
    for (LayerKind& kind : encoder.kinds) {
      kind.encodes = true;
      stack.kinds.push_back(std::move(kind));
    }
    for (std::uint16_t& layer : encoder.layers) layer = static_cast<std::uint16_t>(layer + first);
    stack.layers.insert(stack.layers.begin(), encoder.layers.begin(), encoder.layers.end());
  }
  return stack;
}

/// Counts that describe the model as a whole, from the forms that have them.
Transformer described(const Stack& stack, const MixedLayers& mixed) {
  Transformer model{.hidden = stack.hidden,
                    .layers = static_cast<std::int64_t>(stack.layers.size()),
                    .vocabulary = stack.vocabulary,
                    .positions = stack.positions,
                    .tied = stack.tied,
                    .dropout = stack.dropout};
  bool has_attention = false;
  std::int64_t dense = 0;
  for (std::size_t i = 0; i < mixed.forms.size(); ++i) {
    const LayerForm& form = mixed.forms[i];
    const Transformer& view = form.view;
    if (form.has_attention && !form.encodes && !has_attention) {
      has_attention = true;
      model.heads = view.heads;
      model.kv_heads = view.kv_heads;
      model.head_dim = view.head_dim;
      model.value_dim = view.value_dim;
      model.latent = view.latent;
    }
    if (form.has_mlp) model.mlp = std::max(model.mlp, view.mlp);
    if (form.has_mlp || form.has_experts) model.gated = view.gated;
    if (form.has_experts && model.experts && *model.experts != *view.experts) {
      no_form("layers of different experts");
    }
    if (form.has_experts) model.experts = view.experts;
    if (!form.has_experts) dense += mixed.before.back()[i];
    if (form.seen() > 0 && model.window == 0) model.window = form.seen();
  }
  model.norm = mixed.forms.front().view.norm;
  if (model.experts) model.experts->dense_layers = dense;
  return model;
}

}  // namespace

double LayerForm::cached(double tensor) const {
  const double of_encoder = cross ? number(cross->kv) * number(cross->dim + cross->value) : 0.0;
  if (!has_attention || !caches) return of_encoder;
  if (is_compressed) return number(view.head_dim);
  if (view.latent) return number(view.latent->key_value_rank + view.latent->rope_dim) + index_cache;
  return std::max(number(view.kv_heads) / tensor, 1.0) * number(view.head_dim + view.value_dim) +
         index_cache + of_encoder;
}

double LayerForm::cached_far() const {
  return rate > 0 ? number(view.head_dim) / number(rate) + index_cache : 0.0;
}

double LayerForm::encoder_matrices() const {
  if (cross) {
    return number(view.hidden) * number(cross->kv) * number(cross->dim + cross->value);
  }
  return encodes ? matrices : 0.0;
}

std::size_t MixedLayers::window_index(std::int64_t window) const {
  if (window == 0) return 0;
  const auto found = std::find(windows.begin(), windows.end(), window);
  return static_cast<std::size_t>(found - windows.begin()) + 1;
}

FormCounts MixedLayers::counts(std::int64_t begin, std::int64_t end) const {
  FormCounts counts{};
  const FormCounts& from = before[static_cast<std::size_t>(begin)];
  const FormCounts& to = before[static_cast<std::size_t>(end)];
  for (std::size_t i = 0; i < forms.size(); ++i) counts[i] = to[i] - from[i];
  return counts;
}

std::string MixedLayers::unmeasured() const {
  std::vector<std::string> names;
  for (const LayerForm& form : forms) {
    for (const Block& scan : form.scans) names.push_back(name_of(scan.kind));
    if (form.is_compressed) names.push_back("compressed");
    if (form.index_pair > 0.0) names.push_back("index");
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      continue;
    }
    text += (text.empty() ? "" : ", ") + names[i];
  }
  return text;
}

bool MixedLayers::has_encoder() const {
  return std::any_of(forms.begin(), forms.end(),
                     [](const LayerForm& form) { return form.encodes || form.cross; });
}

bool MixedLayers::attends() const {
  return std::any_of(forms.begin(), forms.end(),
                     [](const LayerForm& form) { return form.has_attention; });
}

bool MixedLayers::is_causal() const {
  return std::all_of(forms.begin(), forms.end(), [](const LayerForm& form) { return form.causal; });
}

MixedModel mixed_model_of(const ModelShape& shape) {
  MixedModel result;
  try {
    if (shape.stacks.empty()) no_form("a model without layers");
    if (is_two_towers(shape.stacks)) no_form("two towers that read samples of their own");
    const Stack stack = with_encoder(shape.stacks);
    auto mixed = std::make_shared<MixedLayers>();
    mixed->shape = {.stacks = {stack}, .prediction = shape.prediction, .sequence = shape.sequence};
    if (stack.kinds.size() > kMostForms) {
      no_form(fmt::format("{} kinds of layers, of at most {}", stack.kinds.size(), kMostForms));
    }
    for (const LayerKind& kind : stack.kinds) {
      mixed->forms.push_back(FormMaker(stack, kind).make());
    }
    mixed->layers = stack.layers;
    mixed->before.assign(1, {});
    for (const std::uint16_t kind : stack.layers) {
      FormCounts next = mixed->before.back();
      ++next[kind];
      mixed->before.push_back(next);
    }
    mixed->tables = stack.tables;
    for (const LayerForm& form : mixed->forms) {
      for (const std::int64_t window : {form.view.window, form.seen(), form.seen_far()}) {
        if (mixed->window_index(window) > mixed->windows.size()) mixed->windows.push_back(window);
      }
    }
    if (mixed->windows.size() > kMostWindows) {
      no_form(fmt::format("{} windows that differ, of at most {}", mixed->windows.size(),
                          kMostWindows));
    }
    Transformer model = described(stack, *mixed);
    model.mixed = std::move(mixed);
    result.model = std::move(model);
  } catch (const NoForm& found) {
    result.why = found.why;
  }
  return result;
}

std::vector<FurtherProduct> further_products(const LayerForm& form, double tensor) {
  std::vector<FurtherProduct> products;
  std::map<std::tuple<std::int64_t, LinearSplit, bool>, std::size_t> known;
  for (const Linear& linear : form.linears) {
    const LinearSplit split = linear_split(linear.role);
    const double out = number(linear.out * linear.used);
    if (split == LinearSplit::Rows) {
      products.push_back({.in = number(linear.in) / tensor, .out = out, .role = linear.role});
      continue;
    }
    const bool is_channels = linear.role >= LinearRole::Up;
    const auto [place, is_new] =
        known.try_emplace({linear.in, split, is_channels}, products.size());
    if (is_new) products.push_back({.in = number(linear.in), .role = linear.role});
    products[place->second].out += split == LinearSplit::Columns ? out / tensor : out;
  }
  return products;
}

double shifted_elements(const LayerForm& form, double ranks) {
  double sum = 0.0;
  for (const Block& scan : form.scans) {
    if (scan.kind == BlockKind::Shortconv) continue;  // it exchanges few tokens
    for (const Linear& linear : counts_of(scan, form.view.hidden).linears) {
      if (linear.role == LinearRole::In && linear.in == form.view.hidden) {
        sum += number(linear.out * linear.used);
      }
      if (linear.role == LinearRole::Out) sum += number(linear.in);
    }
    if (scan.kind != BlockKind::Mamba2) continue;
    // If there are more ranks than groups, ranks repeat the inputs and outputs of the state.
    const double repeated = std::max(1.0, ranks / number(scan.groups)) - 1.0;
    sum += 2.0 * number(scan.groups * scan.state) * repeated;
  }
  return sum;
}

double summed_elements(const LayerForm& form) {
  double sum = 0.0;
  for (const Linear& linear : form.linears) {
    if (linear.role == LinearRole::Steps) sum += number(linear.out);
  }
  return sum;
}

}  // namespace dfsearch
