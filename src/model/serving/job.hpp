#pragma once
// A job: all requests come at once, and the time until the last is answered counts, as in the
// benchmarks of offline throughput (docs/serving.md, section 4).

#include "model/serving/closed_loop.hpp"

namespace dfsearch::serving {

/// Returns the figures of a micro-batch, by (18e) to (18g).  At least one of `requests` comes, all
/// come at once, and at most `slots` are served together.  The key `users` is the size of a
/// generation, and iterations have the times of the mean numbers that decode in them.
LoopFigures job(const Loop& loop, const LoopTimes& times, double requests, double slots);

}  // namespace dfsearch::serving
