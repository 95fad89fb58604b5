// Bounds of all batches between two batches, (24a) to (24f), and of all deployments, (26) to (28).
// The equations and their proofs are in docs/serving.md.

#include <algorithm>
#include <limits>

#include "model/serving/pass.hpp"
#include "model/serving/requests.hpp"
#include "model/serving/speculation.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch::serving {

/// The arithmetic and exchanges of a request are the same in any batch.  Its share of the weights
/// is least in the largest batch.
// docs/energy.md (10)
EnergyWork Decoder::least_work(std::int64_t batch) const {
  if (!energy_) return {};
  const double ranks = real(structure_.attention_data);
  const double requests = real(batch);
  EnergyWork least;
  if (means_.steps > 0.0) {
    least = (means_.steps / gain_.gained / (requests * ranks)) *
            decoding_work(requests, work(requests, 0.0, 0.0));
  }
  if (chunk_ > 0) {
    const EnergyWork prompt =
        energy_->of({.prefill = means_.work_of_pass(1, views_of(task_.model))});
    least.math += prompt.math / ranks;
    least.links += prompt.links / ranks;
  }
  return (1.0 - kRounding) * least;
}

double Decoder::least_tpot(const Decoding& decoding) const {
  if (chunk_ == 0) return decoding.tpot;
  const double p = real(structure_.pipeline);
  if (is_steady()) {
    if (decoding.mixed >= decoding.iteration) return decoding.tpot;
    return std::min(decoding.tpot, p * decoding.mixed / gain_.gained);
  }
  return means_.steps > 0.0 ? p * least_iteration_ / gain_.gained : 0.0;
}

double Decoder::least_ttft(const Decoding& decoding) const {
  if (is_steady() && !is_loaded()) return decoding.ttft;
  return loop_.turns(loop_.chunk) * real(structure_.pipeline) * decoding.least_mixed;
}

double Decoder::least_time(PassWork work) const {
  work.all_tokens = work.tokens();  // tokens of one rank, since other ranks may be empty
  const PassTime time = pass_.time(work);
  return std::min(time.latency, real(structure_.pipeline) * time.period);
}

// (24f): a micro-batch with a user has at least one request; a job may run fewer on average.
double Decoder::least_tpot_of_any_load() const {
  if (means_.steps == 0.0) return 0.0;
  const double p = real(structure_.pipeline);
  if (chunk_ == 0) return p * iteration(1.0) / gain_.gained;
  const double requests = task_.num_requests ? 0.0 : 1.0;
  return (least_time(work(requests, 0.0, 0.0)) + p * drafts_.time(requests)) / gain_.gained;
}

double Decoder::least_ttft_of_any_load() const {
  const double answer = pool_.engine.answer.in_base_units();
  if (task_.num_requests) return least_time(work(0.0, 1.0, loop_.chunk)) / 2.0 + answer;
  const double turns = loop_.budget > 0.0 ? 1.0 : loop_.turns(loop_.chunk);
  const double mixed = least_time(work(0.0, 1.0 / turns, loop_.chunk));
  if (!task_.concurrency || means_.steps == 0.0) return turns * mixed + answer;
  // (17) may raise the time of decoding to the time of one request, and shortens the prefill by as
  // much.
  const double one = gain_.gained * least_tpot_of_any_load();
  PassWork most = work(1.0, 0.0, 0.0);
  most.prefill.tokens = loop_.padding(1.0);
  most.all_tokens = std::max(loop_.ranks, real(structure_.attention_data)) * most.tokens();
  const PassTime time = pass_.time(most);
  const double p = real(structure_.pipeline);
  const double raised = std::max(time.latency, p * time.period) + p * drafts_.time(1.0);
  const double least = loop_.budget > 0.0 ? least_time(work(0.0, 0.0, 0.0)) : mixed;
  const double longer = loop_.steps() * std::max(raised - std::min(one, least), 0.0);
  return std::max(turns * mixed - longer, 0.0) + answer;
}

double Decoder::most_capacity(const Decoding& low, const Decoding& high) const {
  // Claim 2: the time divided by the requests that decode is least at the high end.
  const double least = high.least_iteration;
  const double alone = loop_.steps() > 0.0 ? loop_.steps() * least / high.users : 0.0;
  const double more = high.mix.cost * std::max(low.least_mixed - least, 0.0);
  return real(structure_.attention_data) / (alone + more);
}

Decoding Decoder::between(const Decoding& low, const Decoding& high) const {
  if (low.batch == high.batch) return low;
  Decoding least = low;
  least.most_batch = high.batch;
  least.margin = kRounding;
  least.capacity = high.capacity;
  least.least_work = high.least_work;
  // Each deployment between the two batches has a slot for each user.
  const bool has_users = task_.concurrency || task_.num_requests;
  if (is_loaded() && has_users && low.users == high.users) return least;
  if (chunk_ == 0) return least;
  if (!(is_loaded() && task_.rate))
    least.tpot = least_tpot(low);
  else if (!is_steady())
    least.tpot = std::min({low.tpot, high.tpot, least_tpot(low)});
  const double p = real(structure_.pipeline), ranks = real(structure_.attention_data);
  if (!is_loaded() || (task_.concurrency && !is_steady())) {
    least.ttft = least_ttft(low);
  } else if (task_.num_requests) {
    // Claim 6: prompts begin evenly over the iterations that they take.
    const double cost = high.mix.cost, requests = std::max(low.in_flight / (ranks * p), 1.0);
    least.ttft = p * low.least_mixed * (cost * requests + std::max(cost, 1.0)) / 2.0 +
                 pool_.engine.answer.in_base_units();
  } else {
    // With more slots no first token comes later.
    if (task_.rate) least.in_flight = 0.0;
    least.ttft = high.ttft - high.burst;
    if (task_.rounds) {
      const double burst = (low.users - 1.0) / 2.0 * high.mix.cost * p * low.mixed / *task_.rounds;
      least.ttft += burst;
      if (high.steady > 0.0) least.capacity = high.with_burst(burst);
    }
  }
  if (is_steady()) return least;
  least.mix.share = 0.0;
  least.least_capacity = 0.0;
  double most = most_capacity(low, high);
  if (task_.concurrency) most *= std::min(1.0, high.in_flight / (ranks * p));
  // The capacities of both ends are bounds for any number of replicas.
  if (loop_.graphs || task_.num_requests) most = std::max({most, low.capacity, high.capacity});
  if (!task_.rate) least.capacity = most;
  return least;
}

Prefilling Prefiller::between(const Prefilling& low, const Prefilling& high) const {
  if (low.batch == high.batch) return low;
  Prefilling least = low;
  least.most_batch = high.batch;
  least.most_period = high.period;
  least.most_latency = high.latency;
  least.margin = kRounding;
  least.capacity = high.capacity;
  least.work = (1.0 - kRounding) * high.work;
  return least;
}

// A lower bound: the chips of a replica share weights, cache and products evenly, and the network
// takes no time.  The times of one chip then give the bound.

double least_of_request(const Task& task, const Means& means, FrontAxis axis, double tpot) {
  double gained = 1.0;
  for (const std::int64_t depth : task.speculation.depths) {
    gained = std::max(gained, gain_of(task.speculation, depth).gained);
  }
  const Cached reserved = reserved_tokens(task, means, views_of(task.model));
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double decoding = kNone, prefill = kNone, waiting = kNone;
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
      // Requests for each chip whose caches the chip can read in time, and can hold.
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
