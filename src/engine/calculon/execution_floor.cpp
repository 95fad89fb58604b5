// A floor is the step time of the model's own function with every unknown part at its least: the
// function never falls when a part rises, and neither do the sums and products of doubles that it
// is made of.  So a floor is no more than the cost, rounding included (docs/search.md, section
// 13).

#include "engine/calculon/execution_floor.hpp"

#include <algorithm>
#include <initializer_list>

#include "model/calculon/evaluate.hpp"

namespace dfsearch::calculon {
namespace {

void lower(Seconds& value, Seconds other) { value = std::min(value, other); }

void lower(ExchangeTimes& value, const ExchangeTimes& other) {
  lower(value.forward, other.forward);
  lower(value.backward, other.backward);
  lower(value.again, other.again);
}

void lower(BlockTimes& value, const BlockTimes& other) {
  lower(value.forward.time, other.forward.time);
  lower(value.input_gradient.time, other.input_gradient.time);
  lower(value.weight_gradient.time, other.weight_gradient.time);
  lower(value.recompute.time, other.recompute.time);
  lower(value.base, other.base);
  lower(value.edge, other.edge);
}

/// What only raises other parts where something is offloaded or overlapped, which a floor leaves
/// out.
void forget_engines(BlockTimes& block) {
  for (PassTimes* pass :
       {&block.forward, &block.input_gradient, &block.weight_gradient, &block.recompute}) {
    pass->compute = pass->memory = Seconds{};
  }
}

/// The least time of a hop; infinite without a network for it.
Seconds least_hop(const ExecutionSpace& space, const Execution& execution, Bytes bytes) {
  Seconds least = Seconds::infinity();
  for (const std::size_t i : space.networks(Axis::Pipeline, execution.pipeline)) {
    lower(least,
          operation_time(space.task().machine.network[i], Operation::PointToPoint, bytes, 2.0));
  }
  return least;
}

/// The floor of a step whose schedule is known.
Seconds floor_of(const ExecutionSpace& space, const Execution& execution, StepBasis basis,
                 Bytes hop, Seconds gradients) {
  basis.training = space.task().transformer.training;
  basis.schedule = schedule_of(space.task().transformer, execution);
  basis.hop = least_hop(space, execution, hop);
  basis.backward_hop = least_hop(space, execution, basis.training ? hop : Bytes{});
  StepTime step = step_time(basis);
  // With stages of different size the bubble is a difference; it is never negative.
  if (basis.schedule.short_stages > 0.0) step.bubble = Seconds{};
  step.data = gradients;
  return step.total();
}

}  // namespace

BlockFloor block_floor(const ExecutionSpace& space, const Execution& execution) {
  const Task& task = space.task();
  const auto either = [](const auto& given, auto value) { return !given || *given == value; };
  const bool overlap_given = task.choices.overlap.has_value();
  const bool may_run_alone = either(task.choices.overlap, Overlap::None);
  const bool may_overlap =
      execution.tensor > 1 && (!overlap_given || *task.choices.overlap != Overlap::None);
  BlockFloor floor;
  BlockTimes least;
  bool first = true;
  Execution variant = execution;
  variant.recompute = Recompute::None;
  variant.redo = false;
  variant.fused = task.choices.fused;
  for (const Communication communication :
       {Communication::AllReduce, Communication::ReduceScatter}) {
    // Point to point has the kernels of all-reduce.
    const bool split = communication == Communication::ReduceScatter;
    if (task.choices.communication &&
        split != (*task.choices.communication == Communication::ReduceScatter)) {
      continue;
    }
    for (const Overlap overlap : {Overlap::None, Overlap::Ring}) {
      if (overlap == Overlap::None ? !may_run_alone : !may_overlap) continue;
      variant.communication = communication;
      variant.overlap = overlap;
      const BlockTimes times = block_times(block_kernels(task.transformer, variant),
                                           task.transformer, task.machine, variant, nullptr);
      if (first) least = times;
      lower(least, times);
      first = false;
    }
  }
  floor.forward.time = least.forward.time;
  floor.input_gradient.time = least.input_gradient.time;
  floor.weight_gradient.time = least.weight_gradient.time;
  return floor;
}

Seconds schedule_floor(const ExecutionSpace& space, const Execution& execution,
                       const BlockFloor& block) {
  Execution least = execution;
  least.communication = space.task().choices.communication.value_or(Communication::PointToPoint);
  StepBasis basis;
  basis.block.forward = block.forward;
  basis.block.input_gradient = block.input_gradient;
  basis.block.weight_gradient = block.weight_gradient;
  return floor_of(space, execution, basis, hop_bytes(space.task().transformer, least), Seconds{});
}

Seconds shape_floor(const ExecutionSpace& space, const Execution& execution,
                    const BlockMemory& memory) {
  const Task& task = space.task();
  const BlockKernels kernels = block_kernels(task.transformer, execution);
  StepBasis basis;
  bool first = true;
  for (const std::size_t i : space.networks(Axis::Tensor, execution.tensor)) {
    const BlockTimes times =
        block_times(kernels, task.transformer, task.machine, execution, &task.machine.network[i]);
    if (first) basis.block = times;
    lower(basis.block, times);
    first = false;
  }
  Seconds gradients = Seconds::infinity();
  for (const std::size_t i : space.networks(Axis::Data, execution.data)) {
    lower(gradients,
          gradient_time(task.machine.network[i], task.transformer, execution, memory.weights));
  }
  if (first || !(gradients < Seconds::infinity())) return Seconds::infinity();
  forget_engines(basis.block);
  if (task.transformer.training) {
    basis.optimizer.time = optimizer_times(kernels, task.machine, optimizer_parts(execution)).time;
  }
  return floor_of(space, execution, basis, hop_bytes(task.transformer, execution), gradients);
}

}  // namespace dfsearch::calculon
