#pragma once
// How the micro-batches go through the stages: interleaved 1F1B.

#include "model/calculon/execution.hpp"

namespace dfsearch::calculon {

/// The counts of a schedule, as the factors of times and sizes that they are.
struct Schedule {
  double blocks = 1.0;  ///< of the first stage, which has the most
  double chunks = 1.0;
  double chunk_blocks = 1.0;  ///< blocks of a chunk, its edge block included
  double stages = 1.0;
  double micro_batches = 1.0;  ///< of a data rank
  double in_flight = 1.0;      ///< micro-batches whose activations a stage keeps
  double short_stages = 0.0;   ///< stages that have a block less
  double last_round = 1.0;     ///< micro-batches of the last round of one for each stage
  double missing = 0.0;        ///< by which the last round is short of one for each stage
};

Schedule schedule_of(const ModelShape& transformer, const Execution& execution);

}  // namespace dfsearch::calculon
