// Layers of several kinds in a pass (docs/serving.md, (6a) and (14c)). Blocks with a state process
// a prompt in chunks, by matrix products; to decode a token they read and write the whole state (Gu
// and Dao 2023, Dao and Gu 2024). The hybrid allocator of vLLM gives all layers pages of one size.

#include <algorithm>
#include <cmath>

#include "graph/workloads/blocks/mixed_layers.hpp"
#include "model/serving/pass.hpp"

namespace dfsearch::serving {
namespace {

/// Bytes of an element of the inputs that convolutions store.
constexpr double kConvolution = 2.0;

Module module_of(LinearRole role) {
  switch (role) {
    case LinearRole::SharedUp:
    case LinearRole::SharedDown:
    case LinearRole::SharedGate:
      return Module::Shared;
    case LinearRole::ExpertLatent:
      return Module::Experts;
    default:
      return role == LinearRole::Up || role == LinearRole::Down ? Module::Dense : Module::Attention;
  }
}

/// Additional elements of convolved inputs that all chips store together, if there are more chips
/// than groups of a scan, so that several chips have a copy of one group.
double repeated(const LayerForm& form, double t) {
  double channels = 0.0;
  for (const Block& scan : form.scans) {
    if (scan.kind != BlockKind::Mamba2) continue;
    const double more = std::max(1.0, t / real(scan.groups)) - 1.0;
    channels += 2.0 * real(scan.groups * scan.state * (scan.conv - 1)) * more;
  }
  return channels;
}

double bytes_of_states(const LayerForm& form, Number state, double t) {
  return (kConvolution * (form.conv_state + repeated(form, t)) + bytes_of(state) * form.state) / t;
}

}  // namespace

Pass::Layer Pass::layer_of(const LayerForm& form, const Links& links) const {
  Layer layer;
  const double t = real(structure_.tensor);
  const double sent = real(model_.hidden) * bytes_of(precision_.communication);
  const Engine& engine = pool_.engine;
  layer.host = engine.layer.in_base_units() * form.halves / 2.0;
  if (form.has_attention) {
    const double value = bytes_of(precision_.cache);
    if (form.is_compressed) {
      add_compressed(form, layer);
    } else {
      layer.attention = attention_of(form.view);
      layer.attention.cached += form.index_cache * value;
      const double made = (form.makes_keys ? real(form.view.head_dim) : 0.0) +
                          (form.makes_values ? real(form.view.value_dim) : 0.0);
      add_products(attention_products(form.view, t, made), Module::Attention, layer);
      // The layer reads the cache of the one whose keys it has.
      if (!form.makes_keys) layer.attention.cached = 0.0;
    }
  }
  for (const FurtherProduct& product : further_products(form, t)) {
    add_products({{product.in * product.out, product.in, product.out}}, module_of(product.role),
                 layer);
  }
  layer.scan = scan_of(form);
  LinkTime reduce = structure_.tensor > 1 ? links.all_reduce(structure_.tensor) : LinkTime{};
  reduce.per_byte *= sent;
  const bool mixes = form.has_attention || !form.scans.empty();
  if (mixes) layer.reduce = reduce;
  if (form.has_experts) {
    layer.host += engine.expert_layer.in_base_units();
    if (structure_.attention_data > 1) layer.host += engine.rank_layer.in_base_units();
    add_experts(form.view, links, layer);
  } else if (form.has_mlp) {
    add_products(mlp_products(form.view, real(form.view.mlp) / t), Module::Dense, layer);
    layer.network = reduce;
  }
  return layer;
}

/// One short vector is key and value, and each chip has a copy of it; a compressed vector stands
/// for `rate` tokens.
void Pass::add_compressed(const LayerForm& form, Layer& layer) const {
  Transformer view = form.view;
  view.latent = LatentAttention{.key_value_rank = form.view.head_dim, .rope_dim = 0};
  layer.attention = attention_of(view);
  if (form.rate == 0) return;
  layer.far = attention_of(view);
  layer.far.scale(1.0 / real(form.rate));
  layer.far.cached = form.cached_far() * bytes_of(precision_.cache);
}

void Pass::Attention::scale(double factor) {
  for (double& time : decode_compute) time *= factor;
  for (double& time : decode_cache) time *= factor;
  prefill_compute *= factor;
  prefill_cache *= factor;
}

// docs/serving.md (6a)
Pass::Scan Pass::scan_of(const LayerForm& form) const {
  const double t = real(structure_.tensor);
  const Engine& engine = pool_.engine;
  const Machine& machine = pool_.machine;
  const ScanShares shares = engine.scan_shares();
  const double peak = pool_.peak_of(precision_.attention).in_base_units();
  const double reading = machine.memory[0].bandwidth.in_base_units() * engine.shares.cache;
  const MixedLayers& layers = *model_.mixed;
  Scan scan{.seen = layers.window_index(form.seen()),
            .held = layers.window_index(form.view.window),
            .far = layers.window_index(form.seen_far())};
  scan.token = (form.scan / shares.products + form.delta / shares.delta_rule +
                form.scan_elementwise / shares.elementwise) /
               (peak * t);
  scan.bytes = bytes_of_states(form, precision_.state, t);
  scan.state = 2.0 * scan.bytes / reading;
  scan.start = form.scans.empty() ? 0.0 : shares.start.in_base_units();
  // Scores of an index have 8 bits, and every chip has all of them.
  const double of_8_bits = pool_.peak_of(Number::Fp8).in_base_units();
  scan.pair = form.index_pair / (of_8_bits * shares.index);
  const double keys = form.index_cache * bytes_of(precision_.cache) / reading;
  scan.decode_index = seen_[kAll].context * std::max(scan.pair, keys);
  return scan;
}

void Pass::put_scan(const Scan& scan, const PassWork& work, PartTimes& parts) const {
  of(parts, Part::Products) += work.prefill.tokens * scan.token +
                               work.prefill.scores[kAll].pairs * scan.pair +
                               work.requests * work.tokens_of_request * scan.decode_index;
  of(parts, Part::Cache) += work.requests * scan.state;
  of(parts, Part::Host) += scan.start;
}

void Pass::add_forms(Stage& stage, std::int64_t first, std::int64_t end) const {
  constexpr double kWord = 2.0;  // bytes of an element of norms, and by default of routers
  stage.forms = model_.mixed->counts(first, end);
  double whole = 0.0;
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    const double count = real(stage.forms[i]);
    const LayerForm& form = model_.mixed->forms[i];
    stage.weights += count * forms_[i].weights;
    whole += count * form.vectors * kWord;
    if (!form.has_experts || precision_.of(Module::Router).weights) continue;
    whole += count * real(model_.hidden * form.view.experts->count) *
             (kWord - bytes_of(precision_.weights_of(Module::Router)));
  }
  stage.held = stage.weights;
  if (!pool_.server) return;
  stage.held += whole;
  if (model_.experts && precision_.weights_of(Module::Experts) == Number::Mxfp4) {
    stage.held *= padding_of(pool_.server->release);
  }
}

/// Tokens of a page, which has the bytes of the largest state of a layer; 0: no pages.
double Pass::page_tokens() const {
  if (!pool_.server || !has_pages(pool_.server->release)) return 0.0;
  const double cell = last_layer().attention.cached;
  double states = 0.0;
  for (const Layer& layer : forms_) states = std::max(states, layer.scan.bytes);
  constexpr double kRows = 16.0;  // tokens of a block of attention kernels
  return cell > 0.0 && states > 0.0 ? std::ceil(states / cell / kRows) * kRows : 0.0;
}

double Pass::forms_in(const Stage& stage, const Cached& cached, double page) const {
  double bytes = 0.0;
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    const Layer& layer = forms_[i];
    double tokens = cached.tokens[layer.scan.held], states = layer.scan.bytes;
    if (page > 0.0) {
      tokens = std::ceil(tokens / page) * page;
      if (states > 0.0) states = page * last_layer().attention.cached;
    }
    bytes += real(stage.forms[i]) *
             (tokens * layer.attention.cached + cached.tokens[kAll] * layer.far.cached + states);
  }
  return bytes;
}

double Pass::state_bytes() const {
  double most = 0.0;
  for (const Stage& stage : stages_) most = std::max(most, forms_in(stage, {}, page_tokens()));
  return most;
}

double handed_bytes(const MixedLayers& layers, const Precision& precision, const Cached& cached) {
  double bytes = 0.0;
  for (std::size_t i = 0; i < layers.forms.size(); ++i) {
    const LayerForm& form = layers.forms[i];
    const double elements =
        cached.tokens[layers.window_index(form.view.window)] * form.cached(1.0) +
        cached.tokens[kAll] * form.cached_far();
    bytes += real(layers.before.back()[i]) *
             (elements * bytes_of(precision.cache) + bytes_of_states(form, precision.state, 1.0));
  }
  return bytes;
}

}  // namespace dfsearch::serving
