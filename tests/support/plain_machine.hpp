#pragma once
// Functions of plain_model.hpp for communication over the whole machine, as tables.

#include <vector>

#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch::test {

/// The two sides of the grid of chips, whose product are the chips of a copy.
struct PlainGrid {
  double x = 1.0;
  double y = 1.0;
};
PlainGrid plain_grid(const Problem& problem, const Mapping& mapping);

/// Seconds until the first byte of an all-to-all arrives, over the dimensions that serve these.
double plain_exchange_latency(const Problem& problem, const Mapping& mapping,
                              const std::vector<Strategy>& strategies);

/// Seconds of an own communication among all chips of a copy.
double plain_machine_time(const Problem& problem, const Mapping& mapping,
                          const Communication& communication);

}  // namespace dfsearch::test
