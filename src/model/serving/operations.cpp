// The kernels of a pass one by one, compared with the time at the peaks of the chip: a roofline
// (Williams, Waterman and Patterson, Communications of the ACM 52, 2009).

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "model/serving/pass.hpp"

namespace dfsearch::serving {
namespace {

/// The key of the engine that states the share of the peak for products in this format.
std::string_view matrix_key(const Shares& shares, Number number) {
  if (bytes_of(number) < 1.0 && shares.matrix_4bit) return "matrix_4bit";
  return bytes_of(number) == 1.0 && shares.matrix_8bit ? "matrix_8bit" : "matrix";
}

/// The time of a kernel, which is the longer of its compute and memory times, and the quotient of
/// its time at the peaks of the chip and this time.
struct Longest {
  double seconds, reached;
  bool is_compute;

  Longest(double compute, double compute_share, double memory, double memory_share)
      : seconds(std::max(compute, memory)), is_compute(compute >= memory) {
    const double least = std::max(compute * compute_share, memory * memory_share);
    reached = seconds > 0.0 ? least / seconds : 0.0;
  }
};

void add(Operation operation, std::vector<Operation>& list) {
  if (!(operation.seconds > 0.0)) return;
  const auto same = std::find_if(list.begin(), list.end(), [&](const Operation& known) {
    return known.name == operation.name && known.rate == operation.rate;
  });
  if (same == list.end()) {
    list.push_back(std::move(operation));
    return;
  }
  // Merges layers that see a window with layers that see all tokens.
  const double seconds = same->seconds + operation.seconds;
  same->reached = (same->reached * same->seconds + operation.reached * operation.seconds) / seconds;
  same->count += operation.count;
  same->seconds = seconds;
}

}  // namespace

Operation Pass::operation(const Product& product, double count, double tokens) const {
  const Shares& shares = pool_.engine.shares;
  const Number number = pool_.multiplied(precision_.products_of(product.module));
  const Longest time(product.compute * tokens, shares.matrix_of(number),
                     product.weights + product.values() * tokens, shares.memory);
  const std::string_view key = time.is_compute ? matrix_key(shares, number) : "memory";
  return {
      .name =
          fmt::format("{}{}{}", name_of(product.module), *product.name ? ": " : "", product.name),
      .count = count,
      .seconds = count * time.seconds,
      .reached = time.reached,
      .rate = time.is_compute ? fmt::format("{} of {}", key, name_of(number)) : std::string(key)};
}

void Pass::add_operations(const Layer& layer, double count, const PassWork& work,
                          std::vector<Operation>& list) const {
  const Shares& shares = pool_.engine.shares;
  const double tokens = work.tokens();
  const auto attention = [&](const char* name, double compute, double cache) {
    const Longest time(compute, shares.attention, cache, shares.cache);
    add({.name = name,
         .count = count,
         .seconds = count * time.seconds,
         .reached = time.reached,
         .rate = time.is_compute ? "attention" : "cache"},
        list);
  };
  const auto network = [&](const char* name, double seconds) {
    add({.name = name, .count = count, .seconds = count * seconds, .rate = "network"}, list);
  };
  for (std::size_t i = 0; i < layer.products.size(); ++i) {
    if (i == layer.last_of_attention) {
      const Scoring scores = scoring(layer, work);
      attention("attention: decoding", scores.decode, scores.decode_cache);
      attention("attention: prefill", scores.prefill, scores.prefill_cache);
    }
    add(operation(layer.products[i], count, tokens), list);
    if (i == layer.last_of_attention) network("network: attention", layer.reduce.of(tokens));
  }
  if (layer.has_experts) {
    const Experts& experts = layer.experts;
    const double all = experts.all(work), rows = experts.rows(all);
    const Number number = pool_.multiplied(precision_.products_of(Module::Experts));
    const double reached = shares.experts.value_or(shares.matrix_of(number)) * shares.experts_scale;
    const Longest time(experts.products(all), reached,
                       experts.weights * experts.hit(all) + (experts.in + experts.out) * rows,
                       shares.experts_memory.value_or(shares.memory));
    add({.name = "experts: all of a chip",
         .count = count,
         .seconds = count * time.seconds,
         .reached = time.reached,
         .rate = time.is_compute ? fmt::format("experts_scale of {}", name_of(number))
                                 : "experts_memory"},
        list);
    network("network: experts", layer.network.of(tokens) + layer.network_all.of(all));
  } else {
    network("network: MLP", layer.network.of(tokens));
  }
  PartTimes scan{};
  put_scan(layer.scan, work, scan);
  double scans = 0.0;
  for (const double part : scan) scans += part;
  add({.name = "scans and scores of indexes",
       .count = count,
       .seconds = count * scans,
       .rate = "scans"},
      list);
  add({.name = "host: layers",
       .count = count,
       .seconds = count * layer.host,
       .rate = layer.has_experts ? "layer, expert_layer" : "layer"},
      list);
}

std::vector<Operation> Pass::operations(const PassWork& work) const {
  const Stage* slowest = &stages_.front();
  double most = 0.0;
  LayerTimes known;
  for (const Stage& stage : stages_) {
    PartTimes parts{};
    put(stage, work, known, parts);
    double sum = 0.0;
    for (const double part : parts) sum += part;
    if (sum <= most) continue;
    most = sum;
    slowest = &stage;
  }
  std::vector<Operation> list;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (const std::int64_t layers = slowest->layers[i]; layers > 0) {
      add_operations(kinds_[i], real(layers), work, list);
    }
  }
  if (stages_.size() > 1) {
    add({.name = "network: stages",
         .count = 1.0,
         .seconds = hop_.of(work.tokens()),
         .rate = "network"},
        list);
  }
  if (slowest->is_last && model_.vocabulary > 0) {
    add(operation(head_, 1.0, work.requests * work.tokens_of_request + work.prefill.requests),
        list);
  }
  const Engine& engine = pool_.engine;
  add({.name = "host: pass", .count = 1.0, .seconds = engine.pass.in_base_units(), .rate = "pass"},
      list);
  add({.name = "host: requests",
       .count = work.requests,
       .seconds = engine.request.in_base_units() * work.requests,
       .rate = "request"},
      list);
  return list;
}

}  // namespace dfsearch::serving
