#pragma once
// Replicas in their steady state: rates, latencies, memory and limits of a deployment.

#include <cstdint>

#include "model/serving/deployment.hpp"
#include "model/serving/pass.hpp"
#include "model/serving/speculation.hpp"

namespace dfsearch::serving {

/// A replica that decodes at one batch; rates are of one replica.
struct Decoding {
  double iteration = 0.0;  ///< of a micro-batch: a request has `pipeline` of them
  double mixed = 0.0;
  double mixed_share = 0.0;
  double tpot = 0.0;
  double capacity = 0.0;  ///< requests a second
  double ttft = 0.0;      ///< of Aggregated
  double wait = 0.0;      ///< for its prefill, on average: a part of ttft
  double turn = 0.0;      ///< of a prefill, through all its chunks
  double memory = 0.0;
};

/// Replicas of one structure and depth that decode, with chunks of prefill beside it if there are
/// any.  Immutable; any thread; refers to the task.
class Decoder {
 public:
  Decoder(const Task& task, const Means& means, const Structure& structure, std::int64_t depth,
          std::int64_t chunk);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// (12), (16) to (18) of docs/serving.md.  Iteration, tpot, ttft, memory and, while
  /// `mixed_share` is at most 1, capacity never fall if the batch rises.
  [[nodiscard]] Decoding at(std::int64_t batch) const;
  /// Whether what a larger batch serves never falls while prefill keeps up (claim 3).
  [[nodiscard]] bool is_steady() const { return chunk_ == 0 || !pass_.is_cut(); }
  /// No batch between those of two answers serves more: (24), or (24b) if it is not steady.
  [[nodiscard]] double most_capacity(const Decoding& low, const Decoding& high) const;
  /// What the iterations go to.
  [[nodiscard]] PartTimes parts(std::int64_t batch, bool mixed) const;
  [[nodiscard]] const Structure& structure() const { return structure_; }
  [[nodiscard]] std::int64_t depth() const { return depth_; }
  [[nodiscard]] std::int64_t chunk() const { return chunk_; }
  [[nodiscard]] double tokens_per_step() const { return gain_.gained; }
  /// Seconds of an iteration, drafts included.
  [[nodiscard]] double iteration(std::int64_t batch) const;
  [[nodiscard]] double memory(std::int64_t batch) const;
  /// Bytes that a chip has.
  [[nodiscard]] double room() const { return room_; }

 private:
  [[nodiscard]] PassWork work(std::int64_t batch, bool mixed) const;

  const Task& task_;
  const Means& means_;
  const Structure structure_;
  const Pool& pool_;
  const std::int64_t depth_;
  const std::int64_t chunk_;
  const Pass pass_;
  const Drafts drafts_;
  const Gain gain_;
  Cached cached_;        // of a running request
  double chunks_ = 0.0;  // mixed iterations of a request
  double waited_ = 0.0;  // of those, the ones that its first token waits for
  PrefillWork prefill_;  // of a mixed iteration
  double room_;
};

/// A replica that prefills batches of one size.
struct Prefilling {
  double period = 0.0;
  double latency = 0.0;
  double capacity = 0.0;  ///< requests a second
  double memory = 0.0;
};
Prefilling prefilling(const Task& task, const Means& means, const Structure& structure,
                      std::int64_t batch);

/// What two pools do together, (19) to (21).
struct Handover {
  double transfer = 0.0;  ///< seconds of a cache
  double bytes = 0.0;     ///< of a cache
};
Handover handover(const Task& task, const Means& means, const Structure& prefill,
                  const Structure& decode);

/// Of replicas of one kind.
Figures aggregated(const Task& task, const Means& means, const Structure& structure,
                   const Decoder& decoder, const Decoding& decoding, std::int64_t batch,
                   std::int64_t replicas);
/// Of the two sides, whose structures the roles have.
Figures disaggregated(const Task& task, const Means& means, const Role& prefill,
                      const Prefilling& prefilling, const Role& decode, const Decoding& decoding,
                      const Handover& handover, double tokens_per_step);

/// The judge: everything anew from the deployment alone.
Figures evaluate(const Task& task, const Deployment& deployment);

}  // namespace dfsearch::serving
