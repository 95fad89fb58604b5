#pragma once
// How long a pipeline takes for a step, and what its stages hold meanwhile (docs/training.md,
// section 4).  Against a simulation of events: tests/model/training/schedule_test.cpp.

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "model/training/plan.hpp"

namespace dfsearch::training {

/// The time of one micro-batch on one stage, all its layers and what it hands on.
struct StageTime {
  Seconds total{};    ///< forward, backward, recomputation, communication
  Seconds forward{};  ///< the part before the loss
  Seconds waited{};   ///< what is left where gradients of weights fill both ends
  Seconds ends{};     ///< the part of embedding and head, which one chunk alone has
};

/// The time from the first micro-batch to the last.  Exact if all stages are alike; if they
/// differ by the number of their layers and by the ends it is exact for GPipe, and for the others
/// no less than it takes.  At least `micro_batches` times that of the slowest stage; no less if a
/// stage takes longer.
/// docs/training.md (6)
Seconds pipeline_time(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                      const std::vector<StageTime>& stages);

/// How many micro-batches a stage, counted from 0, keeps the activations of at once; with
/// chunks a fraction, as it counts in whole stages.
/// docs/training.md (7)
double in_flight(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 std::int64_t stages, std::int64_t stage);

/// Whether the schedule works so: chunks divide what one stage has and micro-batches come in
/// rounds of the stages if there are several.
bool is_possible(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 std::int64_t stages, std::int64_t layers);

}  // namespace dfsearch::training
