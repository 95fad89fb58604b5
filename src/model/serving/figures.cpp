// The figures of a deployment from the steady state of its sides, and the limits that it breaks
// (docs/serving.md, sections 4 and 5).

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "model/serving/apart_loop.hpp"
#include "model/serving/requests.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch::serving {
namespace {

/// The time to the first token that 99 of 100 requests do not exceed: the wait of the 99th
/// percentile replaces the mean wait.  This applies only to requests that arrive at random in an
/// open loop.
double ttft_of_99(const Task& task, const Means& means, double ttft, double mean,
                  std::int64_t servers, double load, double service) {
  if (task.wait == Wait::None || task.concurrency || !(mean > 0.0)) return ttft;
  if (!(load < 1.0)) return std::numeric_limits<double>::infinity();
  return std::max(ttft, ttft - mean + wait_of_99(servers, load, service, means.variation));
}

/// The chips of a pool with one role, and their work for a request.
struct RoleChips {
  const Pool& pool;
  double chips;
  EnergyWork work;
};

/// Adds the energy for a token, from work and idling or from the constant power of a pool.
// docs/energy.md (9)
void add_energy(const Means& means, std::initializer_list<RoleChips> roles, Figures& figures) {
  double power = 0.0;
  for (const RoleChips& role : roles) {
    const Energy one = energy_of_token(role.pool, role.chips, figures.tokens_per_s,
                                       (1.0 / means.output) * role.work);
    if (!counts_energy(role.pool)) {
      power += role.chips * role.pool.power.in_base_units();
      continue;
    }
    Energy& all = figures.energy;
    all.clock = std::min(all.clock, one.clock);
    all.time = std::max(all.time, one.time);
    all.idle += one.idle;
    all.work = all.work + one.work;
  }
  figures.joule_per_token = power / figures.tokens_per_s + figures.energy.sum().in_base_units();
  figures.edp = figures.joule_per_token * means.output * figures.e2e;
}

/// Adds the figures that both modes have.
void finish(const Task& task, const Means& means, double price, Figures& figures) {
  figures.requests_per_s = task.rate.value_or(figures.capacity);
  const double served = figures.requests_per_s;
  figures.e2e = figures.ttft + means.steps * figures.tpot;
  figures.tokens_per_s = served * means.output;
  const double dollars = price / 3600.0;  // dollars a second
  figures.dollars_per_mtoken = dollars / figures.tokens_per_s * 1e6;
  figures.dollars_per_mtoken_total = dollars / (served * (means.input + means.output)) * 1e6;
}

/// The share of the usable memory that is full.
double fullness_of(const Pool& pool, double memory) {
  return memory / pool.usable().in_base_units();
}

/// Adds broken limits in the order of Broken, except limits that only one mode has.
void add_broken(const Task& task, bool memory_fits, double margin, Figures& figures) {
  const auto check = [&](bool broken, Broken what) {
    if (broken) figures.broken.add(what);
  };
  const Limits& limits = task.limits;
  const double less = 1.0 - margin, more = 1.0 + margin;
  check(task.rate && figures.capacity * more < *task.rate, Broken::Rate);
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
    case Objective::Edp:
      return figures.edp;
    case Objective::Chips:
      return real(figures.chips);
    case Objective::Ttft:
      return figures.ttft;
    case Objective::E2e:
      return figures.e2e;
    case Objective::Front:
      return axis == FrontAxis::Cost ? figures.dollars_per_mtoken
                                     : 1.0 / figures.tokens_per_s_per_chip();
    case Objective::Fullness:
      return figures.fullness;
  }
  return 0.0;
}

Figures aggregated(const Task& task, const Means& means, const Decoders& decoders) {
  const auto& [decoder, replicas, each] = decoders;
  const Structure& structure = decoders.structure();
  const Pool& pool = task.pools[structure.pool];
  const double p = real(structure.pipeline), all = real(replicas);
  Figures figures;
  figures.ttft = each.ttft;
  figures.tpot = each.tpot;
  figures.iteration = p * each.iteration;
  figures.mixed_iteration = p * each.mixed;
  figures.mixed_share = each.mix.share;
  figures.tokens_per_step = each.tokens_per_step;
  figures.capacity = all * each.capacity;
  figures.memory = each.memory;
  figures.fullness = fullness_of(pool, each.memory);
  figures.chips = decoders.chips();
  figures.in_flight = all * each.in_flight;
  figures.running = each.makespan > 0.0 ? each.running : each.users;
  figures.makespan = each.makespan;
  const double chips = real(figures.chips);
  finish(task, means, chips * pool.price, figures);
  const bool is_one = each.batch == each.most_batch;
  const double micro_batches = all * p * real(structure.attention_data);
  add_energy(
      means,
      {{pool, chips,
        is_one ? decoder.work_of_request(each, figures.requests_per_s / micro_batches, each.users)
               : each.least_work}},
      figures);
  if (each.mix.share * (1.0 - each.margin) > task.utilization.mixed) {
    figures.broken.add(Broken::Prefill);
  }
  add_broken(task, each.memory <= pool.usable().in_base_units(), each.margin, figures);
  return figures;
}

Figures disaggregated(const Task& task, const Means& means, const Prefillers& prefillers,
                      const Decoders& decoders, const Handover& handover) {
  const Structure& prefill = prefillers.structure;
  const Structure& decode = decoders.structure();
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
  figures.transfer = handover.transfer + handover.latency;
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
  const double least = served_by(x * prefilling.least_capacity, y * decoding.least_capacity);
  const double answer = from.engine.answer.in_base_units();
  const double places = y * real(decode.pipeline * decode.attention_data);
  const bool is_one =
      prefilling.batch == prefilling.most_batch && decoding.batch == decoding.most_batch;
  if (task.concurrency) {
    figures.transfer = handover.transfer;
    // The fastest prefill with the most slots, and the slowest prefill with the fewest slots, bound
    // all deployments of an interval.
    const auto loop_of = [&](double latency, double period, double prefills, double most,
                             std::int64_t prompts, std::int64_t slots) {
      const ApartLoop loop{.users = *task.concurrency,
                           .most = most,
                           .first = latency + handover.transfer + answer,
                           .batch = real(prompts),
                           .pass = period,
                           .capacity = prefills,
                           .servers = x * real(prefill.attention_data),
                           .waits = task.wait != Wait::None,
                           .steps = means.steps / decoding.tokens_per_step,
                           .places = places};
      return apart_loop(loop, real(slots), [&](double running) {
        return real(decode.pipeline) * decoders.decoder.iteration(running);
      });
    };
    const ApartFigures best =
        loop_of(prefilling.latency, prefilling.period, figures.prefill_capacity, figures.capacity,
                prefilling.batch, decoding.most_batch);
    const ApartFigures worst = is_one ? best
                                      : loop_of(prefilling.most_latency, prefilling.most_period,
                                                x * prefilling.least_capacity, least,
                                                prefilling.most_batch, decoding.batch);
    figures.capacity = best.throughput;
    figures.ttft = best.ttft;
    figures.in_flight = *task.concurrency;
    figures.running = worst.running;
    if (means.steps > 0.0) {
      figures.iteration =
          real(decode.pipeline) * decoders.decoder.iteration(std::max(worst.running, 1.0));
      figures.tpot = figures.iteration / decoding.tokens_per_step;
    }
  } else {
    double load = task.rate.value_or(least) / figures.prefill_capacity;
    if (!is_one && !task.rate) {
      // At any batch, if prefill sets the pace, it is as busy as the utilization allows.
      const double others = std::min(task.utilization.decode * y * decoding.least_capacity,
                                     figures.transfer_capacity);
      load = std::min(task.utilization.prefill, others / figures.prefill_capacity);
    }
    const double wait = prefill_wait(task, load, prefilling.period);
    const double filling = (real(prefilling.batch) - 1.0) / 2.0 * x * real(prefill.attention_data) /
                           task.rate.value_or(figures.capacity);
    figures.ttft = prefilling.latency + wait + filling + figures.transfer + answer;
    figures.running = real(decoding.batch);
    figures.in_flight = places * figures.running;
  }
  finish(task, means, sending * from.price + receiving * to.price, figures);
  const bool is_one_of_decoding = decoding.batch == decoding.most_batch;
  EnergyWork sent = prefilling.work;
  if (sent.sum() > Joules{}) sent.links += Bytes(handover.bytes) * from.machine.energy.link;
  add_energy(means,
             {{from, sending, sent},
              {to, receiving,
               is_one_of_decoding
                   ? decoders.decoder.work_of_request(decoding, 0.0, std::max(figures.running, 1.0))
                   : decoding.least_work}},
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
  const Decoder decoder(task, means, s, decode.depth, decode.chunk, true);
  const Decoding decoding = decoder.at(decode.batch, decode.replicas);
  const Decoders decoders{decoder, decode.replicas, decoding};
  if (deployment.mode == Mode::Aggregated) {
    Figures figures = aggregated(task, means, decoders);
    figures.ttft_99 = ttft_of_99(task, means, figures.ttft, decoding.wait,
                                 decode.replicas * s.attention_data * s.pipeline,
                                 figures.requests_per_s * decoding.turn /
                                     (real(decode.replicas * s.attention_data * s.pipeline)),
                                 decoding.turn);
    return figures;
  }
  const Role& prefill = deployment.prefill;
  const Prefilling prefilling = Prefiller(task, means, prefill.structure, true).at(prefill.batch);
  Figures figures = disaggregated(task, means, {prefill.structure, prefill.replicas, prefilling},
                                  decoders, handover(task, means, prefill.structure, s));
  const double load = figures.requests_per_s / figures.prefill_capacity;
  figures.ttft_99 =
      ttft_of_99(task, means, figures.ttft, prefill_wait(task, load, prefilling.period),
                 prefill.replicas * prefill.structure.attention_data, load, prefilling.period);
  return figures;
}

}  // namespace dfsearch::serving
