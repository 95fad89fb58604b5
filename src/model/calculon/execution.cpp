#include "model/calculon/execution.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace dfsearch::calculon {

namespace {

/// Domains name "yes" before "no".
std::int64_t place_of(bool yes) { return yes ? 0 : 1; }

}  // namespace

std::vector<std::int64_t> decisions_of(const Execution& e) {
  return {e.tensor,
          e.pipeline,
          e.data,
          e.global_batch,
          e.micro_batch,
          e.chunks,
          static_cast<std::int64_t>(e.recompute),
          place_of(e.sharding),
          static_cast<std::int64_t>(e.communication),
          place_of(e.redo),
          static_cast<std::int64_t>(e.overlap),
          place_of(e.fused),
          place_of(e.offload.weights),
          place_of(e.offload.activations),
          place_of(e.offload.optimizer),
          place_of(e.data_overlap),
          static_cast<std::int64_t>(e.networks[0]),
          static_cast<std::int64_t>(e.networks[1]),
          static_cast<std::int64_t>(e.networks[2])};
}

std::optional<Execution> execution_of(const std::vector<std::int64_t>& decisions) {
  Execution e;
  std::size_t next = 0;
  bool is_right = true;
  const auto number = [&](std::int64_t& value) {
    if (next < decisions.size()) value = decisions[next++];
  };
  const auto place = [&](auto& value, std::int64_t most) {
    if (next == decisions.size()) return;
    is_right = is_right && decisions[next] >= 0 && decisions[next] <= most;
    value = static_cast<std::remove_reference_t<decltype(value)>>(decisions[next++]);
  };
  const auto flag = [&](bool& value) {
    bool is_no = !value;
    place(is_no, 1);
    value = !is_no;
  };
  for (std::int64_t* value :
       {&e.tensor, &e.pipeline, &e.data, &e.global_batch, &e.micro_batch, &e.chunks}) {
    number(*value);
  }
  place(e.recompute, static_cast<std::int64_t>(Recompute::None));
  flag(e.sharding);
  place(e.communication, static_cast<std::int64_t>(Communication::ReduceScatter));
  flag(e.redo);
  place(e.overlap, static_cast<std::int64_t>(Overlap::Pipe));
  flag(e.fused);
  flag(e.offload.weights);
  flag(e.offload.activations);
  flag(e.offload.optimizer);
  flag(e.data_overlap);
  for (std::size_t& network : e.networks) {
    place(network, std::numeric_limits<std::int64_t>::max());
  }
  if (!is_right || next != decisions.size()) return std::nullopt;
  return e;
}

// Counts of a pipeline: stages take turns in rounds of one micro-batch for each stage.

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
