#pragma once
// Continuous batching in its steady state: users who each send requests one after the other, or
// requests that arrive at random, on one rank (docs/serving.md, section 4).  Times are seconds;
// counts of users are real numbers of at least 1.

#include <cstdint>
#include <vector>

#include "model/serving/requests.hpp"

namespace dfsearch::serving {

/// The requests of a rank and the rules for their prefill.
struct Loop {
  const Means* means = nullptr;  ///< means of the requests
  double gained = 1.0;           ///< tokens of a pass
  double checked = 1.0;          ///< tokens that a request that decodes adds to an iteration
  double chunk = 0.0;            ///< tokens of prefill in an iteration with prefill
  double budget = 0.0;  ///< tokens of an iteration, which limit the chunk; 0: `chunk` is fixed
  double spread = 0.0;  ///< lengths are uniform in (1 - spread .. 1 + spread) of the mean
  double ranks = 1.0;   ///< ranks that wait for each other, but prefill independently
  bool whole_prompts = false;  ///< prompts that fit in an iteration are not split
  /// Sizes in tokens of recorded iterations without prefill, ascending; null: no padding.
  const std::vector<std::int64_t>* graphs = nullptr;

  [[nodiscard]] double steps() const { return means->steps / gained; }
  [[nodiscard]] double chunk_beside(double requests) const;
  /// Iterations of a lone prompt, at least 1.
  [[nodiscard]] double turns(double of_chunk) const;
  /// Iterations that a prompt costs if every chunk is full.
  [[nodiscard]] double least_cost(double of_chunk) const {
    return whole_prompts ? means->iterations(static_cast<std::int64_t>(of_chunk))
                         : means->fresh / of_chunk;
  }
  /// Tokens of padding from an iteration with `requests` to the next recorded size.
  [[nodiscard]] double padding(double requests) const;
};

/// The mix of iterations of a loop.
struct LoopMix {
  double share = 0.0;     ///< share of iterations with a chunk of prefill
  double cost = 1.0;      ///< iterations that a prompt costs
  double filling = 0.0;   ///< requests in prefill in an iteration with prefill
  double decoding = 0.0;  ///< requests that decode in an iteration with prefill
  double chunk = 0.0;     ///< most tokens of prefill in an iteration
  double ranks = 1.0;     ///< ranks that prefill at the same time, if ranks wait for each other
  bool is_paced = false;  ///< all iterations have prefill, which sets the pace
};

/// (15) to (16b): the mix for `users` users, at least 1.  The share, the requests that decode and
/// the inverse of the cost never fall with the users.
LoopMix mix_of(const Loop& loop, double users);

/// The times of the iterations of a rank.  No time falls if an argument rises, except that `mixed`
/// falls if the cost rises.
class LoopTimes {
 public:
  [[nodiscard]] virtual double decode(double requests) const = 0;
  /// The time with `padding` additional tokens, which do not read the cache.
  [[nodiscard]] virtual double padded(double requests, double padding) const {
    return padding > 0.0 ? decode(requests + padding) : decode(requests);
  }
  /// The time if a chunk of up to `chunk` tokens of prefill runs beside the requests that decode,
  /// on `ranks` of the ranks that wait for each other.  A prompt costs `cost` iterations.
  [[nodiscard]] virtual double mixed(double requests, double cost, double chunk,
                                     double ranks) const = 0;

 protected:
  ~LoopTimes() = default;
};

/// A rank in its steady state.
struct LoopFigures {
  double users = 0.0;  ///< served at once; other users wait for a slot or for their answer
  LoopMix mix;
  double decode = 0.0;      ///< seconds of an iteration without prefill
  double mixed = 0.0;       ///< seconds of an iteration with prefill
  double throughput = 0.0;  ///< requests a second
  double tpot = 0.0;        ///< 0 if no request has a second token
  double ttft = 0.0;
  double wait = 0.0;      ///< in an open loop, wait for prefill: a part of ttft
  double running = 0.0;   ///< of a job: mean requests that decode in an iteration without prefill
  double makespan = 0.0;  ///< of a job: seconds until the last request is answered
};

/// (17) for a given number of users that are all served, without times outside of the engine.
LoopFigures served_loop(const Loop& loop, const LoopTimes& times, double users);

/// (15) to (18): a closed loop of `users`, of whom at most `slots` are served at once; `answer` is
/// the time of each request outside of the engine.
LoopFigures closed_loop(const Loop& loop, const LoopTimes& times, double users, double slots,
                        double answer);

/// (18b), (18c): an open loop of `rate` requests a second, which come at random.  Its ttft is
/// infinite if prefill cannot keep up.
LoopFigures open_loop(const Loop& loop, const LoopTimes& times, double rate, std::int64_t slots,
                      double answer);

}  // namespace dfsearch::serving
