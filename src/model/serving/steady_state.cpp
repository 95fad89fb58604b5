#include "model/serving/steady_state.hpp"

#include <limits>

#include "model/serving/job.hpp"

namespace dfsearch::serving {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Tokens in the cache of a request after its prefill.
Cached inputs(const Task& task, const Means& means) {
  return Cached::by_view(views_of(task.model),
                         [&](std::int64_t window) { return means.seen(window).input; });
}

}  // namespace

Decoder::Decoder(const Task& task, const Means& means, const Structure& structure,
                 std::int64_t depth, std::int64_t chunk, bool asks_energy)
    : task_(task),
      means_(means),
      structure_(structure),
      pool_(task.pools[structure.pool]),
      depth_(depth),
      chunk_(chunk),
      pass_(task, task.model, means, structure),
      drafts_(task, means, structure, pass_, depth),
      gain_(gain_of(task.speculation, depth)),
      cached_(reserved_tokens(task, means, views_of(task.model))),
      room_(pool_.usable().in_base_units()) {
  if (asks_energy && counts_energy(pool_)) energy_.emplace(task, means, structure, depth);
  if (chunk == 0) return;
  prompt_ = means.work_of_prompt(real(chunk), views_of(task.model));
  least_iteration_ = pass_.time(work(0.0, 0.0, 0.0)).period;
  loop_ = {.means = &means,
           .gained = gain_.gained,
           .checked = gain_.checked,
           .chunk = real(chunk),
           .budget = task.batched_tokens == chunk ? real(chunk) : 0.0,
           .spread = task.length_spread,
           .ranks = task.model.experts && pool_.engine.ranks == Ranks::Independent
                        ? real(structure.attention_data)
                        : 1.0,
           .whole_prompts = !task.chunked_prefill,
           .graphs =
               pool_.engine.graph_sizes.empty() || task.rate ? nullptr : &pool_.engine.graph_sizes};
}

/// The work of a rank in an iteration with `prompts` prompts, which may be a fraction.
PassWork Decoder::work(double requests, double prompts, double chunk) const {
  PassWork work{.requests = requests, .tokens_of_request = gain_.checked, .prefill = {}};
  if (prompts > 0.0) {
    work.prefill =
        (loop_.budget > 0.0 ? means_.work_of_prompt(chunk, views_of(task_.model)) : prompt_)
            .times(prompts);
  }
  return work;
}

double Decoder::iteration(double requests) const {
  return pass_.time(work(requests, 0.0, 0.0)).period + drafts_.time(requests);
}

/// The most tokens of an iteration.
double Decoder::tokens(std::int64_t batch) const {
  if (loop_.budget > 0.0) return loop_.budget;
  const double chunk = std::min(real(chunk_), real(batch) * means_.fresh);
  return real(batch) * gain_.checked + (chunk_ > 0 ? chunk : 0.0);
}

double Decoder::memory(std::int64_t batch) const {
  return pass_.memory(real(batch), cached_, tokens(batch), drafted_bytes(batch));
}

ServerMemory Decoder::parts_of_memory(std::int64_t batch) const {
  return pass_.parts_of_memory(real(batch), cached_, tokens(batch), drafted_bytes(batch));
}

/// Times of iterations.  An iteration is a pass of a micro-batch through all stages.
class Decoder::Times final : public LoopTimes {
 public:
  /// `busy` is the share of micro-batches with a user.  If it is below 1, an iteration takes the
  /// sum of all stages, and experts process the tokens of busy ranks.  With independent ranks an
  /// empty rank processes a dummy token.
  Times(const Decoder& decoder, double busy)
      : decoder_(decoder),
        is_alone_(busy < 1.0),
        ranks_(decoder.loop_.ranks > 1.0
                   ? decoder.loop_.ranks
                   : std::max(std::min(busy, 1.0) * real(decoder.structure_.attention_data), 1.0)) {
  }

  [[nodiscard]] double decode(double requests) const override {
    return time(requests, 0.0, 0.0, 0.0);
  }
  [[nodiscard]] double padded(double requests, double padding) const override {
    return time(requests, 0.0, 0.0, 0.0, padding);
  }
  [[nodiscard]] double mixed(double requests, double cost, double chunk,
                             double ranks) const override {
    return time(requests, 1.0 / cost, chunk, ranks);
  }

  /// `filling` is the number of ranks that process a chunk of their own.
  [[nodiscard]] PassWork work(double requests, double prompts, double chunk, double filling,
                              double padding = 0.0) const {
    const double apart = decoder_.loop_.ranks > 1.0 ? filling : ranks_;
    PassWork work = decoder_.work(requests, prompts, chunk);
    work.all_tokens =
        ranks_ * (requests * work.tokens_of_request + padding) + apart * work.prefill.tokens;
    work.prefill.tokens += padding;
    return work;
  }

 private:
  [[nodiscard]] double time(double requests, double prompts, double chunk, double filling,
                            double padding = 0.0) const {
    const Decoder& of = decoder_;
    const PassTime pass = of.pass_.time(work(requests, prompts, chunk, filling, padding));
    const double host = of.pool_.engine.prefill.in_base_units() * prompts;
    const double p = real(of.structure_.pipeline);
    return (is_alone_ ? pass.latency : p * pass.period) + p * of.drafts_.time(requests) + host;
  }

  const Decoder& decoder_;
  const bool is_alone_;
  const double ranks_;  // ranks that have tokens
};

PassWork Decoder::work_of(const Decoding& decoding, bool mixed) const {
  const LoopMix& mix = decoding.mix;
  const double requests = decoding.beside(mixed);
  if (chunk_ == 0) return work(requests, 0.0, 0.0);
  return Times(*this, decoding.busy)
      .work(requests, mixed ? 1.0 / mix.cost : 0.0, mix.chunk, mix.ranks,
            mixed ? 0.0 : loop_.padding(requests));
}

std::vector<Operation> Decoder::operations(const Decoding& decoding, bool mixed) const {
  return pass_.operations(work_of(decoding, mixed));
}

PartTimes Decoder::parts(const Decoding& decoding, bool mixed) const {
  const bool is_alone = decoding.busy < 1.0;
  const double p = real(structure_.pipeline);
  PartTimes parts = pass_.parts(work_of(decoding, mixed), chunk_ > 0 && is_alone);
  for (double& part : parts) part /= is_alone ? p : 1.0;
  parts[static_cast<std::size_t>(Part::Products)] += drafts_.time(decoding.beside(mixed));
  if (mixed) {
    parts[static_cast<std::size_t>(Part::Host)] +=
        pool_.engine.prefill.in_base_units() * (1.0 / decoding.mix.cost) / p;
  }
  return parts;
}

/// Joules of all chips of the ranks for an iteration, drafts included.
EnergyWork Decoder::decoding_work(double requests, const PassWork& work) const {
  return energy_->of(work) + energy_->drafts(requests);
}

EnergyWork Decoder::work_of_request(const Decoding& decoding, double rate, double users) const {
  if (!energy_) return {};
  const double ranks = real(structure_.attention_data);
  if (chunk_ == 0) {
    const double passes = means_.steps / gain_.gained;
    return (passes / (users * ranks)) * decoding_work(users, work(users, 0.0, 0.0));
  }
  const LoopMix& mix = decoding.mix;
  const double p = real(structure_.pipeline);
  const double seconds = p * ((1.0 - mix.share) * decoding.iteration + mix.share * decoding.mixed);
  EnergyWork all =
      (1.0 - mix.share) * decoding_work(decoding.beside(false), work_of(decoding, false));
  if (mix.share > 0.0) {
    // If ranks prefill independently, only some of them have a chunk at a time.
    const double filling = loop_.ranks > 1.0 ? std::min(mix.ranks / loop_.ranks, 1.0) : 1.0;
    const double beside = decoding.beside(true);
    all = all + (mix.share * filling) * decoding_work(beside, work_of(decoding, true));
    all = all + (mix.share * (1.0 - filling)) * decoding_work(beside, work(beside, 0.0, 0.0));
  }
  return (decoding.busy / (ranks * seconds * rate)) * all;
}

/// The figures of a replica from the figures of one of its equal micro-batches.
Decoding Decoder::of_loop(std::int64_t batch, const LoopFigures& loop, double busy) const {
  const double p = real(structure_.pipeline), ranks = real(structure_.attention_data);
  Decoding found{.batch = batch,
                 .most_batch = batch,
                 .users = loop.users,
                 .busy = std::min(busy, 1.0),
                 .mix = loop.mix,
                 .iteration = loop.decode / p,
                 .least_iteration = loop.decode / p,
                 .mixed = loop.mixed / p,
                 .tpot = loop.tpot,
                 .tokens_per_step = gain_.gained,
                 .capacity = ranks * p * loop.throughput,
                 .ttft = loop.ttft,
                 .wait = loop.wait,
                 .turn = loop.mix.cost * loop.mixed,
                 .running = loop.running,
                 .makespan = loop.makespan,
                 .memory = memory(batch),
                 .least_work = least_work(batch)};
  found.least_capacity = found.capacity;
  if (loop_.graphs || task_.num_requests) {
    const bool decodes = means_.steps > 0.0;
    found.least_iteration = decodes ? Times(*this, 1.0).decode(loop.users) / p : 0.0;
  }
  if (is_steady() && !is_loaded()) {
    found.least_mixed = found.mixed;
  } else if (loop_.budget == 0.0) {
    const Times times(*this, 1.0);
    found.least_mixed =
        pass_.time(times.work(0.0, 1.0 / loop.mix.cost, loop.mix.chunk, 1.0)).period;
  }
  return found;
}

Decoding Decoder::at(std::int64_t batch) const {
  if (chunk_ == 0) {
    const double p = real(structure_.pipeline), ranks = real(structure_.attention_data);
    Decoding found{.batch = batch,
                   .most_batch = batch,
                   .users = real(batch),
                   .mix = {},
                   .tokens_per_step = gain_.gained};
    found.iteration = found.least_iteration = iteration(real(batch));
    found.memory = memory(batch);
    found.least_work = least_work(batch);
    const double steps = means_.steps / gain_.gained;  // passes of a request
    found.tpot = steps > 0.0 ? p * found.iteration / gain_.gained : 0.0;
    found.capacity = found.least_capacity = ranks * real(batch) / (steps * found.iteration);
    return found;
  }
  const Times times(*this, 1.0);
  const double answer = pool_.engine.answer.in_base_units();
  const double slots = real(batch);
  Decoding found = of_loop(batch,
                           task_.num_requests ? job(loop_, times, slots, slots)
                           : is_loaded()      ? served_loop(loop_, times, slots)
                                              : closed_loop(loop_, times, slots, slots, answer),
                           1.0);
  const double micro_batches = real(structure_.attention_data * structure_.pipeline);
  found.in_flight = real(batch) * micro_batches;
  if (is_loaded() && (task_.num_requests || loop_.graphs)) {
    // Fewer requests may have shorter iterations, but none is shorter than `least_iteration`.
    const double passes = loop_.steps() * found.least_iteration;
    const double most = real(structure_.attention_data) * found.users / passes;
    if (passes > 0.0) found.capacity = std::max(found.capacity, most);
  }
  if (task_.concurrency || task_.num_requests) {
    // A bound for few users: a single user of the replica finds stages and experts empty.
    const LoopFigures alone = served_loop(loop_, Times(*this, 0.0), 1.0);
    found.capacity = std::max(found.capacity, micro_batches * alone.throughput);
  }
  return found;
}

Decoding Decoder::at(std::int64_t batch, std::int64_t replicas) const {
  if (!is_loaded()) return at(batch);
  const double micro_batches =
      real(structure_.attention_data) * real(structure_.pipeline);  // of a replica
  const double answer = pool_.engine.answer.in_base_units();
  if (task_.num_requests) {
    const double requests = *task_.num_requests / (real(replicas) * micro_batches);
    const Times times(*this, requests);
    Decoding found =
        of_loop(batch, job(loop_, times, std::max(requests, 1.0), real(batch)), requests);
    if (requests < 1.0) found.capacity = found.least_capacity = requests * found.capacity;
    found.ttft += answer;
    found.in_flight = *task_.num_requests / real(replicas);
    return found;
  }
  if (task_.concurrency) {
    const double users = *task_.concurrency / (real(replicas) * micro_batches);
    const Times times(*this, users);
    Decoding found =
        of_loop(batch, closed_loop(loop_, times, std::max(users, 1.0), real(batch), answer), users);
    // Micro-batches without a user are empty.
    if (users < 1.0) found.capacity = found.least_capacity = users * found.capacity;
    found.in_flight = *task_.concurrency / real(replicas);
    found.steady = found.capacity;
    if (task_.rounds) {
      found.burst = (found.users - 1.0) / 2.0 * found.turn / *task_.rounds;
      found.ttft += found.burst;
      found.capacity = found.with_burst(found.burst);
      found.least_capacity = found.capacity;
    }
    return found;
  }
  const double rate = *task_.rate / (real(replicas) * micro_batches);
  const Times times(*this, 1.0);
  Decoding found = of_loop(batch, open_loop(loop_, times, rate, batch, answer), 1.0);
  // At most `batch` requests run, so the figures of full slots are limits.
  const Decoding full = at(batch);
  if (!(found.tpot < kNever)) {
    found = full;
    found.ttft = found.wait = kNever;
  }
  found.tpot = std::min(found.tpot, full.tpot);
  found.mix.share = std::min(found.mix.share, full.mix.share);
  if (task_.wait == Wait::None && found.ttft < kNever) found.ttft -= found.wait;
  found.in_flight = *task_.rate / real(replicas) * (found.ttft + means_.steps * found.tpot);
  found.capacity = found.least_capacity = full.capacity;
  return found;
}

Decoding Decoder::at(const Role& role, const Figures& figures) const {
  Decoding found = at(role.batch, role.replicas);
  found.users = std::max(figures.running, 1.0);  // at least one, as for its time per token
  return found;
}

Prefiller::Prefiller(const Task& task, const Means& means, const Structure& structure,
                     bool asks_energy)
    : task_(task), means_(means), structure_(structure), pass_(task, task.model, means, structure) {
  const bool counts = counts_energy(task.pools[structure.pool]);
  if (asks_energy && counts) energy_.emplace(task, means, structure, 0);
}

Prefilling Prefiller::at(std::int64_t batch) const {
  const PassWork work{.prefill = means_.work_of_pass(batch, views_of(task_.model))};
  const PassTime time = pass_.time(work);
  const double host = task_.pools[structure_.pool].engine.prefill.in_base_units() * real(batch);
  Prefilling found{.batch = batch,
                   .most_batch = batch,
                   .period = time.period + host,
                   .latency = time.latency + host,
                   .most_period = time.period + host,
                   .most_latency = time.latency + host,
                   .memory = pass_.memory(real(batch), inputs(task_, means_), work.tokens(), 0.0)};
  found.capacity = found.least_capacity =
      real(structure_.attention_data) * real(batch) / found.period;
  if (energy_) {
    found.work = (1.0 / (real(structure_.attention_data) * real(batch))) * energy_->of(work);
  }
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
  found.bytes = handed_bytes(task, decode, inputs(task, means));
  found.transfer = found.bytes / rate;
  if (!from.machine.network.empty()) {
    found.latency = from.machine.network.back().latency.in_base_units();
  }
  return found;
}

}  // namespace dfsearch::serving
