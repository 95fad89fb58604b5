// A pass is a list of kernels, each as long as its FLOP or its bytes, whichever is longer: an
// affine function of the batch, or the larger of two.  Sums of such functions never fall and are
// never steeper than proportional, which the search builds on (docs/serving.md, section 6).

#include "model/serving/pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace dfsearch::serving {
namespace {

/// Values of the cache of a token and layer on one of t chips.
double cached_values(const Transformer& model, double t) {
  if (model.latent) return real(model.latent->key_value_rank + model.latent->rope_dim);
  return std::max(real(model.kv_heads) / t, 1.0) * real(model.head_dim + model.value_dim);
}

}  // namespace

/// The products of one of t chips.
std::vector<Pass::Size> Pass::attention_products(const Transformer& model, double t) {
  const double h = real(model.hidden), a = real(model.heads), d = real(model.head_dim);
  const double v = real(model.value_dim);
  if (model.latent) {
    const auto& [query_rank, rank, rope] = *model.latent;
    const double q = real(query_rank), r = real(rank);
    const double own = d - real(rope);
    std::vector<Size> list;
    if (query_rank > 0) list.push_back({h * q, h, q});
    const double in = query_rank > 0 ? q : h;
    list.push_back({in * a * d / t, in, a * d / t});
    list.push_back({h * (r + real(rope)), h, r + real(rope)});
    list.push_back({r * a * (own + v) / t, a * (own + v) / t, 2.0 * a * r / t});
    list.push_back({a * v / t * h, a * v / t, h});
    return list;
  }
  const double out = a / t * d + std::max(real(model.kv_heads) / t, 1.0) * (d + v);
  return {{h * out, h, out}, {a * v / t * h, a * v / t, h}};
}

std::vector<Pass::Size> Pass::mlp_products(const Transformer& model, double width) {
  const double h = real(model.hidden);
  const double in = (model.gated ? 2.0 : 1.0) * width;
  return {{h * in, h, in}, {width * h, width, h}};
}

Pass::Pass(const Task& task, const Transformer& model, const Means& means,
           const Structure& structure)
    : model_(model),
      structure_(structure),
      precision_(task.precisions[structure.precision]),
      pool_(task.pools[structure.pool]),
      task_(task),
      layers_(model.layers),
      last_sight_(model.full_layers(layers_ - 1, layers_) == 1 ? kAll : kWindow),
      seen_{means.seen(0), means.seen(model.window)} {
  const double t = real(structure.tensor);
  const Shares& shares = pool_.engine.shares;
  const Links links(pool_);
  const double attention = pool_.peak_of(precision_.attention).in_base_units() * shares.attention;
  const double reading = pool_.machine.memory[0].bandwidth.in_base_units() * shares.cache;
  cached_ = cached_values(model, t) * bytes_of(precision_.cache);
  const double a = real(model.heads);
  const double prefill_flop = 2.0 * a / t * real(model.head_dim + model.value_dim);
  double decode_flop = prefill_flop;
  if (model.latent) {
    const double r = real(model.latent->key_value_rank), rope = real(model.latent->rope_dim);
    decode_flop = 2.0 * a / t * (2.0 * r + rope);
  }
  for (const std::size_t sight : {kAll, kWindow}) {
    decode_compute_[sight] = seen_[sight].context * decode_flop / attention;
    decode_cache_[sight] = seen_[sight].context * cached_ / reading;
  }
  prefill_compute_ = prefill_flop / attention;
  prefill_cache_ = cached_ / reading;

  if (model.dense_layers() > 0) dense_ = layer_of(false, links);
  if (model.experts) expert_ = layer_of(true, links);
  const double h = real(model.hidden), vocabulary = real(model.vocabulary) / t;
  const double embedding = h * vocabulary * bytes_of(precision_.weights_of(Module::Embedding));
  head_ = product({h * vocabulary, h, vocabulary}, Module::Head);
  joining_ = product({2.0 * h * h, 2.0 * h, h}, precision_.of_products(), precision_.weights);
  hop_ = links.hop(structure.stage_chips());
  hop_.per_byte *= h * bytes_of(precision_.communication) / t;

  const std::int64_t p = structure.pipeline;
  for (std::int64_t s = 0; s < p; ++s) {
    const std::int64_t first = s * layers_ / p, end = (s + 1) * layers_ / p;
    const std::int64_t dense =
        std::clamp<std::int64_t>(model.dense_layers() - first, 0, end - first);
    Stage stage{
        .dense = sights(model, first, first + dense),
        .expert = sights(model, first + dense, end),
        .is_last = s == p - 1,
        .weights = real(dense) * dense_.weights + real(end - first - dense) * expert_.weights};
    if (s == 0) stage.weights += embedding;
    if (stage.is_last) stage.weights += head_.bytes;
    stage.held = stage.weights;
    if (pool_.server) {
      // Norms, and routers unless their format is given, are in 16 bits.
      constexpr double kWord = 2.0;
      stage.held += real(end - first) * norm_elements(model) * kWord;
      if (model.experts && !precision_.of(Module::Router).weights) {
        stage.held += real(end - first - dense) * h * real(model.experts->count) *
                      (kWord - bytes_of(precision_.weights_of(Module::Router)));
      }
      if (model.experts && precision_.weights_of(Module::Experts) == Number::Mxfp4) {
        stage.held *= padding_of(pool_.server->release);
      }
    }
    stages_.push_back(stage);
  }
  const double width = model.dense_layers() > 0
                           ? real(model.mlp)
                           : real(model.experts->used) * real(model.experts->mlp);
  working_ = 3.0 * (h + width / t) * bytes_of(precision_.activations);
  const Layer& last = model.experts ? expert_ : dense_;
  const double router = model.experts ? h * real(model.experts->count) : 0.0;
  prediction_weights_ = last.weights + 2.0 * h * h * bytes_of(precision_.weights) -
                        router * bytes_of(precision_.weights_of(Module::Router));
}

Pass::Product Pass::product(const Size& size, Module module) const {
  return product(size, precision_.products_of(module), precision_.weights_of(module));
}

Pass::Product Pass::product(const Size& size, Number number, Number stored) const {
  const Shares& shares = pool_.engine.shares;
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
    layer.weights += layer.products.back().bytes;
  }
}

/// (9): one product of all experts of a rank.
void Pass::add_experts(const Links& links, Layer& layer) const {
  const dfsearch::Experts& experts = *model_.experts;
  const Shares& shares = pool_.engine.shares;
  const double h = real(model_.hidden), count = real(experts.count), used = real(experts.used);
  const double t = real(structure_.tensor), e = real(structure_.expert);
  const double sharing = real(structure_.stage_chips()) / e;  // chips of one expert
  const double matrices = real(model_.mlp_matrices());
  const double weight = bytes_of(precision_.weights_of(Module::Experts));
  const Number products = precision_.products_of(Module::Experts);
  const double memory = pool_.machine.memory[0].bandwidth.in_base_units() *
                        shares.experts_memory.value_or(shares.memory);
  const double peak = pool_.peak_of(products).in_base_units() *
                      shares.experts.value_or(shares.matrix_of(products)) * shares.experts_scale;

  add_products({{h * count, h, count}}, Module::Router, layer);
  if (experts.shared > 0) {
    add_products(mlp_products(model_, real(experts.shared) * real(experts.mlp) / t), Module::Shared,
                 layer);
  }
  const double own = matrices * h * real(experts.mlp) / sharing;  // parameters of an expert
  layer.has_experts = true;
  layer.experts.ranks = real(structure_.attention_data);
  layer.experts.rows_of_token = used / e * (structure_.expert > 1 ? experts.imbalance : 1.0);
  layer.experts.compute = 2.0 * own / peak;
  layer.experts.bytes = count / e * own * weight;
  layer.experts.weights = layer.experts.bytes / memory;
  layer.experts.padding = count / e * pool_.engine.tile / 2.0;
  const double value = bytes_of(precision_.activations) / memory;
  layer.experts.in = (h + (matrices - 1.0) * real(experts.mlp) / sharing) * value;
  layer.experts.out = (h + real(experts.mlp) / sharing) * value;
  layer.experts.log_miss = std::log1p(-used / count);
  layer.weights += layer.experts.bytes;
  add_exchange(links, layer);
}

/// (9a): the tokens on their way to experts and back.
void Pass::add_exchange(const Links& links, Layer& layer) const {
  const double h = real(model_.hidden), sent = bytes_of(precision_.communication);
  const double dispatch = bytes_of(precision_.dispatch.value_or(precision_.communication));
  const double combine = bytes_of(precision_.combine.value_or(precision_.communication));
  const auto add = [](const LinkTime& time, double bytes, LinkTime& sum) {
    sum.fixed += time.fixed;
    sum.per_byte += time.per_byte * bytes;
  };
  const std::int64_t stage = structure_.stage_chips();
  if (structure_.attention_data == 1) {
    // Tensor ranks hold the same tokens, wherever the experts are.
    if (stage > 1) add(links.all_reduce(stage), h * sent, layer.network_all);
    return;
  }
  if (structure_.expert == 1 || pool_.engine.exchange == Exchange::Gather) {
    // Each half of an all-reduce: all ranks get all tokens, and add up their parts.
    LinkTime half = links.all_reduce(stage);
    half = {.fixed = half.fixed / 2.0, .per_byte = half.per_byte / 2.0};
    add(half, h * dispatch, layer.network_all);
    add(half, h * combine, layer.network_all);
    return;
  }
  const LinkTime exchange = links.all_to_all(structure_.expert);
  const double copies =
      h / real(structure_.tensor) * std::min(real(model_.experts->used), real(structure_.expert));
  for (const double bytes : {dispatch, combine}) add(exchange, copies * bytes, layer.network);
  const std::int64_t chips = stage / structure_.expert;
  if (chips > 1) {
    add(links.all_reduce(chips), layer.experts.rows_of_token * h * sent, layer.network_all);
  }
}

Pass::Layer Pass::layer_of(bool with_experts, const Links& links) const {
  Layer layer;
  const double t = real(structure_.tensor);
  const double sent = real(model_.hidden) * bytes_of(precision_.communication);
  layer.host = pool_.engine.layer.in_base_units();
  add_products(attention_products(model_, t), Module::Attention, layer);
  layer.last_of_attention = layer.products.size() - 1;
  const LinkTime reduce = structure_.tensor > 1 ? links.all_reduce(structure_.tensor) : LinkTime{};
  layer.reduce = {.fixed = reduce.fixed, .per_byte = reduce.per_byte * sent};
  if (with_experts) {
    layer.host += pool_.engine.expert_layer.in_base_units();
    if (structure_.attention_data > 1) layer.host += pool_.engine.rank_layer.in_base_units();
    add_experts(links, layer);
    return layer;
  }
  add_products(mlp_products(model_, real(model_.mlp) / t), Module::Dense, layer);
  layer.network = layer.reduce;
  return layer;
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

std::vector<FusedKernel> Pass::chain_of(const Layer& layer, std::size_t sight,
                                        const PassWork& work) const {
  const double tokens = work.tokens();
  const Scores& scores = work.prefill.scores[sight];
  std::vector<FusedKernel> chain;
  for (std::size_t i = 0; i < layer.products.size(); ++i) {
    const Product& product = layer.products[i];
    const bool is_last = i == layer.last_of_attention;
    if (is_last) {
      // Attention reads the output of the product before it, and makes the input of this one.
      chain.push_back(
          {.products = work.requests * decode_compute_[sight] * work.tokens_of_request +
                       scores.pairs * prefill_compute_,
           .cache = work.requests * decode_cache_[sight] + scores.entries * prefill_cache_,
           .in = layer.products[i - 1].out * tokens,
           .out = product.in * tokens});
    }
    chain.push_back({.products = product.compute * tokens,
                     .weights = product.weights,
                     .network = is_last ? layer.reduce.of(tokens) : 0.0,
                     .in = product.in * tokens,
                     .out = product.out * tokens,
                     .bytes = product.bytes});
  }
  if (layer.has_experts) {
    const Experts& experts = layer.experts;
    const double all = experts.all(work), rows = experts.rows_of_token * all;
    chain.push_back({.products = experts.products(all),
                     .weights = experts.weights * experts.hit(all),
                     .in = experts.in * rows,
                     .out = experts.out * rows,
                     .bytes = experts.bytes});
  }
  chain.back().network += layer.network.of(tokens);
  if (layer.has_experts) chain.back().network += layer.network_all.of(layer.experts.all(work));
  return chain;
}

void Pass::put_fused(const Layer& layer, std::size_t sight, const PassWork& work,
                     PartTimes& parts) const {
  const PartTimes own = least_fused(chain_of(layer, sight, work), pool_.machine.accelerator.sram,
                                    pool_.execution.overlap);
  for (std::size_t i = 0; i < kParts; ++i) parts[i] += own[i];
  of(parts, Part::Host) += layer.host;
}

bool Pass::is_cut() const {
  return pool_.execution.style == Style::Dataflow &&
         Bytes(std::max(dense_.weights, expert_.weights)) > pool_.machine.accelerator.sram;
}

void Pass::put(const Layer& layer, std::size_t sight, const PassWork& work,
               PartTimes& parts) const {
  if (pool_.execution.style == Style::Dataflow) return put_fused(layer, sight, work, parts);
  const double tokens = work.tokens();
  for (const Product& product : layer.products) put(product, tokens, parts);
  if (layer.has_experts) {
    const Experts& experts = layer.experts;
    const double all = experts.all(work), rows = experts.rows_of_token * all;
    put({.compute = experts.products(all),
         .weights = experts.weights * experts.hit(all),
         .in = experts.in * rows,
         .out = experts.out * rows,
         .bytes = experts.bytes},
        1.0, parts);
    of(parts, Part::Network) += layer.network_all.of(all);
  }
  const double decode = work.requests * decode_compute_[sight] * work.tokens_of_request;
  const double decode_cache = work.requests * decode_cache_[sight];
  of(parts, decode >= decode_cache ? Part::Products : Part::Cache) +=
      std::max(decode, decode_cache);
  const Scores& scores = work.prefill.scores[sight];
  const double prefill = scores.pairs * prefill_compute_;
  const double prefill_cache = scores.entries * prefill_cache_;
  of(parts, prefill >= prefill_cache ? Part::Products : Part::Cache) +=
      std::max(prefill, prefill_cache);
  of(parts, Part::Network) += layer.reduce.of(tokens) + layer.network.of(tokens);
  of(parts, Part::Host) += layer.host;
}

void Pass::put(const Stage& stage, const PassWork& work, PartTimes& parts) const {
  const auto add = [&](const Layer& layer, const std::array<double, kSights>& counts) {
    for (std::size_t sight = 0; sight < kSights; ++sight) {
      if (counts[sight] == 0.0) continue;
      PartTimes one{};
      put(layer, sight, work, one);
      for (std::size_t i = 0; i < kParts; ++i) parts[i] += counts[sight] * one[i];
    }
  };
  add(dense_, stage.dense);
  add(expert_, stage.expert);
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

}  // namespace

PassTime Pass::time(const PassWork& work) const {
  PassTime time;
  double before = -1.0;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = stages_[s];
    // Stages of the same layers take the same time.
    const bool like_last = s > 0 && !stage.is_last && stage.dense == stages_[s - 1].dense &&
                           stage.expert == stages_[s - 1].expert;
    if (!like_last) {
      PartTimes parts{};
      put(stage, work, parts);
      before = sum(parts);
    }
    time.period = std::max(time.period, before);
    time.latency += before;
  }
  return time;
}

PartTimes Pass::parts(const PassWork& work, bool of_all) const {
  PartTimes slowest{}, all{};
  for (const Stage& stage : stages_) {
    PartTimes parts{};
    put(stage, work, parts);
    for (std::size_t i = 0; i < kParts; ++i) all[i] += parts[i];
    if (sum(parts) > sum(slowest)) slowest = parts;
  }
  return of_all ? all : slowest;
}

double Pass::prediction_layer(double requests) const {
  PartTimes parts{};
  put(model_.experts ? expert_ : dense_, last_sight_, {.requests = requests, .prefill = {}}, parts);
  put(joining_, requests, parts);
  put(head_, requests, parts);
  return sum(parts);
}

double Pass::cached_bytes(const Cached& cached) const {
  return cached.in(sights(model_, 0, layers_)) * cached_;
}

ServerMemory Pass::memory_of_stage(const Stage& stage, double tokens, double requests,
                                   double drafts) const {
  const double total = pool_.machine.memory[0].capacity.in_base_units();
  const double weights = stage.held + drafts;
  if (pool_.server) {
    const Server& server = *pool_.server;
    const double together = requests * real(structure_.pipeline);
    const IterationSize size{
        .tokens = server.batched_tokens ? real(*server.batched_tokens) : tokens,
        .requests = std::max(real(server.max_seqs), together)};
    const ServerChip chip{.total = total,
                          .share = pool_.engine.usable,
                          .tensor = real(structure_.tensor),
                          .together = structure_.chips()};
    return memory_of(server, model_, chip, weights, size, task_.level);
  }
  ServerMemory memory{.weights = weights,
                      .activation = tokens * working_,
                      .outside = pool_.engine.reserved.in_base_units()};
  memory.cache =
      pool_.usable().in_base_units() - memory.weights - memory.activation - memory.outside;
  return memory;
}

namespace {

/// The memory that fills the usable share, where caches take `cached` of their room.
double filled(const ServerMemory& memory, const Pool& pool, double cached) {
  if (!pool.server) return memory.weights + cached + memory.activation + memory.outside;
  return pool.usable().in_base_units() - memory.cache + cached;
}

}  // namespace

double Pass::memory(double requests, const Cached& cached, double tokens, double drafts) const {
  double fullest = 0.0;
  for (const Stage& stage : stages_) {
    const double caches = requests * real(structure_.pipeline) *
                          (cached.in(stage.dense) + cached.in(stage.expert)) * cached_;
    fullest =
        std::max(fullest, filled(memory_of_stage(stage, tokens, requests, drafts), pool_, caches));
  }
  return fullest;
}

ServerMemory Pass::parts_of_memory(double requests, const Cached& cached, double tokens,
                                   double drafts) const {
  ServerMemory fullest;
  double most = 0.0;
  for (const Stage& stage : stages_) {
    const double caches = requests * real(structure_.pipeline) *
                          (cached.in(stage.dense) + cached.in(stage.expert)) * cached_;
    const ServerMemory memory = memory_of_stage(stage, tokens, requests, drafts);
    const double full = filled(memory, pool_, caches);
    if (full <= most) continue;
    most = full;
    fullest = memory;
    const auto layers = [](const std::array<double, kSights>& counts) {
      return counts[kAll] + counts[kWindow];
    };
    fullest.cell = (layers(stage.dense) + layers(stage.expert)) * cached_;
  }
  return fullest;
}

LeastTimes Pass::least_times() const {
  LeastTimes least{.host = pool_.engine.pass.in_base_units(),
                   .weights = head_.weights,
                   .cache = 0.0,
                   .token = 0.0,
                   .head = head_.compute,
                   .context = 0.0,
                   .pairs = 0.0};
  const std::array<double, kSights> layers = sights(model_, 0, layers_);
  for (std::size_t sight = 0; sight < kSights; ++sight) {
    least.cache += layers[sight] * decode_cache_[sight];
    least.context += layers[sight] * decode_compute_[sight];
    least.pairs += layers[sight] * prefill_compute_ * seen_[sight].pairs;
  }
  const auto add = [&](double count, const Layer& layer) {
    least.host += count * layer.host;
    for (const Product& product : layer.products) {
      least.weights += count * product.weights;
      least.token += count * product.compute;
    }
    if (!layer.has_experts) return;
    const Experts& experts = layer.experts;
    least.weights += count * experts.weights * experts.hit(1.0);
    least.token += count * experts.compute * experts.rows_of_token;
  };
  for (const Stage& stage : stages_) {
    add(stage.dense[kAll] + stage.dense[kWindow], dense_);
    add(stage.expert[kAll] + stage.expert[kWindow], expert_);
  }
  return least;
}

double cached_bytes(const Task& task, const Structure& structure) {
  return cached_values(task.model, 1.0) * bytes_of(task.precisions[structure.precision].cache);
}

namespace {

/// Calls `say` with a function that makes the text of the first rule that is broken; true if none
/// is.
template <class Say>
bool keeps_rules(const Task& task, const Structure& s, const Say& say) {
  const Transformer& model = task.model;
  const Pool& pool = task.pools[s.pool];
  const std::int64_t stage = s.stage_chips();
  const Links links(pool);
  const auto refuse = [&](const auto& text) {
    say(text);
    return false;
  };
  if (model.heads % s.tensor != 0) {
    return refuse([&] {
      return fmt::format("tensor: {} does not divide the heads, {}", s.tensor, model.heads);
    });
  }
  if (s.pipeline > model.layers) {
    return refuse([&] {
      return fmt::format("pipeline: {} is more than the layers, {}", s.pipeline, model.layers);
    });
  }
  if (s.expert > 1 && !model.experts) {
    return refuse([&] { return fmt::format("expert: {} of a model without experts", s.expert); });
  }
  if (s.expert > 1 && model.experts->count % s.expert != 0) {
    return refuse([&] {
      return fmt::format("expert: {} does not divide the experts, {}", s.expert,
                         model.experts->count);
    });
  }
  if (stage % s.expert != 0) {
    return refuse([&] {
      return fmt::format(
          "expert: {} does not divide the chips of a stage, tensor times "
          "attention_data, {}",
          s.expert, stage);
    });
  }
  for (const auto& [group, of] :
       {std::pair(s.tensor, "tensor"), std::pair(stage, "a stage"), std::pair(s.expert, "expert"),
        std::pair(stage / s.expert, "each expert")}) {
    if (links.holds(group)) continue;
    return refuse([&, group = group, of = of] {
      return fmt::format(
          "{}: a group of {} chips does not fill the dimensions of the network of {}", of, group,
          pool.name);
    });
  }
  return true;
}

}  // namespace

bool legal(const Task& task, const Structure& structure) {
  return keeps_rules(task, structure, [](const auto&) {});
}

std::string misfit(const Task& task, const Structure& structure) {
  std::string text;
  keeps_rules(task, structure, [&](const auto& make) { text = make(); });
  return text;
}

bool has_room(const Task& task, const Role& role) {
  const Structure& s = role.structure;
  const std::int64_t chips = task.pools[s.pool].chips;
  for (const std::int64_t count :
       {s.tensor, s.pipeline, s.attention_data, s.expert, role.replicas}) {
    if (count < 1 || count > chips) return false;
  }
  // A product of reals, since it may leave 64 bits.
  const double all =
      real(s.tensor) * real(s.pipeline) * real(s.attention_data) * real(role.replicas);
  return role.batch >= 1 && all <= real(chips) && legal(task, s);
}

}  // namespace dfsearch::serving
