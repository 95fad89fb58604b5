#pragma once
// Replicas in their steady state: rates, latencies, memory and limits of a deployment.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "model/serving/closed_loop.hpp"
#include "model/serving/deployment.hpp"
#include "model/serving/pass.hpp"
#include "model/serving/pass_energy.hpp"
#include "model/serving/requests.hpp"
#include "model/serving/speculation.hpp"
#include "model/serving/task.hpp"

namespace dfsearch::serving {

/// A replica that decodes at one batch, or the bound of an interval of batches: no batch of the
/// interval has a smaller figure, or a larger `capacity`.  Rates are of one replica.
struct Decoding {
  std::int64_t batch = 1;
  std::int64_t most_batch = 1;  ///< last batch of the interval
  double users = 0.0;      ///< users of a micro-batch that are served at once; at most the batch
  double busy = 1.0;       ///< share of the micro-batches that have a user
  LoopMix mix;             ///< of Aggregated
  double iteration = 0.0;  ///< seconds in each of the `pipeline` stages
  double least_iteration = 0.0;  ///< `iteration` for `users` without padding
  double mixed = 0.0;
  double tpot = 0.0;
  double tokens_per_step = 1.0;
  double capacity = 0.0;        ///< requests a second
  double least_capacity = 0.0;  ///< of a batch of the interval
  double ttft = 0.0;            ///< of Aggregated
  double wait = 0.0;            ///< mean wait for prefill of random arrivals: a part of ttft
  double turn = 0.0;            ///< time of a prefill through all its chunks
  double least_mixed = 0.0;     ///< lower bound of `mixed` for at least `users`
  double burst = 0.0;           ///< wait of users who start at once: a part of ttft
  double steady = 0.0;          ///< capacity without the burst, for a given number of replicas
  double in_flight = 0.0;       ///< requests of a replica
  double running = 0.0;         ///< of a job: requests that decode in an iteration without prefill
  double makespan = 0.0;        ///< of a job
  double memory = 0.0;
  double margin = 0.0;  ///< relative excess over a limit that a bound allows for its rounding
  /// Lower bound on the work of a request at this and any smaller batch; 0 if energies are not
  /// needed.
  EnergyWork least_work;

  /// Requests that decode in an iteration, with a chunk of prefill or without.
  [[nodiscard]] double beside(bool with_chunk) const {
    return with_chunk ? mix.decoding : makespan > 0.0 ? running : users;
  }
  /// The capacity of a closed loop whose users wait `more` seconds for each request, by Little's
  /// law.
  [[nodiscard]] double with_burst(double more) const {
    return 1.0 / (1.0 / steady + more / in_flight);
  }
};

/// Replicas of one structure and depth that decode and, if `chunk` is not 0, process chunks of
/// prefill.  Immutable; any thread may use it.  Refers to the task.
class Decoder {
 public:
  Decoder(const Task& task, const Means& means, const Structure& structure, std::int64_t depth,
          std::int64_t chunk, bool asks_energy = false);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Figures by (12) and (15) to (18) of docs/serving.md for any number of replicas, if every slot
  /// has a user.  If is_loaded() is true, every slot is taken to be full instead.
  [[nodiscard]] Decoding at(std::int64_t batch) const;
  /// Figures of one of `replicas` replicas that share the users, the rate or the job of the task.
  [[nodiscard]] Decoding at(std::int64_t batch, std::int64_t replicas) const;
  /// Figures of one replica of `role` with the running requests of `figures`, at least one.
  [[nodiscard]] Decoding at(const Role& role, const Figures& figures) const;
  /// Whether the figures depend on the number of replicas, since these share users, a rate or a
  /// job.
  [[nodiscard]] bool is_loaded() const {
    return chunk_ > 0 && (task_.concurrency || task_.rate || task_.num_requests);
  }
  /// Whether the capacity never falls with the batch (claim 3).
  [[nodiscard]] bool is_steady() const {
    if (chunk_ == 0) return true;
    const bool alike = loop_.spread == 0.0 || means_.steps == 0.0;
    const bool is_loop = !task_.num_requests && !loop_.graphs;
    return is_loop && alike && loop_.ranks == 1.0 && loop_.budget == 0.0 && !pass_.is_cut();
  }
  /// The bound of all batches between two results of `at` for the same number of replicas: (24), or
  /// (24b) if is_steady() is false.
  [[nodiscard]] Decoding between(const Decoding& low, const Decoding& high) const;
  /// Lower bounds for this batch and all greater ones; `decoding` must be a result of `at`.
  [[nodiscard]] double least_tpot(const Decoding& decoding) const;
  [[nodiscard]] double least_ttft(const Decoding& decoding) const;
  /// Lower bounds for all batches and any users, rate or job: (24f) of docs/serving.md.
  [[nodiscard]] double least_tpot_of_any_load() const;
  [[nodiscard]] double least_ttft_of_any_load() const;
  [[nodiscard]] PartTimes parts(const Decoding& decoding, bool mixed) const;
  /// The kernels of an iteration, without drafts; `mixed`: with a chunk of prefill.
  [[nodiscard]] std::vector<Operation> operations(const Decoding& decoding, bool mixed) const;
  [[nodiscard]] ServerMemory parts_of_memory(std::int64_t batch) const;
  /// Bytes of the cache of `tokens` tokens on a chip; its stage has an even share of the layers.
  [[nodiscard]] double cached_bytes(double tokens) const {
    const Cached cached = Cached::by_view(views_of(task_.model), [&](std::int64_t window) {
      return window > 0 ? std::min(tokens, real(window)) : tokens;
    });
    return pass_.held_bytes(cached) / real(structure_.pipeline);
  }
  /// Energy of the operations for a request at the full clock, if each rank and micro-batch answers
  /// `rate` requests a second and `users` requests decode; 0 unless energies are needed.
  /// docs/energy.md (8)
  [[nodiscard]] EnergyWork work_of_request(const Decoding& decoding, double rate,
                                           double users) const;
  [[nodiscard]] const Structure& structure() const { return structure_; }
  [[nodiscard]] std::int64_t depth() const { return depth_; }
  [[nodiscard]] std::int64_t chunk() const { return chunk_; }
  /// Seconds of an iteration without prefill in which `requests` decode, drafts included.
  [[nodiscard]] double iteration(double requests) const;
  [[nodiscard]] double memory(std::int64_t batch) const;
  /// Usable bytes of a chip.
  [[nodiscard]] double room() const { return room_; }

 private:
  class Times;
  /// The work of an iteration with the numbers of requests of `decoding`.
  [[nodiscard]] PassWork work_of(const Decoding& decoding, bool mixed) const;
  [[nodiscard]] PassWork work(double requests, double prompts, double chunk) const;
  [[nodiscard]] double tokens(std::int64_t batch) const;
  /// Bytes for drafting; in models with states, each token that is checked has a state of its own.
  [[nodiscard]] double drafted_bytes(std::int64_t batch) const {
    const double drafts = drafts_.memory(real(batch));
    if (!task_.model.mixed || gain_.checked <= 1.0) return drafts;
    return drafts + real(batch * structure_.pipeline) * (gain_.checked - 1.0) * pass_.state_bytes();
  }
  /// The lesser of two times for this work: the time of a pass through all stages, and the number
  /// of stages times the time of the slowest stage.
  [[nodiscard]] double least_time(PassWork work) const;
  [[nodiscard]] EnergyWork decoding_work(double requests, const PassWork& work) const;
  [[nodiscard]] EnergyWork least_work(std::int64_t batch) const;
  [[nodiscard]] Decoding of_loop(std::int64_t batch, const LoopFigures& loop, double busy) const;
  /// An upper bound on the capacity of all batches between two batches, by (24b).
  [[nodiscard]] double most_capacity(const Decoding& low, const Decoding& high) const;

  const Task& task_;
  const Means& means_;
  const Structure structure_;
  const Pool& pool_;
  const std::int64_t depth_;
  const std::int64_t chunk_;
  const Pass pass_;
  const Drafts drafts_;
  const Gain gain_;
  Cached cached_;       // cache of a running request
  Loop loop_;           // of a micro-batch
  PrefillWork prompt_;  // work of a whole prompt
  double least_iteration_ = 0.0;
  double room_;
  std::optional<PassEnergy> energy_;
};

/// A replica that prefills `batch` requests of a rank at a time, or the bound of an interval of
/// batches, like Decoding.
struct Prefilling {
  std::int64_t batch = 1;
  std::int64_t most_batch = 1;
  double period = 0.0;
  double latency = 0.0;
  double most_period = 0.0;  ///< period of the last batch
  double most_latency = 0.0;
  double capacity = 0.0;        ///< requests a second
  double least_capacity = 0.0;  ///< of a batch of the interval
  double memory = 0.0;
  double margin = 0.0;  ///< like the margin of Decoding
  EnergyWork work;      ///< work of a request, which never rises with the batch
};

/// Replicas of one structure that prefill.  Immutable; any thread may use it.  Refers to the task.
class Prefiller {
 public:
  Prefiller(const Task& task, const Means& means, const Structure& structure,
            bool asks_energy = false);
  Prefiller(const Prefiller&) = delete;
  Prefiller& operator=(const Prefiller&) = delete;

  /// Period, latency, capacity and memory never fall if the batch rises.
  [[nodiscard]] Prefilling at(std::int64_t batch) const;
  /// The bound of all batches between two results of `at`.
  [[nodiscard]] Prefilling between(const Prefilling& low, const Prefilling& high) const;
  [[nodiscard]] const Structure& structure() const { return structure_; }

 private:
  const Task& task_;
  const Means& means_;
  const Structure structure_;
  const Pass pass_;
  std::optional<PassEnergy> energy_;
};

/// The exchange between two pools, (19) to (21).
struct Handover {
  double transfer = 0.0;  ///< seconds to send a cache
  double latency = 0.0;   ///< latency of a message
  double bytes = 0.0;     ///< bytes of a cache
};
Handover handover(const Task& task, const Means& means, const Structure& prefill,
                  const Structure& decode);

/// Equal replicas, at one batch or in an interval of batches.
struct Prefillers {
  const Structure& structure;
  std::int64_t replicas;
  const Prefilling& each;

  [[nodiscard]] std::int64_t chips() const { return replicas * structure.chips(); }
};
struct Decoders {
  const Decoder& decoder;
  std::int64_t replicas;
  const Decoding& each;

  [[nodiscard]] const Structure& structure() const { return decoder.structure(); }
  [[nodiscard]] std::int64_t chips() const { return replicas * structure().chips(); }
};

/// Figures of a deployment, or the bound of all deployments of an interval of batches: no
/// deployment has a better figure, and each breaks at least the limits that the bound breaks.
/// `ttft_99` is not computed.
Figures aggregated(const Task& task, const Means& means, const Decoders& decoders);
Figures disaggregated(const Task& task, const Means& means, const Prefillers& prefillers,
                      const Decoders& decoders, const Handover& handover);

/// Computes all figures of a deployment.
Figures evaluate(const Task& task, const Deployment& deployment);

/// A lower bound on the chip-seconds of a request with `tpot` seconds for each token or, if the
/// axis is cost, on its dollars: (26) to (28) of docs/serving.md.  Infinite if no deployment is
/// this fast.  Any thread may call it.
double least_of_request(const Task& task, const Means& means, FrontAxis axis, double tpot);

}  // namespace dfsearch::serving
