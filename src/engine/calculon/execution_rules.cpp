// The decisions of an execution are taken level by level, and each level gets a floor.
//
// Levels up to the degrees have no floor, since their nodes are few.  A shape that does not fit in
// memory never becomes a node, and its time is never computed. docs/search.md, section 13, has the
// proofs; tests/engine/calculon compares with plain enumeration.

#include "engine/calculon/execution_rules.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "model/calculon/evaluate.hpp"

namespace dfsearch::calculon {
namespace {

Score score(Seconds time) { return Score(time.in_base_units()); }

/// Number of decisions taken down to each level.
constexpr std::size_t kDecided[] = {0, 1, kDegreeDecisions, kScheduleDecisions, kShapeDecisions};

PlanNode node_of(int level, const Execution& execution, Score bound) {
  Decisions taken = decisions_of(execution);
  taken.resize(kDecided[level]);
  return {.level = level, .taken = std::move(taken), .bound = bound};
}

/// The memory of the blocks of one schedule, each computed on first use: blocks differ only in
/// recompute, redo, overlap and the split of the sequence.
class BlockMemories {
 public:
  explicit BlockMemories(const Task& task) : task_(task) {}

  const BlockMemory& of(const Execution& shape) {
    const bool split = shape.communication == Communication::ReduceScatter;
    const bool overlapped = shape.overlap != Overlap::None;
    std::size_t index = static_cast<std::size_t>(shape.recompute);
    for (const bool flag : {split, shape.redo, overlapped}) index = 2 * index + (flag ? 1 : 0);
    std::optional<BlockMemory>& memory = memories_[index];
    if (!memory) {
      memory = block_memory(block_kernels(task_.transformer, shape), task_.transformer, shape);
    }
    return *memory;
  }

 private:
  const Task& task_;
  std::array<std::optional<BlockMemory>, 24> memories_;
};

class ShapeCosts {
 public:
  ShapeCosts(const Task& task, const Execution& shape)
      : task_(task),
        kernels_(block_kernels(task.transformer, shape)),
        memory_(block_memory(kernels_, task.transformer, shape)),
        blocks_(task.machine.network.size()) {
    basis_.training = task.transformer.training;
    basis_.schedule = schedule_of(task.transformer, shape);
    if (basis_.training) {
      basis_.optimizer = optimizer_times(kernels_, task.machine, optimizer_parts(shape));
    }
    set_offload(basis_, task.machine, shape, memory_);
  }

  Seconds cost(const Execution& execution) {
    const std::size_t tensor = execution.network(Axis::Tensor);
    if (!blocks_[tensor]) {
      blocks_[tensor] = block_times(kernels_, task_.transformer, task_.machine, execution,
                                    &task_.machine.network[tensor]);
    }
    basis_.block = *blocks_[tensor];
    set_hops(basis_, task_.transformer, task_.machine, execution);
    StepTime step = step_time(basis_);
    if (basis_.training && execution.data > 1) {
      step.data = data_time(
          basis_, gradient_sums(task_.transformer, task_.machine, execution, memory_.weights));
    }
    return step.total();
  }

 private:
  const Task& task_;
  const BlockKernels kernels_;
  const BlockMemory memory_;
  StepBasis basis_;
  std::vector<std::optional<BlockTimes>> blocks_;  // by network of the tensor groups
};

}  // namespace

void ExecutionRules::branch(const PlanNode& node, const PlanBranching& branching) const {
  switch (static_cast<Level>(node.level)) {
    case kRoot:
      return branch_root(node, branching);
    case kTensor:
      return branch_tensor(node, branching);
    case kDegrees:
      return branch_degrees(node, branching);
    case kSchedule:
      return branch_schedule(node, branching);
    case kShape:
      return branch_shape(node, branching);
  }
}

/// Whether the space has the decisions of an execution that are taken at a level.
bool ExecutionRules::has(Level level, const Execution& execution) const {
  const auto is_in = [](const auto& list, const auto& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  if (level < kTensor) return true;
  if (!is_in(space_.tensor_degrees(), execution.tensor)) return false;
  if (level < kDegrees) return true;
  if (!is_in(space_.pipeline_degrees(execution.tensor), execution.pipeline)) return false;
  Execution part = *space_.with_degrees(execution.tensor, execution.pipeline);
  if (part.data != execution.data || part.global_batch != execution.global_batch) return false;
  if (level >= kSchedule && (!is_in(space_.micro_batches(part), execution.micro_batch) ||
                             !is_in(space_.chunk_counts(part), execution.chunks))) {
    return false;
  }
  if (level < kShape) return true;
  part.micro_batch = execution.micro_batch;
  part.chunks = execution.chunks;
  Execution shape = execution;
  shape.offload = part.offload;
  shape.data_overlap = part.data_overlap;
  shape.networks = part.networks;
  return is_in(space_.shapes(part), shape) && is_in(space_.offloads(shape), execution.offload);
}

bool ExecutionRules::has(const PlanNode& node) const {
  if (node.level < kRoot || node.level > kShape || node.taken.size() != kDecided[node.level] ||
      !node.below.empty()) {
    return false;
  }
  const std::optional<Execution> execution = execution_of(node.taken);
  return execution && node_of(node.level, *execution, {}).taken == node.taken &&
         has(static_cast<Level>(node.level), *execution);
}

/// Whether the space contains the execution, which may come from a file.
bool ExecutionRules::has(const Execution& execution) const {
  if (!has(kShape, execution)) return false;
  const auto placements = space_.placements(execution);
  const auto overlaps = space_.data_overlaps(execution);
  return std::find(placements.begin(), placements.end(), execution.networks) != placements.end() &&
         std::find(overlaps.begin(), overlaps.end(), execution.data_overlap) != overlaps.end();
}

std::optional<Score> ExecutionRules::cost(const Decisions& decisions) const {
  const std::optional<Execution> execution = execution_of(decisions);
  if (!execution || decisions_of(*execution) != decisions || !has(*execution)) return std::nullopt;
  const auto verdict = evaluate(space_.task().transformer, space_.task().machine, *execution);
  const Cost* cost = std::get_if<Cost>(&verdict);
  if (cost == nullptr) return std::nullopt;
  return score(cost->step_time);
}

void ExecutionRules::branch_root(const PlanNode& node, const PlanBranching& branching) const {
  for (const std::int64_t tensor : space_.tensor_degrees()) {
    branching.into.child({.level = kTensor, .taken = {tensor}, .bound = node.bound});
  }
}

void ExecutionRules::branch_tensor(const PlanNode& node, const PlanBranching& branching) const {
  const std::int64_t tensor = node.taken.front();
  for (const std::int64_t pipeline : space_.pipeline_degrees(tensor)) {
    PlanNode child = node_of(kDegrees, *space_.with_degrees(tensor, pipeline), node.bound);
    if (!branching.excludes(child.taken)) branching.into.child(std::move(child));
  }
}

void ExecutionRules::branch_degrees(const PlanNode& node, const PlanBranching& branching) const {
  Execution execution = *execution_of(node.taken);
  const std::vector<std::int64_t> chunk_counts = space_.chunk_counts(execution);
  for (const std::int64_t micro_batch : space_.micro_batches(execution)) {
    branching.deadline.check();
    execution.micro_batch = micro_batch;
    const BlockFloor block = block_floor(space_, execution);
    Execution scheduled = execution;
    for (const std::int64_t chunks : chunk_counts) {
      scheduled.chunks = chunks;
      const Score floor = score(schedule_floor(space_, scheduled, block));
      branching.into.child(node_of(kSchedule, scheduled, std::max(node.bound, floor)));
    }
  }
}

void ExecutionRules::branch_schedule(const PlanNode& node, const PlanBranching& branching) const {
  const Task& task = space_.task();
  branching.deadline.check();
  std::int64_t measured = 0;
  BlockMemories memories(task);
  const Execution scheduled = *execution_of(node.taken);
  const Schedule schedule = schedule_of(task.transformer, scheduled);
  for (Execution shape : space_.shapes(scheduled)) {
    const BlockMemory& block = memories.of(shape);
    std::optional<Score> floor;
    for (const Offload& offload : space_.offloads(shape)) {
      shape.offload = offload;
      ++measured;
      const MemoryUse use = memory_use(block, schedule, task.transformer, shape);
      if (memory_misfit(task.machine, shape, schedule, use)) continue;
      if (!floor) floor = score(shape_floor(space_, shape, block));
      branching.into.child(node_of(kShape, shape, std::max(node.bound, *floor)));
    }
  }
  measured_.fetch_add(measured, std::memory_order_relaxed);
}

void ExecutionRules::branch_shape(const PlanNode& node, const PlanBranching& branching) const {
  const Task& task = space_.task();
  Execution execution = *execution_of(node.taken);
  ShapeCosts costs(task, execution);
  std::int64_t evaluated = 0;
  for (const auto& placement : space_.placements(execution)) {
    execution.networks = placement;
    if (network_misfit(task.machine, execution)) continue;
    for (const bool overlap : space_.data_overlaps(execution)) {
      execution.data_overlap = overlap;
      ++evaluated;
      const Score cost = score(costs.cost(execution));
      if (cost > branching.into.cutoff()) continue;
      branching.into.solution({.decisions = decisions_of(execution), .cost = cost}, 'T');
    }
  }
  evaluated_.fetch_add(evaluated, std::memory_order_relaxed);
}

}  // namespace dfsearch::calculon
