// The kinds of layers in a pass (docs/serving.md, (6a) and (14c)).  Blocks with a state process
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

/// Additional elements of convolved inputs on all chips together.  If there are more chips than
/// groups of a scan, several chips have copies of one group.
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

LayerKinds::LayerKinds(const Transformer& model) : model_(model) {
  if (model.mixed) return;
  for (const bool has_experts : {false, true}) {
    if (has_experts ? !model.experts : model.dense_layers() == 0) continue;
    for (const std::int64_t window : {std::int64_t{0}, model.window}) {
      if (window == 0 && !own_.empty() && own_.back().has_experts == has_experts)
        continue;  // the model has no window
      LayerForm& form = own_.emplace_back();
      form.view = model.seeing(window);
      form.has_attention = true;
      form.has_mlp = !has_experts;
      form.has_experts = has_experts;
      form.vectors = norm_elements(model);
    }
  }
}

const std::vector<LayerForm>& LayerKinds::forms() const {
  return model_.mixed ? model_.mixed->forms : own_;
}

FormCounts LayerKinds::counts(std::int64_t begin, std::int64_t end) const {
  if (model_.mixed) return model_.mixed->counts(begin, end);
  const std::int64_t middle = std::clamp(model_.dense_layers(), begin, end);
  FormCounts counts{};
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const std::int64_t first = own_[i].has_experts ? middle : begin;
    const std::int64_t last = own_[i].has_experts ? end : middle;
    const std::int64_t full = model_.full_layers(first, last);
    counts[i] = own_[i].view.window == 0 ? full : last - first - full;
  }
  return counts;
}

Pass::Layer Pass::layer_of(const LayerForm& form, const Views& views, const Links& links) const {
  constexpr double kWord = 2.0;  // bytes of an element of a norm, and by default of a router
  Layer layer;
  layer.beside = form.vectors * kWord;
  layer.seen = views.index_of(form.seen());
  layer.held = views.index_of(form.view.window);
  layer.seen_far = views.index_of(form.seen_far());
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
      layer.last_of_attention = layer.products.size() - 1;
      // The layer reads the cache of the layer whose keys it uses, and has no cache of its own.
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
    if (!precision_.of(Module::Router).weights) {
      layer.beside += real(form.view.hidden * form.view.experts->count) *
                      (kWord - bytes_of(precision_.weights_of(Module::Router)));
    }
  } else if (form.has_mlp) {
    add_products(mlp_products(form.view, real(form.view.mlp) / t), Module::Dense, layer);
    layer.network = reduce;
  }
  return layer;
}

/// Adds compressed attention.  One short vector is both key and value, and each chip has a copy of
/// it; a compressed vector stands for `rate` tokens.
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
  Scan scan;
  scan.token = (form.scan / shares.products + form.delta / shares.delta_rule +
                form.scan_elementwise / shares.elementwise) /
               (peak * t);
  scan.bytes = bytes_of_states(form, precision_.state, t);
  scan.state = 2.0 * scan.bytes / reading;
  scan.start = form.scans.empty() ? 0.0 : shares.start.in_base_units();
  // Scores of an index are computed in 8 bits, and every chip computes all of them.
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

/// Tokens of a page, whose bytes hold the largest state of a layer; 0: no pages.
double Pass::page_tokens() const {
  if (!pool_.server || !has_pages(pool_.server->release)) return 0.0;
  const double cell = last_kind().attention.cached;
  double states = 0.0;
  for (const Layer& layer : kinds_) states = std::max(states, layer.scan.bytes);
  constexpr double kRows = 16.0;  // tokens of a block of attention kernels
  return cell > 0.0 && states > 0.0 ? std::ceil(states / cell / kRows) * kRows : 0.0;
}

double Pass::cached_in(const Stage& stage, const Cached& cached, double page) const {
  double bytes = 0.0;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const Layer& layer = kinds_[i];
    double tokens = cached.tokens[layer.held], states = layer.scan.bytes;
    if (page > 0.0) {
      tokens = std::ceil(tokens / page) * page;
      if (states > 0.0) states = page * last_kind().attention.cached;
    }
    bytes += real(stage.layers[i]) *
             (tokens * layer.attention.cached + cached.tokens[kAll] * layer.far.cached + states);
  }
  return bytes;
}

double Pass::state_bytes() const {
  double most = 0.0;
  for (const Stage& stage : stages_) most = std::max(most, cached_in(stage, {}, page_tokens()));
  return most;
}

double handed_bytes(const Task& task, const Structure& structure, const Cached& cached) {
  const Precision& precision = task.precisions[structure.precision];
  const LayerKinds kinds(task.model);
  const FormCounts layers = kinds.counts(0, task.model.layers);
  const Views views = views_of(task.model);
  double bytes = 0.0;
  for (std::size_t i = 0; i < kinds.forms().size(); ++i) {
    const LayerForm& form = kinds.forms()[i];
    const double elements = cached.tokens[views.index_of(form.view.window)] * form.cached(1.0) +
                            cached.tokens[kAll] * form.cached_far();
    bytes += real(layers[i]) *
             (elements * bytes_of(precision.cache) + bytes_of_states(form, precision.state, 1.0));
  }
  return bytes;
}

}  // namespace dfsearch::serving
