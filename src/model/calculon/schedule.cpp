// Counts of a pipeline: stages take turns in rounds of as many micro-batches as there are stages.

#include "model/calculon/schedule.hpp"

#include <algorithm>

namespace dfsearch::calculon {

// docs/calculon.md (C11)
Schedule schedule_of(const ModelShape& transformer, const Execution& execution) {
  const std::int64_t stages = execution.pipeline;
  const std::int64_t rest = transformer.layers % stages;
  const std::int64_t blocks = transformer.layers / stages + (rest > 0 ? 1 : 0);
  const std::int64_t micro_batches =
      execution.global_batch / execution.data / execution.micro_batch;
  const std::int64_t last = micro_batches % stages;
  Schedule schedule;
  schedule.blocks = static_cast<double>(blocks);
  schedule.chunks = static_cast<double>(execution.chunks);
  schedule.chunk_blocks = schedule.blocks / schedule.chunks;
  schedule.stages = static_cast<double>(stages);
  schedule.micro_batches = static_cast<double>(micro_batches);
  schedule.in_flight = std::min(schedule.micro_batches, schedule.stages);
  if (execution.chunks > 1) {
    schedule.in_flight *= 1.0 + (schedule.stages - 1.0) / (schedule.chunks * schedule.stages);
  }
  schedule.short_stages = rest > 0 ? static_cast<double>(stages - rest) : 0.0;
  schedule.last_round = static_cast<double>(last > 0 ? last : stages);
  schedule.missing = last > 0 ? static_cast<double>(stages - last) : 0.0;
  return schedule;
}

}  // namespace dfsearch::calculon
