#pragma once
// A job: all requests arrive at once, and the time until the last answer counts, as in benchmarks
// of offline throughput (docs/serving.md, section 4).

#include "model/serving/closed_loop.hpp"

namespace dfsearch::serving {

/// Returns the figures of a micro-batch, by (18e) to (18g).  `requests` is at least 1, and at most
/// `slots` requests are served together.  In the result, `users` is the size of a generation, and
/// `decode` and `mixed` are times for the mean numbers of requests that decode.
LoopFigures job(const Loop& loop, const LoopTimes& times, double requests, double slots);

}  // namespace dfsearch::serving
