// A floor is the step time of the model's own function with every unknown part at its least.  So it
// is no more than the cost of any execution below, rounding included.  Numbers are equations of
// docs/calculon.md.
//
// Monotone: with `data` left out, step_time is made of sums, products with factors that are not
// negative, and max(0, .), of the times in a StepBasis.  Rounding is monotone, so no value falls
// when a time rises, with two exceptions.  An offload overhead max(0, off + mu - x) falls as x
// rises, but x plus the overhead is at least x, and the overhead alone at least 0, which is what a
// floor has.  The bubble of stages that differ in size is a difference, but never negative (the
// model says max(0, .)); a floor has 0 for it.  `data` is `one` plus terms that are not negative,
// or beta times `one`, so at least `one` (C16, C18).
//
// The block of a schedule: its kernels depend on communication (with `ar` and `p2p` they are the
// same) and on whether exchanges overlap with products.  block_floor takes for each pass the least
// time of these four blocks, by block_times without a network.  With a network no kernel takes
// less: an exchange of its own takes no time in the sum either way, and an overlapped product at
// least its time alone (C6).  The sums have the same terms in the same order.  Recomputation,
// exchanges, optimizer, offloading and `data` are at 0, the hop at the least over all networks that
// can serve the degree, and of the least size.
//
// The block of a shape: shape_floor takes each time of the block at the least over the networks of
// the tensor groups, the hop and `one` over theirs, each a value of the same function for one
// network; so no execution has less.  A network serves a degree only if the degree alone satisfies
// (C20); if there is none the floor is infinite.

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
