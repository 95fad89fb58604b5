#include "model/serving/steady_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/serving/pass.hpp"
#include "model/serving/requests.hpp"
#include "model/serving/speculation.hpp"

namespace dfsearch::serving {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// The entries of a prefilled request in the cache.
Cached inputs(const Task& task, const Means& means) {
  return {{means.input, means.seen(task.model.window).input}};
}

/// The time to the first token that 99 of 100 requests keep: the wait in the queue replaces its mean.
/// Only requests that arrive at random, in an open loop, wait so.
double ttft_of_99(const Task& task, const Means& means, double ttft, double mean,
                  std::int64_t servers, double load, double service) {
  if (task.wait == Wait::None || task.concurrency) return ttft;
  if (!(load < 1.0)) return kNever;
  return std::max(ttft, ttft - mean + wait_of_99(servers, load, service, means.variation));
}

/// Price and power of all chips of a deployment.
struct Upkeep {
  double price = 0.0;
  double power = 0.0;
};

/// Adds the figures that both modes have.
void finish(const Task& task, const Means& means, const Upkeep& upkeep, Figures& figures) {
  figures.requests_per_s = task.rate.value_or(figures.capacity);
  const double served = figures.requests_per_s;
  figures.e2e = figures.ttft + means.steps * figures.tpot;
  figures.tokens_per_s = served * means.output;
  const double dollars = upkeep.price / 3600.0;  // a second
  figures.dollars_per_mtoken = dollars / figures.tokens_per_s * 1e6;
  figures.dollars_per_mtoken_total = dollars / (served * (means.input + means.output)) * 1e6;
  figures.joule_per_token = upkeep.power / figures.tokens_per_s;
}

/// The share of the usable memory that is full.
double fullness_of(const Pool& pool, double memory) {
  return memory / pool.usable().in_base_units();
}

/// In the order of Broken, but for limits that only one mode has.
void add_broken(const Task& task, bool memory_fits, double margin, Figures& figures) {
  const auto check = [&](bool broken, Broken what) {
    if (broken) figures.broken.add(what);
  };
  const Limits& limits = task.limits;
  const double less = 1.0 - margin, more = 1.0 + margin;
  check(task.rate && figures.capacity * more < *task.rate, Broken::Rate);
  check(task.concurrency && figures.in_flight * less > *task.concurrency, Broken::Concurrency);
  check(!memory_fits, Broken::Memory);
  check(above(figures.tpot * less, limits.tpot), Broken::Tpot);
  check(above(figures.ttft * less, limits.ttft), Broken::Ttft);
  check(above(figures.e2e * less, limits.e2e), Broken::E2e);
  check(limits.cost && figures.dollars_per_mtoken * less > *limits.cost, Broken::Cost);
}

/// The mean wait of a request for its prefill, where a pass takes `period`.
double prefill_wait(const Task& task, double load, double period) {
  return task.wait == Wait::None ? 0.0 : mean_wait(load) * period;
}

}  // namespace

double value_of(Objective objective, FrontAxis axis, const Figures& figures) {
  switch (objective) {
    case Objective::Throughput:
      return 1.0 / figures.tokens_per_s;
    case Objective::ThroughputPerChip:
      return 1.0 / figures.tokens_per_s_per_chip();
    case Objective::Interactivity:
      return figures.tpot;
    case Objective::Cost:
      return figures.dollars_per_mtoken;
    case Objective::Energy:
      return figures.joule_per_token;
    case Objective::Chips:
      return real(figures.chips);
    case Objective::Ttft:
      return figures.ttft;
    case Objective::E2e:
      return figures.e2e;
    case Objective::Front:
      return axis == FrontAxis::Cost ? figures.dollars_per_mtoken
                                     : 1.0 / figures.tokens_per_s_per_chip();
    case Objective::InFlight:
      return figures.in_flight;
    case Objective::Fullness:
      return figures.fullness;
  }
  return 0.0;
}

Decoder::Decoder(const Task& task, const Means& means, const Structure& structure,
                 std::int64_t depth, std::int64_t chunk)
    : task_(task),
      means_(means),
      structure_(structure),
      pool_(task.pools[structure.pool]),
      depth_(depth),
      chunk_(chunk),
      pass_(task, task.model, means, structure),
      drafts_(task, means, structure, pass_, depth),
      gain_(gain_of(task.speculation, depth)),
      cached_(reserved_tokens(task, means, task.model.window)),
      room_(pool_.usable().in_base_units()) {
  if (chunk == 0) return;
  chunks_ = means.iterations(chunk);
  waited_ = std::max(chunks_, means.whole_iterations(chunk));
  prefill_ = means.work_of_chunk(chunk, task.model.window);
}

PassWork Decoder::work(std::int64_t batch, bool mixed) const {
  return {.requests = real(batch),
          .tokens_of_request = gain_.checked,
          .prefill = mixed ? prefill_ : PrefillWork{}};
}

double Decoder::iteration(std::int64_t batch) const {
  return pass_.time(work(batch, false)).period + drafts_.time(real(batch));
}

double Decoder::memory(std::int64_t batch) const {
  const double tokens = real(batch) * gain_.checked + prefill_.tokens;
  return pass_.memory(real(batch), cached_, tokens) + drafts_.memory(real(batch));
}

PartTimes Decoder::parts(std::int64_t batch, bool mixed) const {
  PartTimes parts = pass_.parts(work(batch, mixed));
  const double drafts = drafts_.time(real(batch));
  parts[static_cast<std::size_t>(Part::Products)] += drafts;
  if (mixed) {
    parts[static_cast<std::size_t>(Part::Host)] +=
        pool_.engine.prefill.in_base_units() * prefill_.requests;
  }
  return parts;
}

Decoding Decoder::at(std::int64_t batch) const {
  Decoding found{.batch = batch, .tokens_per_step = gain_.gained};
  found.iteration = iteration(batch);
  found.memory = memory(batch);
  const double p = real(structure_.pipeline), ranks = real(structure_.attention_data);
  const double steps = means_.steps / gain_.gained;  // passes of a request
  if (chunk_ == 0) {
    found.tpot = p * found.iteration / gain_.gained;
    found.capacity = found.least_capacity = ranks * real(batch) / (steps * found.iteration);
    return found;
  }
  const double prefill = pool_.engine.prefill.in_base_units() * prefill_.requests;
  found.mixed = pass_.time(work(batch, true)).period + prefill + drafts_.time(real(batch));
  const double share = real(batch) * chunks_ / steps;
  found.mixed_share = share;
  const double part = std::min(share, 1.0);
  const double mean = (1.0 - part) * found.iteration + part * found.mixed;
  found.tpot = p * mean / gain_.gained;
  // Beyond a share of 1 the prefill sets the pace.
  found.capacity =
      share <= 1.0 ? ranks * real(batch) / (steps * mean) : ranks / (chunks_ * found.mixed);
  found.least_capacity = found.capacity;
  const double turn = found.turn = chunks_ * p * found.mixed;
  double wait = mean_wait(share) * turn;
  if (task_.concurrency) {
    const double most = (real(batch) - 1.0) / 2.0 * turn;
    wait = std::min(wait, most) + (task_.rounds ? most / *task_.rounds : 0.0);
  }
  if (task_.wait == Wait::None) wait = 0.0;
  found.wait = wait;
  found.ttft =
      p * mean / 2.0 + wait + waited_ * p * found.mixed + pool_.engine.answer.in_base_units();
  return found;
}

Decoding Decoder::between(const Decoding& low, const Decoding& high) const {
  if (low.batch == high.batch) return low;
  Decoding least = low;
  least.margin = kRounding;
  least.capacity = high.capacity;
  if (!is_steady()) {
    least.least_capacity = 0.0;
    const double alone = high.iteration / high.mixed_share;  // of claim 2: least at the high end
    const double more = std::max(low.mixed - high.iteration, 0.0);
    least.capacity = real(structure_.attention_data) / (chunks_ * (alone + more));
  }
  return least;
}

Prefilling Prefiller::at(std::int64_t batch) const {
  const PassWork work{.prefill = means_.work_of_pass(batch, task_.model.window)};
  const PassTime time = pass_.time(work);
  const double host = task_.pools[structure_.pool].engine.prefill.in_base_units() * real(batch);
  Prefilling found{.batch = batch,
                   .period = time.period + host,
                   .latency = time.latency + host,
                   .memory = pass_.memory(real(batch), inputs(task_, means_), work.tokens())};
  found.capacity = found.least_capacity =
      real(structure_.attention_data) * real(batch) / found.period;
  return found;
}

Prefilling Prefiller::between(const Prefilling& low, const Prefilling& high) const {
  if (low.batch == high.batch) return low;
  Prefilling least = low;
  least.margin = kRounding;
  least.capacity = high.capacity;
  return least;
}

Handover handover(const Task& task, const Means& means, const Structure& prefill,
                  const Structure& decode) {
  const Pool& from = task.pools[prefill.pool];
  const Pool& to = task.pools[decode.pool];
  const double rate =
      std::min(real(prefill.tensor * prefill.pipeline) * from.transfer_rate().in_base_units(),
               real(decode.tensor * decode.pipeline) * to.transfer_rate().in_base_units());
  Handover found;
  found.bytes =
      inputs(task, means).in(sights(task.model, 0, task.model.layers)) * cached_bytes(task, decode);
  found.transfer = found.bytes / rate;
  if (!from.machine.network.empty()) {
    found.transfer += from.machine.network.back().latency.in_base_units();
  }
  return found;
}

Figures aggregated(const Task& task, const Means& means, const Decoders& decoders) {
  const auto& [structure, replicas, each] = decoders;
  const Pool& pool = task.pools[structure.pool];
  const double p = real(structure.pipeline), all = real(replicas);
  Figures figures;
  figures.ttft = each.ttft;
  figures.tpot = each.tpot;
  figures.iteration = p * each.iteration;
  figures.mixed_iteration = p * each.mixed;
  figures.mixed_share = each.mixed_share;
  figures.tokens_per_step = each.tokens_per_step;
  figures.capacity = all * each.capacity;
  figures.memory = each.memory;
  figures.fullness = fullness_of(pool, each.memory);
  figures.chips = decoders.chips();
  figures.in_flight = all * real(each.batch) * real(structure.attention_data) * p +
                      all * each.least_capacity * each.ttft;
  const double chips = real(figures.chips);
  finish(task, means, {chips * pool.price, chips * pool.power.in_base_units()}, figures);
  if (each.mixed_share > task.utilization.mixed) figures.broken.add(Broken::Prefill);
  add_broken(task, each.memory <= pool.usable().in_base_units(), each.margin, figures);
  return figures;
}

Figures disaggregated(const Task& task, const Means& means, const Prefillers& prefillers,
                      const Decoders& decoders, const Handover& handover) {
  const Structure& prefill = prefillers.structure;
  const Structure& decode = decoders.structure;
  const Prefilling& prefilling = prefillers.each;
  const Decoding& decoding = decoders.each;
  const Pool& from = task.pools[prefill.pool];
  const Pool& to = task.pools[decode.pool];
  const double x = real(prefillers.replicas), y = real(decoders.replicas);
  const double sending = real(prefillers.chips()), receiving = real(decoders.chips());
  Figures figures;
  figures.tpot = decoding.tpot;
  figures.iteration = real(decode.pipeline) * decoding.iteration;
  figures.tokens_per_step = decoding.tokens_per_step;
  figures.prefill_pass = prefilling.period;
  figures.prefill_capacity = x * prefilling.capacity;
  figures.decode_capacity = y * decoding.capacity;
  figures.transfer_capacity = std::min(sending * from.transfer_rate().in_base_units(),
                                       receiving * to.transfer_rate().in_base_units()) /
                              handover.bytes;
  figures.transfer = handover.transfer;
  const auto served_by = [&](double prefill_capacity, double decode_capacity) {
    return std::min({task.utilization.prefill * prefill_capacity,
                     task.utilization.decode * decode_capacity, figures.transfer_capacity});
  };
  figures.capacity = served_by(figures.prefill_capacity, figures.decode_capacity);
  figures.memory = decoding.memory;
  figures.memory_prefill = prefilling.memory;
  figures.fullness =
      std::max(fullness_of(from, prefilling.memory), fullness_of(to, decoding.memory));
  figures.chips = prefillers.chips() + decoders.chips();
  const double least =
      task.rate.value_or(served_by(x * prefilling.least_capacity, y * decoding.least_capacity));
  const double wait = prefill_wait(task, least / figures.prefill_capacity, prefilling.period);
  const double filling = (real(prefilling.batch) - 1.0) / 2.0 * x * real(prefill.attention_data) /
                         task.rate.value_or(figures.capacity);
  figures.ttft =
      prefilling.latency + wait + filling + handover.transfer + from.engine.answer.in_base_units();
  figures.in_flight = y * real(decoding.batch) * real(decode.pipeline * decode.attention_data);
  finish(task, means,
         {sending * from.price + receiving * to.price,
          sending * from.power.in_base_units() + receiving * to.power.in_base_units()},
         figures);
  add_broken(task,
             prefilling.memory <= from.usable().in_base_units() &&
                 decoding.memory <= to.usable().in_base_units(),
             std::max(prefilling.margin, decoding.margin), figures);
  return figures;
}

Figures evaluate(const Task& task, const Deployment& deployment) {
  const Means means(task.requests);
  const Role& decode = deployment.decode;
  const Structure& s = decode.structure;
  const Decoder decoder(task, means, s, decode.depth, decode.chunk);
  const Decoding decoding = decoder.at(decode.batch);
  const Decoders decoders{s, decode.replicas, decoding};
  if (deployment.mode == Mode::Aggregated) {
    Figures figures = aggregated(task, means, decoders);
    figures.ttft_99 = ttft_of_99(task, means, figures.ttft, decoding.wait,
                                 decode.replicas * s.attention_data * s.pipeline,
                                 decoding.mixed_share, decoding.turn);
    return figures;
  }
  const Role& prefill = deployment.prefill;
  const Prefilling prefilling = Prefiller(task, means, prefill.structure).at(prefill.batch);
  Figures figures = disaggregated(task, means, {prefill.structure, prefill.replicas, prefilling},
                                  decoders, handover(task, means, prefill.structure, s));
  const double load = figures.requests_per_s / figures.prefill_capacity;
  figures.ttft_99 =
      ttft_of_99(task, means, figures.ttft, prefill_wait(task, load, prefilling.period),
                 prefill.replicas * prefill.structure.attention_data, load, prefilling.period);
  return figures;
}

// The chips of a replica share its weights, its cache and its products at best evenly, and the
// network costs nothing: the rest is the least time of one chip.

double least_of_request(const Task& task, const Means& means, FrontAxis axis, double tpot) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double gained = 1.0;
  for (const std::int64_t depth : task.speculation.depths) {
    gained = std::max(gained, gain_of(task.speculation, depth).gained);
  }
  const Cached reserved = reserved_tokens(task, means, task.model.window);
  double decoding = kNever, prefill = kNever, waiting = kNever;
  Structure one;
  for (one.pool = 0; one.pool < task.pools.size(); ++one.pool) {
    const Pool& pool = task.pools[one.pool];
    const double chips = real(pool.chips);
    const double weight = axis == FrontAxis::Cost ? pool.price / 3600.0 : 1.0;
    for (one.precision = 0; one.precision < task.precisions.size(); ++one.precision) {
      const Pass pass(task, task.model, means, one);
      const LeastTimes least = pass.least_times();
      prefill = std::min(prefill, weight * (least.token * means.fresh + least.pairs));
      decoding =
          std::min(decoding, weight * means.steps * (least.token + least.head + least.context));
      // Requests for each chip that it can read the cache of in time, and hold.
      const double read = (tpot * gained - least.host - least.weights / chips) / least.cache;
      const double room = pool.usable().in_base_units() - pool.engine.reserved.in_base_units() -
                          pass.weights(0) / chips;
      const double held = room / pass.cached_bytes(reserved);
      const double requests = std::min(read, held);
      if (requests > 0.0) waiting = std::min(waiting, weight * means.steps * tpot / requests);
    }
  }
  return std::max(waiting, prefill + decoding);
}

}  // namespace dfsearch::serving
