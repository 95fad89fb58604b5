// A pass is a list of kernels.  Each takes the time of its FLOP or of its bytes, whichever is
// longer: an affine function of the batch, or the larger of two.  Sums of such functions never
// fall, and never rise faster than in proportion to the batch.  The search depends on both
// properties (docs/serving.md, section 6).

#include "model/serving/pass.hpp"

#include <algorithm>
#include <utility>

#include "graph/workloads/blocks/mixed_layers.hpp"
#include "model/serving/expert_balance.hpp"

namespace dfsearch::serving {
namespace {

/// Values that a token adds to the cache of a layer on one of t chips.
double cached_values(const Transformer& model, double t) {
  if (model.latent) return real(model.latent->key_value_rank + model.latent->rope_dim);
  return std::max(real(model.kv_heads) / t, 1.0) * real(model.head_dim + model.value_dim);
}

}  // namespace

/// The products of attention on one of t chips.
std::vector<Pass::Size> Pass::attention_products(const Transformer& model, double t, double made) {
  const double h = real(model.hidden), a = real(model.heads), d = real(model.head_dim);
  const double v = real(model.value_dim);
  if (model.latent) {
    const auto& [query_rank, rank, rope] = *model.latent;
    const double q = real(query_rank), r = real(rank);
    const double own = d - real(rope);
    std::vector<Size> list;
    if (query_rank > 0) list.push_back({h * q, h, q, "queries down"});
    const double in = query_rank > 0 ? q : h;
    list.push_back({in * a * d / t, in, a * d / t, "queries"});
    list.push_back({h * (r + real(rope)), h, r + real(rope), "keys and values down"});
    list.push_back({r * a * (own + v) / t, a * (own + v) / t, 2.0 * a * r / t, "keys and values"});
    list.push_back({a * v / t * h, a * v / t, h, "projection"});
    return list;
  }
  const double out = a / t * d + std::max(real(model.kv_heads) / t, 1.0) * made;
  return {{h * out, h, out, "queries, keys, values"}, {a * v / t * h, a * v / t, h, "projection"}};
}

std::vector<Pass::Size> Pass::mlp_products(const Transformer& model, double width) {
  const double h = real(model.hidden);
  const double in = (model.gated ? 2.0 : 1.0) * width;
  return {{h * in, h, in, model.gated ? "gate and up" : "up"}, {width * h, width, h, "down"}};
}

Pass::Pass(const Task& task, const Transformer& model, const Means& means,
           const Structure& structure)
    : model_(model),
      structure_(structure),
      precision_(task.precisions[structure.precision]),
      pool_(task.pools[structure.pool]),
      task_(task) {
  const Views views = views_of(model);
  for (std::size_t sight = 0; sight < views.count; ++sight) {
    seen_[sight] = means.seen(views.window[sight]);
  }
  const double t = real(structure.tensor);
  const Links links(pool_);
  const LayerKinds kinds(model);
  const FormCounts last = kinds.counts(model.layers - 1, model.layers);
  for (std::size_t i = 0; i < kinds.forms().size(); ++i) {
    const LayerForm& form = kinds.forms()[i];
    kinds_.push_back(layer_of(form, views, links));
    if (model.mixed ? form.has_attention && form.makes_keys : last[i] > 0) last_kind_ = i;
  }
  const double h = real(model.hidden), vocabulary = real(model.vocabulary) / t;
  const double tables = model.mixed ? model.mixed->tables / t : 0.0;
  const double embedding =
      (h * vocabulary + tables) * bytes_of(precision_.weights_of(Module::Embedding));
  head_ = product({h * vocabulary, h, vocabulary}, Module::Head);
  joining_ = product({2.0 * h * h, 2.0 * h, h}, precision_.of_products(), precision_.weights);
  hop_ = links.hop(structure.stage_chips());
  hop_.per_byte *= h * bytes_of(precision_.communication) / t;

  const std::int64_t p = structure.pipeline;
  for (std::int64_t s = 0; s < p; ++s) {
    Stage stage{.layers = kinds.counts(s * model.layers / p, (s + 1) * model.layers / p),
                .is_last = s == p - 1};
    double beside = 0.0;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      stage.weights += real(stage.layers[i]) * kinds_[i].weights;
      beside += real(stage.layers[i]) * kinds_[i].beside;
    }
    if (s == 0) stage.weights += embedding;
    if (stage.is_last) stage.weights += head_.bytes;
    stage.held = stage.weights;
    if (pool_.server) {
      stage.held += beside;
      if (model.experts && precision_.weights_of(Module::Experts) == Number::Mxfp4) {
        stage.held *= padding_of(pool_.server->release);
      }
    }
    stages_.push_back(stage);
  }
  for (std::size_t s = 1; s < stages_.size(); ++s) {
    const Stage &stage = stages_[s], &before = stages_[s - 1];
    stages_[s].repeats = !stage.is_last && stage.layers == before.layers;
  }
  const double width = model.dense_layers() > 0
                           ? real(model.mlp)
                           : real(model.experts->used) * real(model.experts->mlp);
  working_ = 3.0 * (h + width / t) * bytes_of(precision_.activations);
  const double router = model.experts ? h * real(model.experts->count) : 0.0;
  prediction_weights_ = last_kind().weights + 2.0 * h * h * bytes_of(precision_.weights) -
                        router * bytes_of(precision_.weights_of(Module::Router));
}

Pass::Product Pass::product(const Size& size, Module module) const {
  return product(size, precision_.products_of(module), precision_.weights_of(module));
}

Pass::Product Pass::product(const Size& size, Number number, Number stored) const {
  const Shares& shares = pool_.engine.shares;
  number = pool_.multiplied(number);
  const double memory = pool_.machine.memory[0].bandwidth.in_base_units() * shares.memory;
  const double value = bytes_of(precision_.activations) / memory;
  const double bytes = size.parameters * bytes_of(stored);
  return {.compute = 2.0 * size.parameters /
                     (pool_.peak_of(number).in_base_units() * shares.matrix_of(number)),
          .weights = bytes / memory,
          .in = size.in * value,
          .out = size.out * value,
          .bytes = bytes};
}

void Pass::add_products(const std::vector<Size>& list, Module module, Layer& layer) const {
  for (const Size& size : list) {
    layer.products.push_back(product(size, module));
    layer.products.back().name = size.name;
    layer.products.back().module = module;
    layer.weights += layer.products.back().bytes;
  }
}

/// (8): the times of attention on one of t chips.
Pass::Attention Pass::attention_of(const Transformer& model) const {
  const double t = real(structure_.tensor);
  const Shares& shares = pool_.engine.shares;
  const double rate = pool_.peak_of(precision_.attention).in_base_units() * shares.attention;
  const double reading = pool_.machine.memory[0].bandwidth.in_base_units() * shares.cache;
  Attention attention{.cached = cached_values(model, t) * bytes_of(precision_.cache)};
  const double a = real(model.heads);
  const double prefill_flop = 2.0 * a / t * real(model.head_dim + model.value_dim);
  double decode_flop = prefill_flop;
  if (model.latent) {
    const double r = real(model.latent->key_value_rank), rope = real(model.latent->rope_dim);
    decode_flop = 2.0 * a / t * (2.0 * r + rope);
  }
  for (std::size_t sight = 0; sight < kSights; ++sight) {
    attention.decode_compute[sight] = seen_[sight].context * decode_flop / rate;
    attention.decode_cache[sight] = seen_[sight].context * attention.cached / reading;
  }
  attention.prefill_compute = prefill_flop / rate;
  attention.prefill_cache = attention.cached / reading;
  return attention;
}

/// (9): adds the experts of a rank, as one product.
void Pass::add_experts(const Transformer& model, const Links& links, Layer& layer) const {
  const dfsearch::Experts& experts = *model.experts;
  const Shares& shares = pool_.engine.shares;
  const double h = real(model.hidden), in = experts.latent > 0 ? real(experts.latent) : h;
  const double count = real(experts.count), used = real(experts.used);
  const double t = real(structure_.tensor), e = real(structure_.expert);
  const double slots = (count + real(structure_.redundant_experts)) / e;  // of a rank
  const double sharing = real(structure_.stage_chips()) / e;  // chips that share an expert
  const double matrices = real(model.mlp_matrices());
  const double weight = bytes_of(precision_.weights_of(Module::Experts));
  const Number products = pool_.multiplied(precision_.products_of(Module::Experts));
  const double memory = pool_.machine.memory[0].bandwidth.in_base_units() *
                        shares.experts_memory.value_or(shares.memory);
  const double peak = pool_.peak_of(products).in_base_units() *
                      shares.experts.value_or(shares.matrix_of(products)) * shares.experts_scale;

  add_products({{h * count, h, count, "scores"}}, Module::Router, layer);
  if (experts.shared > 0) {
    add_products(mlp_products(model, real(experts.shared) * real(experts.mlp) / t), Module::Shared,
                 layer);
  }
  const double own = matrices * in * real(experts.mlp) / sharing;  // of an expert on a chip
  layer.has_experts = true;
  layer.experts.ranks = real(structure_.attention_data);
  double imbalance = structure_.expert > 1 ? experts.imbalance : 1.0;
  if (structure_.expert > 1 && task_.popularity) {
    imbalance = expert_imbalance(experts.count, structure_.expert, structure_.redundant_experts,
                                 *task_.popularity);
    if (*task_.popularity == 0.0) layer.experts.chance = chance_of_ranks(structure_.expert);
  }
  layer.experts.rows_of_token = used / e * imbalance;
  layer.experts.compute = 2.0 * own / peak;
  layer.experts.bytes = slots * own * weight;
  layer.experts.weights = layer.experts.bytes / memory;
  layer.experts.padding = slots * pool_.engine.tile / 2.0;
  const double value = bytes_of(precision_.activations) / memory;
  layer.experts.in = (in + (matrices - 1.0) * real(experts.mlp) / sharing) * value;
  layer.experts.out = (in + real(experts.mlp) / sharing) * value;
  layer.experts.log_miss = std::log1p(-used / count);
  layer.weights += layer.experts.bytes;
  add_exchange(model, links, layer);
}

/// (9a): adds the exchange of tokens with the ranks of their experts.
void Pass::add_exchange(const Transformer& model, const Links& links, Layer& layer) const {
  const double h = real(model.experts->latent > 0 ? model.experts->latent : model.hidden),
               sent = bytes_of(precision_.communication);
  const double dispatch = bytes_of(precision_.dispatch.value_or(precision_.communication));
  const double combine = bytes_of(precision_.combine.value_or(precision_.communication));
  const auto add = [](const LinkTime& time, double bytes, LinkTime& sum) {
    sum.fixed += time.fixed;
    sum.per_byte += time.per_byte * bytes;
  };
  const std::int64_t stage = structure_.stage_chips();
  if (structure_.attention_data == 1) {
    // All tensor ranks have the same tokens, so no tokens are sent to experts.
    if (stage > 1) add(links.all_reduce(stage), h * sent, layer.network_all);
    return;
  }
  if (structure_.expert == 1 || pool_.engine.exchange == Exchange::Gather) {
    // All ranks get all tokens, and then add up their parts: the two halves of an all-reduce.
    LinkTime half = links.all_reduce(stage);
    half = {.fixed = half.fixed / 2.0, .per_byte = half.per_byte / 2.0};
    add(half, h * dispatch, layer.network_all);
    add(half, h * combine, layer.network_all);
    return;
  }
  const double used = real(model.experts->used), chosen = std::min(used, real(structure_.expert));
  double leaving = 1.0;
  if (pool_.engine.dispatch == Dispatch::PerNode) {
    // Mean number of groups with experts of a token, if all groups are equally likely.
    const double groups = real(links.groups(structure_.expert));
    const double hit = groups * (1.0 - std::pow(1.0 - 1.0 / groups, used));
    const double most = pool_.engine.node_limit ? real(*pool_.engine.node_limit) : hit;
    leaving = std::min({hit, most, chosen}) / chosen;
  }
  const LinkTime exchange = links.all_to_all(structure_.expert, leaving);
  const double copies = h / real(structure_.tensor) * chosen;
  for (const double bytes : {dispatch, combine}) add(exchange, copies * bytes, layer.network);
  const std::int64_t chips = stage / structure_.expert;
  if (chips > 1) {
    add(links.all_reduce(chips), layer.experts.rows_of_token * h * sent, layer.network_all);
  }
}

void Pass::put(const Product& product, double tokens, PartTimes& parts) const {
  const double compute = product.compute * tokens;
  const double values = product.values() * tokens;
  if (compute >= product.weights + values) {
    of(parts, Part::Products) += compute;
  } else {
    of(parts, Part::Weights) += product.weights;
    of(parts, Part::Products) += values;
  }
}

Pass::Scoring Pass::scoring(const Layer& layer, const PassWork& work) {
  Scoring sum;
  const auto add = [&](const Attention& attention, std::size_t view) {
    const Scores& scores = work.prefill.scores[view];
    sum.decode += work.requests * attention.decode_compute[view] * work.tokens_of_request;
    sum.decode_cache += work.requests * attention.decode_cache[view];
    sum.prefill += scores.pairs * attention.prefill_compute;
    sum.prefill_cache += scores.entries * attention.prefill_cache;
  };
  add(layer.attention, layer.seen);
  add(layer.far, layer.seen_far);
  return sum;
}

void Pass::put(const Layer& layer, const PassWork& work, PartTimes& parts) const {
  if (pool_.execution.style == Style::Dataflow) return put_fused(layer, work, parts);
  const double tokens = work.tokens();
  for (const Product& product : layer.products) put(product, tokens, parts);
  if (layer.has_experts) {
    const Experts& experts = layer.experts;
    const double all = experts.all(work), rows = experts.rows(all);
    put({.compute = experts.products(all),
         .weights = experts.weights * experts.hit(all),
         .in = experts.in * rows,
         .out = experts.out * rows,
         .bytes = experts.bytes},
        1.0, parts);
    of(parts, Part::Network) += layer.network_all.of(all);
  }
  const Scoring scores = scoring(layer, work);
  of(parts, scores.decode >= scores.decode_cache ? Part::Products : Part::Cache) +=
      std::max(scores.decode, scores.decode_cache);
  of(parts, scores.prefill >= scores.prefill_cache ? Part::Products : Part::Cache) +=
      std::max(scores.prefill, scores.prefill_cache);
  of(parts, Part::Network) += layer.reduce.of(tokens) + layer.network.of(tokens);
  of(parts, Part::Host) += layer.host;
  put_scan(layer.scan, work, parts);
}

void Pass::put(const Stage& stage, const PassWork& work, LayerTimes& known,
               PartTimes& parts) const {
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    const double count = real(stage.layers[kind]);
    if (count == 0.0) continue;
    std::optional<PartTimes>& one = known[kind];
    if (!one) put(kinds_[kind], work, one.emplace());
    for (std::size_t i = 0; i < kParts; ++i) parts[i] += count * (*one)[i];
  }
  const Engine& engine = pool_.engine;
  of(parts, Part::Host) +=
      engine.pass.in_base_units() + engine.request.in_base_units() * work.requests;
  if (stages_.size() > 1) of(parts, Part::Network) += hop_.of(work.tokens());
  if (stage.is_last && model_.vocabulary > 0) {
    put(head_, work.requests * work.tokens_of_request + work.prefill.requests, parts);
  }
}

namespace {

double sum(const PartTimes& parts) {
  double sum = 0.0;
  for (const double part : parts) sum += part;
  return sum;
}

PassWork half_of(PassWork work) {
  work.requests /= 2.0;
  work.all_tokens /= 2.0;
  work.prefill = work.prefill.times(0.5);
  return work;
}

}  // namespace

/// (8), or (8a) if two halves of the batch take turns.
PartTimes Pass::parts_of(const Stage& stage, const PassWork& work, LayerTimes& known,
                         LayerTimes& of_half) const {
  PartTimes parts{};
  put(stage, work, known, parts);
  if (structure_.sub_batches == 1) return parts;
  const double network = of(parts, Part::Network);
  PartTimes half{};
  put(stage, half_of(work), of_half, half);
  of(half, Part::Network) = 0.0;
  const double compute = sum(half);
  for (double& part : half) part *= 2.0;
  of(half, Part::Network) =
      std::max(network - 2.0 * compute, 0.0) + std::min(compute, network / 2.0);
  return half;
}

PassTime Pass::time(const PassWork& work) const {
  PassTime time;
  double before = -1.0;
  LayerTimes known, of_half;
  for (const Stage& stage : stages_) {
    if (!stage.repeats) before = sum(parts_of(stage, work, known, of_half));
    time.period = std::max(time.period, before);
    time.latency += before;
  }
  return time;
}

PartTimes Pass::parts(const PassWork& work, bool of_all) const {
  PartTimes slowest{}, all{};
  LayerTimes known, of_half;
  for (const Stage& stage : stages_) {
    const PartTimes parts = parts_of(stage, work, known, of_half);
    for (std::size_t i = 0; i < kParts; ++i) all[i] += parts[i];
    if (sum(parts) > sum(slowest)) slowest = parts;
  }
  return of_all ? all : slowest;
}

double Pass::prediction_layer(double requests) const {
  PartTimes parts{};
  put(last_kind(), {.requests = requests, .prefill = {}}, parts);
  put(joining_, requests, parts);
  put(head_, requests, parts);
  return sum(parts);
}

LeastTimes Pass::least_times() const {
  LeastTimes least{.host = pool_.engine.pass.in_base_units(),
                   .weights = head_.weights,
                   .cache = 0.0,
                   .token = 0.0,
                   .head = head_.compute,
                   .context = 0.0,
                   .pairs = 0.0};
  const auto add_attention = [&](const Attention& attention, double count, std::size_t sight) {
    least.cache += count * attention.decode_cache[sight];
    least.context += count * attention.decode_compute[sight];
    least.pairs += count * attention.prefill_compute * seen_[sight].pairs;
  };
  const FormCounts layers = LayerKinds(model_).counts(0, model_.layers);
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    const double count = real(layers[kind]);
    const Layer& layer = kinds_[kind];
    const Scan& scan = layer.scan;
    add_attention(layer.attention, count, layer.seen);
    add_attention(layer.far, count, layer.seen_far);
    least.cache += count * scan.state;
    least.context += count * scan.decode_index;
    least.pairs += count * scan.pair * seen_[kAll].pairs;
    least.host += count * (scan.start + layer.host);
    for (const Product& product : layer.products) {
      least.weights += count * product.weights;
      least.token += count * product.compute;
    }
    if (!layer.has_experts) continue;
    const Experts& experts = layer.experts;
    least.weights += count * experts.weights * experts.hit(1.0);
    least.token += count * experts.compute * experts.rows_of_token;
  }
  return least;
}

}  // namespace dfsearch::serving
