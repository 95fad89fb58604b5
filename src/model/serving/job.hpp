#pragma once
// A job: all requests come at once, and the time until the last is answered counts, as in the
// benchmarks of offline throughput (docs/serving.md, section 4).

#include "model/serving/closed_loop.hpp"

namespace dfsearch::serving {

/// (18e) to (18g): a micro-batch that has `requests` at once, at least 1, and serves at most `slots`
/// of them together.  `users` of the figures is the size of a generation; the times of iterations
/// are those of the mean numbers that decode in them.
LoopFigures job(const Loop& loop, const LoopTimes& times, double requests, double slots);

}  // namespace dfsearch::serving
