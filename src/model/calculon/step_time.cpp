// A chunk is a run of base blocks and one edge block, which hands over to the next stage.

#include "model/calculon/step_time.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch::calculon {
namespace {

/// The times of a base block and of an edge block in both passes.
struct ChunkBlocks {
  Seconds base_forward{};
  Seconds edge_forward{};
  Seconds base_backward{};
  Seconds edge_backward{};
};

/// The time of a chunk, whose base blocks and then its edge block run one after the other.
Seconds over_chunk(const Schedule& schedule, Seconds base, Seconds edge) {
  return (schedule.chunk_blocks - 1.0) * base + edge;
}

// docs/calculon.md (C12)
ChunkBlocks without_offload(const StepBasis& basis) {
  const BlockTimes& block = basis.block;
  const Seconds backward =
      block.recompute.time + block.input_gradient.time + block.weight_gradient.time;
  return {.base_forward = block.forward.time + block.base.forward,
          .edge_forward = block.forward.time + block.edge.forward + basis.hop,
          .base_backward = backward + block.base.again + block.base.backward,
          .edge_backward = backward + block.edge.again + block.edge.backward + basis.backward_hop};
}

/// The additional time of transfers to and from the second memory, which occupy the first memory.
// docs/calculon.md (C13)
ChunkBlocks offload_overheads(const StepBasis& basis, const ChunkBlocks& blocks) {
  const Seconds forward = basis.forward_offload + basis.block.forward.memory;
  const Seconds backward = basis.backward_offload + basis.block.input_gradient.memory +
                           basis.block.weight_gradient.memory;
  return {.base_forward = std::max(Seconds{}, forward - blocks.base_forward),
          .edge_forward = std::max(Seconds{}, forward - blocks.edge_forward),
          .base_backward = std::max(Seconds{}, backward - blocks.base_backward),
          .edge_backward = std::max(Seconds{}, backward - blocks.edge_backward)};
}

ChunkBlocks with_offload(const ChunkBlocks& blocks, const ChunkBlocks& overheads) {
  return {.base_forward = blocks.base_forward + overheads.base_forward,
          .edge_forward = blocks.edge_forward + overheads.edge_forward,
          .base_backward = blocks.base_backward + overheads.base_backward,
          .edge_backward = blocks.edge_backward + overheads.edge_backward};
}

// docs/calculon.md (C14)
Seconds bubble_time(const Schedule& schedule, const ChunkBlocks& blocks) {
  const Seconds chunk = over_chunk(schedule, blocks.base_forward, blocks.edge_forward) +
                        over_chunk(schedule, blocks.base_backward, blocks.edge_backward);
  const Seconds waits =
      (schedule.stages - 1.0 + (schedule.chunks - 1.0) * schedule.missing) * chunk;
  if (!(schedule.short_stages > 0.0)) return waits;
  const Seconds shorter = schedule.chunk_blocks > 1.0
                              ? (blocks.base_forward + blocks.edge_forward + blocks.base_backward +
                                 blocks.edge_backward) /
                                    2.0
                              : blocks.edge_forward + blocks.edge_backward;
  // Rounding must not make the bubble negative.
  return std::max(Seconds{}, waits - schedule.short_stages * shorter);
}

}  // namespace

// docs/calculon.md (C15)
StepTime step_time(const StepBasis& basis) {
  const Schedule& schedule = basis.schedule;
  const BlockTimes& block = basis.block;
  const double blocks = schedule.blocks * schedule.micro_batches;
  const double chunks = schedule.micro_batches * schedule.chunks;
  const ChunkBlocks plain = without_offload(basis);
  const ChunkBlocks overheads = offload_overheads(basis, plain);
  StepTime step;
  step.forward = blocks * block.forward.time;
  step.backward = blocks * (block.input_gradient.time + block.weight_gradient.time);
  step.recompute = blocks * block.recompute.time;
  step.optimizer = schedule.blocks * basis.optimizer.time;
  step.tensor = chunks * over_chunk(schedule, block.base.forward + block.base.backward,
                                    block.edge.forward + block.edge.backward);
  step.tensor_again = chunks * over_chunk(schedule, block.base.again, block.edge.again);
  if (schedule.stages > 1.0) step.pipeline = (basis.training ? 2.0 : 1.0) * chunks * basis.hop;
  step.bubble = bubble_time(schedule, with_offload(plain, overheads));
  step.offload = chunks * over_chunk(schedule, overheads.base_forward + overheads.base_backward,
                                     overheads.edge_forward + overheads.edge_backward);
  return step;
}

// docs/calculon.md (C16), (C17), (C18)
Seconds data_time(const StepBasis& basis, const GradientSums& sums) {
  const Schedule& schedule = basis.schedule;
  if (!sums.overlapped) return schedule.blocks * sums.block;
  const BlockTimes& block = basis.block;
  const ChunkBlocks plain = without_offload(basis);
  const ChunkBlocks blocks = with_offload(plain, offload_overheads(basis, plain));
  const Seconds base = blocks.base_backward;
  const Seconds edge = blocks.edge_backward;
  const double before = schedule.chunk_blocks - 1.0;

  const Seconds memory =
      block.input_gradient.memory + block.weight_gradient.memory + block.recompute.memory;
  Seconds compute =
      block.input_gradient.compute + block.weight_gradient.compute + block.recompute.compute;
  Seconds update{};  // time of the optimizer that also hides the sums
  if (!sums.sharded) {
    compute += basis.optimizer.compute;
    update = basis.optimizer.time - basis.optimizer.memory;
  }
  Seconds base_shared{};
  Seconds edge_shared{};
  if (sums.with_tensor) {
    base_shared = block.base.again_link + block.base.backward_link;
    edge_shared = block.edge.again_link + block.edge.backward_link;
  }
  const Seconds window = before * (base - memory - base_shared) + (edge - memory - edge_shared) +
                         schedule.chunk_blocks * update;
  double delayed_hops = 0.0;
  if (sums.with_pipeline) {
    const Seconds chunk = over_chunk(schedule, base, edge);
    delayed_hops =
        std::min(std::floor(schedule.chunk_blocks * sums.block / chunk), schedule.last_round);
  }
  const Seconds excess = schedule.chunk_blocks * sums.block - schedule.stages * window +
                         delayed_hops * basis.backward_hop +
                         schedule.stages * schedule.chunk_blocks * compute * sums.usage;
  Seconds last_window{};
  if (before > 0.0) last_window = window - basis.backward_hop - (base + edge) / 2.0 + update;
  const Seconds last_excess = before * sums.block + compute * sums.usage - last_window;
  return sums.block +
         (schedule.chunks - 1.0) *
             (excess > Seconds{} ? excess : schedule.chunk_blocks * sums.block * sums.usage) +
         (last_excess > Seconds{} ? last_excess : before * sums.block * sums.usage);
}

}  // namespace dfsearch::calculon
