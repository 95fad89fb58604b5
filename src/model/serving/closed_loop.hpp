#pragma once
// Continuous batching in its steady state: users who each send requests one after the other, or
// requests that arrive at random, on one rank (docs/serving.md, section 4).  Times are seconds;
// counts of users are real numbers of at least 1.

#include <cstdint>
#include <vector>

#include "model/serving/requests.hpp"

namespace dfsearch::serving {

/// The requests of a rank and the way in which their prompts pass.
struct Loop {
  const Means* means = nullptr;  ///< of the requests
  double gained = 1.0;           ///< tokens of a pass
  double checked = 1.0;          ///< tokens that a request that decodes adds to an iteration
  double chunk = 0.0;            ///< tokens of prefill in an iteration that has some
  double budget = 0.0;         ///< tokens of an iteration, which leave the chunk; 0: `chunk` counts
  double spread = 0.0;         ///< of lengths, uniform in (1 - spread .. 1 + spread) of their mean
  double ranks = 1.0;          ///< that wait for each other and prefill in iterations of their own
  bool whole_prompts = false;  ///< an iteration takes no parts of prompts that it has room for
  /// Tokens of recorded iterations without prefill, ascending; null: all numbers are recorded.
  const std::vector<std::int64_t>* graphs = nullptr;

  [[nodiscard]] double steps() const { return means->steps / gained; }
  [[nodiscard]] double chunk_beside(double requests) const;
  /// Iterations of a lone prompt, at least 1.
  [[nodiscard]] double turns(double of_chunk) const;
  /// Iterations that a prompt costs if each chunk is full.
  [[nodiscard]] double least_cost(double of_chunk) const {
    return whole_prompts ? means->iterations(static_cast<std::int64_t>(of_chunk))
                         : means->fresh / of_chunk;
  }
  /// Tokens of padding from an iteration with `requests` to the next recorded size.
  [[nodiscard]] double padding(double requests) const;
};

/// The mix of a loop with `users` of them served.
struct LoopMix {
  double share = 0.0;     ///< of iterations with a chunk of prefill
  double cost = 1.0;      ///< iterations that a prompt costs
  double filling = 0.0;   ///< requests in prefill in such an iteration
  double decoding = 0.0;  ///< requests that decode in it
  double chunk = 0.0;     ///< the most tokens of prefill in it
  double ranks = 1.0;     ///< ranks that prefill in it, where ranks wait for each other
  bool is_paced = false;  ///< all iterations take one: prefill sets the pace
};

/// (15) to (16b): the mix of `users` of at least 1.  The share, the requests that decode and the
/// inverse of the cost never fall with the users.
LoopMix mix_of(const Loop& loop, double users);

/// The times of the iterations of a rank.  Neither falls if any of its arguments rises but for the
/// cost, with which the second falls.
class LoopTimes {
 public:
  [[nodiscard]] virtual double decode(double requests) const = 0;
  /// The time of one with `padding` tokens more, which no request reads the cache for.
  [[nodiscard]] virtual double padded(double requests, double padding) const {
    return padding > 0.0 ? decode(requests + padding) : decode(requests);
  }
  /// The time with a chunk of up to `chunk` tokens of prefill beside them on `ranks` of the ranks
  /// that wait for each other, where a prompt costs `cost` iterations.
  [[nodiscard]] virtual double mixed(double requests, double cost, double chunk,
                                     double ranks) const = 0;

 protected:
  ~LoopTimes() = default;
};

/// A rank in its steady state.
struct LoopFigures {
  double users = 0.0;  ///< that are served at once; the others wait for a slot or for their answer
  LoopMix mix;
  double decode = 0.0;      ///< an iteration without prefill
  double mixed = 0.0;       ///< one with it
  double throughput = 0.0;  ///< requests a second
  double tpot = 0.0;        ///< 0 if no request has a second token
  double ttft = 0.0;
  double wait = 0.0;      ///< for the prefill, in an open loop: a part of ttft
  double running = 0.0;   ///< of a job: that decode in an iteration without prefill, on average
  double makespan = 0.0;  ///< of a job: seconds until the last request is answered
};

/// (17) of a given number of users that are all served, without times outside of the engine.
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
