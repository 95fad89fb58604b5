#pragma once

// The memory of a chip of one stage in training (docs/training.md, section 3).

#include <cstdint>

#include "base/units.hpp"
#include "model/training/block.hpp"
#include "model/training/plan.hpp"
#include "model/training/profile.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// Bytes of one chip, in the first memory but for `second`.
struct MemoryUse {
  Bytes weights{};
  Bytes gradients{};
  Bytes optimizer{};
  Bytes activations{};  ///< of all micro-batches in flight
  Bytes working{};      ///< of the block at work, computed again or on the way
  Bytes ends{};         ///< of the embedding and the head
  Bytes runtime{};      ///< with a stack: the allocator, the driver, NCCL
  Bytes second{};       ///< all that is offloaded

  [[nodiscard]] Bytes total() const {
    return weights + gradients + optimizer + activations + working + ends + runtime;
  }
};

/// Chips among which an optimizer's states can be divided: those with the same weights.
double sharing_chips(const Degrees& degrees, bool of_experts);

/// Returns the bytes of an element of the gradients on a chip.  A stack adds its copies of 16 bits
/// and the buffers of an optimizer that is divided.
double gradient_bytes(const Task& task, int zero);

/// Never less with a layer more.  Of the plan degrees, recomputation, ZeRO, schedule, chunks and
/// offload are read.
/// docs/training.md (2), (4), (5)
MemoryUse stage_memory(const Task& task, const Plan& plan, const Profiles& profiles,
                       const StageContent& content, std::int64_t stage, std::int64_t micro_batches);

/// Whether `use` is within the memories of a chip.
bool fits(const Machine& machine, const MemoryUse& use);

/// False only if no plan with these degrees, micro-batch and recomputation fits; no other decision
/// of the plan is read.  True where layers may be offloaded.
/// docs/search.md, section 15
bool may_fit(const Task& task, Plan plan, const Profiles& profiles, const LayerOrder& order);

}  // namespace dfsearch::training
