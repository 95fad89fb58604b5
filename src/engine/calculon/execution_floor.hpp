#pragma once
// Lower bounds on the step time of executions that are decided in part.

#include "base/units.hpp"
#include "engine/calculon/execution_space.hpp"
#include "model/calculon/block_times.hpp"
#include "model/calculon/memory_use.hpp"

namespace dfsearch::calculon {

/// What a block takes at least for given degrees and micro-batch, whatever else is chosen
/// (docs/search.md, section 13).
struct BlockFloor {
  PassTimes forward;
  PassTimes input_gradient;
  PassTimes weight_gradient;
  Seconds hop{};  ///< a transfer to the next stage
};

/// Decided: degrees, batch, micro-batch.
BlockFloor block_floor(const ExecutionSpace& space, const Execution& execution);

/// Decided: degrees, batch, micro-batch, chunks.  No execution below takes less.
Seconds schedule_floor(const ExecutionSpace& space, const Execution& execution,
                       const BlockFloor& block);

/// Decided: all but the networks and the overlap of data ranks.  No execution below takes less;
/// infinite where no network can serve one of the degrees.
Seconds shape_floor(const ExecutionSpace& space, const Execution& execution,
                    const BlockMemory& memory);

}  // namespace dfsearch::calculon
