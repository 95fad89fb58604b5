#pragma once
// The memory of a chip of one stage in training (docs/training.md, section 3).

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "model/memory/levels.hpp"
#include "model/memory/stage_memory.hpp"
#include "model/training/block.hpp"
#include "model/training/plan.hpp"
#include "model/training/profile.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// Bytes of one chip: `second` in the second memory, all others in the first memory.
struct MemoryUse {
  Bytes weights{};
  Bytes gradients{};
  Bytes optimizer{};
  Bytes activations{};  ///< activations of all micro-batches in flight
  Bytes working{};      ///< buffers of the block at work: recomputed values, inputs and outputs
  Bytes ends{};         ///< buffers of the embedding and the head
  Bytes runtime{};      ///< with a stack: buffers, fragments, the driver, NCCL
  Bytes second{};       ///< offloaded bytes, in the second memory

  [[nodiscard]] Bytes total() const {
    return weights + gradients + optimizer + activations + working + ends + runtime;
  }
};

/// Chips among which the states of an optimizer can be divided: all chips with the same weights or,
/// with a stack that has a `shard_group`, the chips of this group among them.
double sharing_chips(const Task& task, const Degrees& degrees, bool of_experts);

/// The memory of a chip of the stage, which never falls when a layer is added.  From the plan, only
/// degrees, recomputation, ZeRO, schedule, chunks and offload are read.
/// docs/training.md (2), (4), (5)
MemoryUse stage_memory(const Task& task, const Plan& plan, const Profiles& profiles,
                       const StageContent& content, std::int64_t stage, std::int64_t micro_batches);

/// The memory of a chip of the stage, with the constants of the stack at a level; `stage_memory`
/// uses the level `task.decide`.
/// docs/truth.md, section 5
memory::StageMemory memory_at(const Task& task, const Plan& plan, const Profiles& profiles,
                              const StageContent& content, std::int64_t stage,
                              std::int64_t micro_batches, memory::Level level);

/// The judgement of a plan with a stack, by its fullest stage at each level.
struct MemoryJudgement {
  memory::ByLevel<Bytes> needed{};
  memory::Verdict verdict = memory::Verdict::Fits;
  memory::StageMemory held;  ///< the parts of the fullest stage at `task.decide`
  Bytes visible{};           ///< memory of a chip, as its driver shows it
};

/// Options of the software of a stack that need less memory, if the task does not set them.
struct LeanOptions {
  bool head_by_chunks = false;   ///< the head and the loss work chunk by chunk
  bool fused_optimizer = false;  ///< the optimizer has no temporary values

  [[nodiscard]] bool any() const { return head_by_chunks || fused_optimizer; }
};

/// All lean options that the software of the stack has; none without a stack.
/// docs/truth.md, section 5
LeanOptions lean_options(const Task& task);
Task with(const LeanOptions& options, Task task);

/// The verdict is Infeasible only if the plan does not fit with all lean options, either.
/// docs/truth.md (16)
MemoryJudgement judgement(const Task& task, const Plan& plan, const Profiles& profiles,
                          const std::vector<StageContent>& stages, std::int64_t micro_batches);

/// Whether `use` fits in the memories of a chip.
bool fits(const Machine& machine, const MemoryUse& use);

/// False only if no plan with these degrees, micro-batch and recomputation fits; no other decision
/// of the plan is read.  Always true if layers may be offloaded.
/// docs/search.md, section 15
bool may_fit(const Task& task, Plan plan, const Profiles& profiles, const LayerOrder& order);

}  // namespace dfsearch::training
