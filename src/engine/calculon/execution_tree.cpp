// Level by level the decisions of an execution are taken, and what is decided gets a floor.
//
// Up to the degrees there is none: these nodes are few.  A shape that does not fit in memory
// never becomes a node, and its time is never computed.  docs/search.md, section 13, has the
// proofs; tests/engine/calculon compares with plain enumeration.

#include "engine/calculon/execution_tree.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "engine/calculon/execution_floor.hpp"
#include "model/calculon/evaluate.hpp"

namespace dfsearch::calculon {
namespace {

static_assert(CheckableProblem<ExecutionTree>);

using Level = ExecutionNode::Level;

Score score(Seconds time) { return Score(time.in_base_units()); }

std::size_t decided(Level level) {
  switch (level) {
    case Level::Root:
      return 0;
    case Level::Tensor:
      return 1;
    case Level::Degrees:
      return kDegreeDecisions;
    case Level::MicroBatch:
      return kMicroBatchDecisions;
    case Level::Schedule:
      return kScheduleDecisions;
    case Level::Shape:
      return kShapeDecisions;
  }
  return 0;
}

/// What the blocks of one schedule keep, each computed when it is first asked for: a block is another
/// one only where recompute, redo, overlap or the split of the sequence differ.
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

/// What the executions of one shape have in common, and the cost of each.
class ShapeCosts {
 public:
  ShapeCosts(const Task& task, const Execution& shape)
      : task_(task),
        kernels_(block_kernels(task.transformer, shape)),
        memory_(block_memory(kernels_, task.transformer, shape)),
        blocks_(task.machine.networks.size()) {
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
                                    &task_.machine.networks[tensor]);
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

bool ExecutionTree::before(const Node& node, const Solution& solution) const {
  const Decisions decisions = decisions_of(node.execution);
  const auto end = decisions.begin() + static_cast<std::ptrdiff_t>(decided(node.level));
  const auto [mine, other] = std::mismatch(decisions.begin(), end, solution.decisions.begin());
  return mine == end || *mine < *other;
}

bool ExecutionTree::contains(const Node& node, const Solution& solution) const {
  const Decisions decisions = decisions_of(node.execution);
  return std::equal(decisions.begin(),
                    decisions.begin() + static_cast<std::ptrdiff_t>(decided(node.level)),
                    solution.decisions.begin());
}

void ExecutionTree::branch(const Node& node, Expansion<Node, Solution>& expansion) const {
  switch (node.level) {
    case Level::Root:
      return branch_root(node, expansion);
    case Level::Tensor:
      return branch_tensor(node, expansion);
    case Level::Degrees:
      return branch_degrees(node, expansion);
    case Level::MicroBatch:
      return branch_micro_batch(node, expansion);
    case Level::Schedule:
      return branch_schedule(node, expansion);
    case Level::Shape:
      return branch_shape(node, expansion);
  }
}

void ExecutionTree::branch_root(const Node& node, Expansion<Node, Solution>& expansion) const {
  for (const std::int64_t tensor : space_.tensor_degrees()) {
    Node child = node;
    child.level = Level::Tensor;
    child.execution.tensor = tensor;
    expansion.child(Node(child));
  }
}

void ExecutionTree::branch_tensor(const Node& node, Expansion<Node, Solution>& expansion) const {
  for (const std::int64_t pipeline : space_.pipeline_degrees(node.execution.tensor)) {
    const auto execution = space_.with_degrees(node.execution.tensor, pipeline);
    const Degrees degrees = {execution->tensor, execution->pipeline, execution->data};
    if (std::find(excluded_.begin(), excluded_.end(), degrees) != excluded_.end()) continue;
    expansion.child({.level = Level::Degrees, .execution = *execution, .bound = node.bound});
  }
}

void ExecutionTree::branch_degrees(const Node& node, Expansion<Node, Solution>& expansion) const {
  const std::vector<std::int64_t> chunk_counts = space_.chunk_counts(node.execution);
  for (const std::int64_t micro_batch : space_.micro_batches(node.execution)) {
    deadline_.check();
    Node child = node;
    child.level = Level::MicroBatch;
    child.execution.micro_batch = micro_batch;
    const BlockFloor block = block_floor(space_, child.execution);
    Execution scheduled = child.execution;
    Seconds least = Seconds::infinity();
    for (const std::int64_t chunks : chunk_counts) {
      scheduled.chunks = chunks;
      least = std::min(least, schedule_floor(space_, scheduled, block));
    }
    child.bound = std::max(node.bound, score(least));
    expansion.child(Node(child));
  }
}

void ExecutionTree::branch_micro_batch(const Node& node,
                                       Expansion<Node, Solution>& expansion) const {
  const BlockFloor block = block_floor(space_, node.execution);
  for (const std::int64_t chunks : space_.chunk_counts(node.execution)) {
    Node child = node;
    child.level = Level::Schedule;
    child.execution.chunks = chunks;
    child.bound = std::max(node.bound, score(schedule_floor(space_, child.execution, block)));
    expansion.child(Node(child));
  }
}

void ExecutionTree::branch_schedule(const Node& node, Expansion<Node, Solution>& expansion) const {
  const Task& task = space_.task();
  deadline_.check();
  std::int64_t measured = 0;
  BlockMemories memories(task);
  const Schedule schedule = schedule_of(task.transformer, node.execution);
  for (const Execution& shape : space_.shapes(node.execution)) {
    const BlockMemory& block = memories.of(shape);
    std::optional<Score> floor;
    for (const Offload& offload : space_.offloads(shape)) {
      Node child{.level = Level::Shape, .execution = shape, .bound = node.bound};
      child.execution.offload = offload;
      ++measured;
      const MemoryUse use = memory_use(block, schedule, task.transformer, child.execution);
      if (memory_misfit(task.machine, child.execution, schedule, use)) continue;
      if (!floor) floor = score(shape_floor(space_, shape, block));
      child.bound = std::max(node.bound, *floor);
      expansion.child(Node(child));
    }
  }
  measured_.fetch_add(measured, std::memory_order_relaxed);
}

void ExecutionTree::branch_shape(const Node& node, Expansion<Node, Solution>& expansion) const {
  const Task& task = space_.task();
  ShapeCosts costs(task, node.execution);
  Execution execution = node.execution;
  std::int64_t evaluated = 0;
  for (const auto& placement : space_.placements(execution)) {
    execution.networks = placement;
    if (network_misfit(task.machine, execution)) continue;
    for (const bool overlap : space_.data_overlaps(execution)) {
      execution.data_overlap = overlap;
      ++evaluated;
      const Score cost = score(costs.cost(execution));
      if (cost > expansion.cutoff()) continue;
      expansion.solution(
          {.execution = execution, .decisions = decisions_of(execution), .cost = cost}, 'T');
    }
  }
  evaluated_.fetch_add(evaluated, std::memory_order_relaxed);
}

}  // namespace dfsearch::calculon
