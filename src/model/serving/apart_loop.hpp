#pragma once
// A closed loop of users with separate replicas for prefill (docs/serving.md, section 4).  Times
// are seconds; counts of users are real numbers.

#include <algorithm>

#include "model/serving/requests.hpp"

namespace dfsearch::serving {

/// Returns a root of `excess` by regula falsi (Illinois).  `excess` is `below` at `low` and `above`
/// at `high`, which have opposite signs.  At the returned number, `excess` is at most `tolerance`
/// away from 0, or the number is the high end of an interval without numbers inside.
template <class Excess>
double rising_root(double low, double below, double high, double above, double tolerance,
                   const Excess& excess) {
  for (int step = 0; step < 200; ++step) {
    double middle = (low * above - high * below) / (above - below);
    if (!(low < middle && middle < high)) middle = (low + high) / 2.0;
    if (!(low < middle && middle < high)) break;
    const double rest = excess(middle);
    if (rest <= tolerance && rest >= -tolerance) return middle;
    if (rest > 0.0) {
      if (high - middle < (high - low) / 2.0) below /= 2.0;
      high = middle;
      above = rest;
    } else {
      if (middle - low < (high - low) / 2.0) above /= 2.0;
      low = middle;
      below = rest;
    }
  }
  return high;
}

/// The prefill of a loop, and the other times of requests outside of decoding.
struct ApartLoop {
  double users = 1.0;
  double most = 0.0;      ///< requests a second that all parts of the deployment can serve
  double first = 0.0;     ///< seconds to the first token without any wait
  double batch = 1.0;     ///< prompts of a pass
  double pass = 0.0;      ///< seconds of a pass
  double capacity = 0.0;  ///< prompts a second
  double servers = 1.0;   ///< ranks that prefill
  bool waits = true;      ///< whether prompts wait for passes of other prompts
  double steps = 0.0;     ///< passes of a request that decodes
  double places = 1.0;    ///< number of micro-batches that decode

  /// The mean seconds that a prompt waits for other prompts: the wait of M/D/1, but at most the
  /// wait if all users came at once.
  [[nodiscard]] double wait(double rate) const {
    if (!waits) return 0.0;
    const double longest = std::max(users / servers - 1.0, 0.0) / 2.0 * pass;
    return std::min(mean_wait(std::min(rate / capacity, 1.0)) * pass / servers, longest);
  }
  /// Users in the deployment if `running` requests of a micro-batch decode.  Never falls if an
  /// argument rises.
  [[nodiscard]] double held(double rate, double running) const {
    return prefilled(rate) + places * running;
  }
  /// The users in the deployment whose prompts wait or are in prefill.
  [[nodiscard]] double prefilled(double rate) const {
    const double full = std::min(batch, std::max(users / servers, 1.0));
    return rate * (first + wait(rate)) + (full - 1.0) / 2.0 * servers;
  }
};

struct ApartFigures {
  double running = 0.0;     ///< requests of a micro-batch that decode
  double throughput = 0.0;  ///< requests a second
  double ttft = 0.0;
};

/// (21a): at most `slots` requests of a micro-batch decode.  `iteration(n)` is the time between two
/// passes of a request if n >= 1 requests decode; it never falls with n.
template <class Iteration>
ApartFigures apart_loop(const ApartLoop& loop, double slots, const Iteration& iteration) {
  constexpr double kTolerance = 4e-16;
  const auto rate_of = [&](double running) {
    return loop.places * running / (loop.steps * iteration(std::max(running, 1.0)));
  };
  // The running requests give the throughput; if nothing decodes, the throughput itself is the
  // unknown.
  const bool decodes = loop.steps > 0.0;
  ApartFigures found;
  bool others_wait = true;
  const auto put = [&](double x) {
    found.running = decodes ? x : 0.0;
    found.throughput = decodes ? rate_of(x) : x;
    return loop.held(found.throughput, found.running) - loop.users;
  };
  // First, the loop is solved without its limits, so deployments that differ only in limits that do
  // not bind have exactly the same figures.
  const double most = decodes ? loop.users / loop.places : loop.most;
  if (const double above = put(most); above > 0.0) {
    const double none = loop.held(0.0, 0.0) - loop.users;
    put(rising_root(0.0, none, most, above, kTolerance * loop.users, put));
    others_wait = false;
  }
  if (decodes && found.running > slots) {
    put(slots);
    others_wait = true;
  }
  if (decodes && found.throughput > loop.most) {
    put(rising_root(0.0, -loop.most, found.running, found.throughput - loop.most,
                    kTolerance * loop.most, [&](double x) { return rate_of(x) - loop.most; }));
    others_wait = true;
  }
  // Little's law for the users who do not decode, which avoids a difference of two long times.
  const double apart =
      others_wait ? loop.users - loop.places * found.running : loop.prefilled(found.throughput);
  found.ttft = apart / found.throughput;
  return found;
}

}  // namespace dfsearch::serving
