#pragma once
// A job: all requests come at once, and the time until the last is answered counts, as in the
// benchmarks of offline throughput (docs/serving.md, section 4).

#include "model/serving/closed_loop.hpp"

namespace dfsearch::serving {

/// Figures, (18e) to (18g), of a micro-batch with `requests` at once, at least 1; at most `slots`
/// are served together.  `users` of them is the size of a generation, and the times of iterations
/// are those of the mean numbers that decode in them.
LoopFigures job(const Loop& loop, const LoopTimes& times, double requests, double slots);

}  // namespace dfsearch::serving
