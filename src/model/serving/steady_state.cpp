#include "model/serving/steady_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/serving/queue.hpp"

namespace dfsearch::serving {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// What the cache has of a request that is prefilled.
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

/// What both modes have; price an hour and power of all chips.
void finish(const Task& task, const Means& means, double price, double power, double running,
            bool waits_count, Figures& figures) {
  figures.requests_per_s = task.rate.value_or(figures.capacity);
  const double served = figures.requests_per_s;
  figures.in_flight = running + (waits_count ? figures.capacity * figures.ttft : 0.0);
  figures.e2e = figures.ttft + means.steps * figures.tpot;
  figures.tokens_per_s = served * means.output;
  const double dollars = price / 3600.0;  // a second
  figures.dollars_per_mtoken = dollars / figures.tokens_per_s * 1e6;
  figures.dollars_per_mtoken_total = dollars / (served * (means.input + means.output)) * 1e6;
  figures.joule_per_token = power / figures.tokens_per_s;
}

/// In the order of Broken, but for what only one mode has.
void add_broken(const Task& task, bool memory_fits, Figures& figures) {
  const auto check = [&](bool broken, Broken what) {
    if (broken) figures.broken.push_back(what);
  };
  const Limits& limits = task.limits;
  check(task.rate && figures.capacity < *task.rate, Broken::Rate);
  check(task.concurrency && figures.in_flight > *task.concurrency, Broken::Concurrency);
  check(!memory_fits, Broken::Memory);
  check(above(figures.tpot, limits.tpot), Broken::Tpot);
  check(above(figures.ttft, limits.ttft), Broken::Ttft);
  check(above(figures.e2e, limits.e2e), Broken::E2e);
  check(limits.cost && figures.dollars_per_mtoken > *limits.cost, Broken::Cost);
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
  Decoding found;
  found.iteration = iteration(batch);
  found.memory = memory(batch);
  const double p = real(structure_.pipeline), ranks = real(structure_.attention_data);
  const double steps = means_.steps / gain_.gained;  // passes of a request
  if (chunk_ == 0) {
    found.tpot = p * found.iteration / gain_.gained;
    found.capacity = ranks * real(batch) / (steps * found.iteration);
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

double Decoder::most_capacity(const Decoding& low, const Decoding& high) const {
  if (is_steady()) return high.capacity;
  const double alone = high.iteration / high.mixed_share;  // of claim 2: least at the high end
  const double more = std::max(low.mixed - high.iteration, 0.0);
  return real(structure_.attention_data) / (chunks_ * (alone + more));
}

Prefilling prefilling(const Task& task, const Means& means, const Structure& structure,
                      std::int64_t batch) {
  const Pool& pool = task.pools[structure.pool];
  const Pass pass(task, task.model, means, structure);
  const PassWork work{.prefill = means.work_of_pass(batch, task.model.window)};
  const PassTime time = pass.time(work);
  const double host = pool.engine.prefill.in_base_units() * real(batch);
  Prefilling found{.period = time.period + host,
                   .latency = time.latency + host,
                   .memory = pass.memory(real(batch), inputs(task, means), work.tokens())};
  found.capacity = real(structure.attention_data) * real(batch) / found.period;
  return found;
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

Figures aggregated(const Task& task, const Means& means, const Structure& structure,
                   const Decoder& decoder, const Decoding& decoding, std::int64_t batch,
                   std::int64_t replicas) {
  const Pool& pool = task.pools[structure.pool];
  const double p = real(structure.pipeline);
  Figures figures;
  figures.ttft = decoding.ttft;
  figures.ttft_99 = ttft_of_99(task, means, decoding.ttft, decoding.wait,
                               replicas * structure.attention_data * structure.pipeline,
                               decoding.mixed_share, decoding.turn);
  figures.tpot = decoding.tpot;
  figures.iteration = p * decoding.iteration;
  figures.mixed_iteration = p * decoding.mixed;
  figures.mixed_share = decoding.mixed_share;
  figures.tokens_per_step = decoder.tokens_per_step();
  figures.capacity = real(replicas) * decoding.capacity;
  figures.memory = decoding.memory;
  figures.chips = replicas * structure.chips();
  const double chips = real(figures.chips);
  const double running = real(replicas) * real(batch) * real(structure.attention_data) * p;
  finish(task, means, chips * pool.price, chips * pool.power.in_base_units(), running, true,
         figures);
  if (decoding.mixed_share > task.utilization.mixed) figures.broken.push_back(Broken::Prefill);
  add_broken(task, decoding.memory <= decoder.room(), figures);
  return figures;
}

Figures disaggregated(const Task& task, const Means& means, const Role& prefill,
                      const Prefilling& prefilling, const Role& decode, const Decoding& decoding,
                      const Handover& handover, double tokens_per_step) {
  const Pool& from = task.pools[prefill.structure.pool];
  const Pool& to = task.pools[decode.structure.pool];
  const double x = real(prefill.replicas), y = real(decode.replicas);
  const double sending = real(prefill.chips()), receiving = real(decode.chips());
  Figures figures;
  figures.tpot = decoding.tpot;
  figures.iteration = real(decode.structure.pipeline) * decoding.iteration;
  figures.tokens_per_step = tokens_per_step;
  figures.prefill_pass = prefilling.period;
  figures.prefill_capacity = x * prefilling.capacity;
  figures.decode_capacity = y * decoding.capacity;
  figures.transfer_capacity = std::min(sending * from.transfer_rate().in_base_units(),
                                       receiving * to.transfer_rate().in_base_units()) /
                              handover.bytes;
  figures.transfer = handover.transfer;
  figures.capacity =
      std::min({task.utilization.prefill * figures.prefill_capacity,
                task.utilization.decode * figures.decode_capacity, figures.transfer_capacity});
  figures.memory = decoding.memory;
  figures.memory_prefill = prefilling.memory;
  figures.chips = prefill.chips() + decode.chips();
  const double served = task.rate.value_or(figures.capacity);
  const double load = served / figures.prefill_capacity;
  double wait = mean_wait(load) * prefilling.period;
  if (task.wait == Wait::None) wait = 0.0;
  const double filling =
      (real(prefill.batch) - 1.0) / 2.0 * x * real(prefill.structure.attention_data) / served;
  figures.ttft =
      prefilling.latency + wait + filling + handover.transfer + from.engine.answer.in_base_units();
  figures.ttft_99 =
      ttft_of_99(task, means, figures.ttft, wait,
                 prefill.replicas * prefill.structure.attention_data, load, prefilling.period);
  const double running =
      y * real(decode.batch) * real(decode.structure.pipeline * decode.structure.attention_data);
  finish(task, means, sending * from.price + receiving * to.price,
         sending * from.power.in_base_units() + receiving * to.power.in_base_units(), running,
         false, figures);
  add_broken(task,
             prefilling.memory <= from.usable().in_base_units() &&
                 decoding.memory <= to.usable().in_base_units(),
             figures);
  return figures;
}

Figures evaluate(const Task& task, const Deployment& deployment) {
  const Means means(task.requests);
  const Role& decode = deployment.decode;
  const Decoder decoder(task, means, decode.structure, decode.depth, decode.chunk);
  const Decoding decoding = decoder.at(decode.batch);
  if (deployment.mode == Mode::Aggregated) {
    return aggregated(task, means, decode.structure, decoder, decoding, decode.batch,
                      decode.replicas);
  }
  const Role& prefill = deployment.prefill;
  return disaggregated(task, means, prefill,
                       prefilling(task, means, prefill.structure, prefill.batch), decode, decoding,
                       handover(task, means, prefill.structure, decode.structure),
                       decoder.tokens_per_step());
}

}  // namespace dfsearch::serving
