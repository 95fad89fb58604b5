#include "engine/calculon/execution_space.hpp"

#include <algorithm>
#include <numeric>

#include "base/counts.hpp"
#include "model/calculon/evaluate.hpp"

// Each domain has the legal values of the table in docs/calculon.md, section 7, or the one value
// that is given.  Divisors are found by trial up to the square root: a million steps for the
// greatest number there may be.

namespace dfsearch::calculon {

namespace {

/// The given value, or all values.
template <class T>
std::vector<T> given_or(const std::optional<T>& given, std::vector<T> all) {
  return given ? std::vector<T>{*given} : std::move(all);
}

}  // namespace

std::vector<std::int64_t> ExecutionSpace::tensor_degrees() const {
  const ModelShape& model = task_.transformer;
  const std::int64_t common = std::gcd(task_.machine.chips, std::gcd(model.hidden, model.heads));
  if (!task_.choices.tensor) return divisors(common);
  if (common % *task_.choices.tensor != 0) return {};
  return {*task_.choices.tensor};
}

std::vector<std::int64_t> ExecutionSpace::pipeline_degrees(std::int64_t tensor) const {
  const std::int64_t left = task_.machine.chips / tensor;
  std::vector<std::int64_t> degrees =
      given_or(task_.choices.pipeline, task_.choices.pipeline
                                           ? std::vector<std::int64_t>{}
                                           : divisors(std::gcd(left, task_.transformer.layers)));
  std::erase_if(degrees, [&](std::int64_t pipeline) {
    return left % pipeline != 0 || !with_degrees(tensor, pipeline);
  });
  return degrees;
}

std::optional<Execution> ExecutionSpace::with_degrees(std::int64_t tensor,
                                                      std::int64_t pipeline) const {
  const std::int64_t data = task_.machine.chips / tensor / pipeline;
  if (task_.choices.data.value_or(data) != data) return std::nullopt;
  const std::optional<std::int64_t> batch = global_batch(data);
  if (!batch) return std::nullopt;
  return Execution{.tensor = tensor, .pipeline = pipeline, .data = data, .global_batch = *batch};
}

std::optional<std::int64_t> ExecutionSpace::global_batch(std::int64_t data) const {
  if (task_.choices.global_batch) {
    if (*task_.choices.global_batch % data != 0) return std::nullopt;
    return task_.choices.global_batch;
  }
  const std::int64_t most = task_.choices.maximum_batch.value_or(data);
  if (data > most) return std::nullopt;
  return most / data * data;
}

std::vector<std::int64_t> ExecutionSpace::chunk_counts(const Execution& execution) const {
  if (execution.pipeline == 1) {
    return task_.choices.chunks.value_or(1) == 1 ? std::vector<std::int64_t>{1}
                                                 : std::vector<std::int64_t>{};
  }
  const std::int64_t layers = task_.transformer.layers;
  const std::int64_t blocks =
      layers / execution.pipeline + (layers % execution.pipeline == 0 ? 0 : 1);
  if (!task_.choices.chunks) return divisors(blocks);
  if (blocks % *task_.choices.chunks != 0) return {};
  return {*task_.choices.chunks};
}

bool ExecutionSpace::splits_evenly(const Execution& execution) const {
  // Tensor divides micro_batch * sequence, a product that may leave 64 bits.
  const std::int64_t tensor = execution.tensor;
  return execution.micro_batch % (tensor / std::gcd(tensor, task_.transformer.sequence)) == 0;
}

std::vector<std::int64_t> ExecutionSpace::micro_batches(const Execution& execution) const {
  const std::int64_t samples = execution.global_batch / execution.data;
  if (const auto given = task_.choices.micro_batch) {
    return samples % *given == 0 ? std::vector<std::int64_t>{*given} : std::vector<std::int64_t>{};
  }
  std::vector<std::int64_t> all = divisors(samples);
  std::erase_if(all, [&](std::int64_t samples_at_once) {
    Execution one = execution;
    one.micro_batch = samples_at_once;
    return !splits_evenly(one);
  });
  return all;
}

bool ExecutionSpace::is_legal_shape(const Execution& shape, bool even) const {
  if (shape.recompute != Recompute::None && !task_.transformer.training) return false;
  if (shape.sharding && shape.data == 1) return false;
  if (shape.communication != Communication::AllReduce && !even) return false;
  if (shape.redo &&
      (shape.communication != Communication::ReduceScatter || shape.recompute == Recompute::Full)) {
    return false;
  }
  return shape.overlap == Overlap::None || shape.tensor > 1;
}

std::vector<Execution> ExecutionSpace::shapes(const Execution& execution) const {
  const ExecutionChoices& choices = task_.choices;
  // Without training these flags have no effect and are tried only if they are given.
  const std::vector<bool> flags =
      task_.transformer.training ? std::vector{true, false} : std::vector{false};
  const auto recomputes =
      given_or(choices.recompute, {Recompute::Full, Recompute::Attention, Recompute::None});
  const auto communications = given_or(
      choices.communication,
      {Communication::AllReduce, Communication::PointToPoint, Communication::ReduceScatter});
  const auto overlaps = given_or(choices.overlap, {Overlap::None, Overlap::Ring, Overlap::Pipe});
  const bool even = splits_evenly(execution);
  std::vector<Execution> shapes;
  Execution shape = execution;
  shape.fused = choices.fused;
  for (const Recompute recompute : recomputes) {
    shape.recompute = recompute;
    for (const bool sharding : given_or(choices.sharding, flags)) {
      shape.sharding = sharding;
      for (const Communication communication : communications) {
        shape.communication = communication;
        for (const bool redo : given_or(choices.redo, flags)) {
          shape.redo = redo;
          for (const Overlap overlap : overlaps) {
            shape.overlap = overlap;
            if (is_legal_shape(shape, even)) shapes.push_back(shape);
          }
        }
      }
    }
  }
  return shapes;
}

std::vector<Offload> ExecutionSpace::offloads(const Execution& execution) const {
  if (task_.choices.offload) return {*task_.choices.offload};
  if (!task_.machine.second_memory()) return {Offload{}};
  const bool training = task_.transformer.training;
  std::vector<Offload> offloads;
  for (const bool weights : {true, false}) {
    for (const bool activations : {true, false}) {
      if (activations && execution.recompute == Recompute::Full) continue;
      for (const bool optimizer : {true, false}) {
        if (optimizer && !training) continue;
        offloads.push_back(
            {.weights = weights, .activations = activations, .optimizer = optimizer});
      }
    }
  }
  return offloads;
}

std::vector<bool> ExecutionSpace::data_overlaps(const Execution& execution) const {
  const bool possible = execution.data > 1 && task_.transformer.training;
  if (const auto given = task_.choices.data_overlap) {
    return *given && !possible ? std::vector<bool>{} : std::vector<bool>{*given};
  }
  return possible ? std::vector<bool>{true, false} : std::vector<bool>{false};
}

std::vector<std::array<std::size_t, 3>> ExecutionSpace::placements(
    const Execution& execution) const {
  if (task_.choices.networks) return {*task_.choices.networks};
  const std::size_t count = task_.machine.network.size();
  const auto choices_of = [&](std::int64_t degree) { return degree > 1 ? count : 1; };
  std::vector<std::array<std::size_t, 3>> placements;
  for (std::size_t t = 0; t < choices_of(execution.tensor); ++t) {
    for (std::size_t p = 0; p < choices_of(execution.pipeline); ++p) {
      for (std::size_t d = 0; d < choices_of(execution.data); ++d) placements.push_back({t, p, d});
    }
  }
  return placements;
}

std::vector<std::size_t> ExecutionSpace::networks(Axis axis, std::int64_t degree) const {
  if (task_.choices.networks) return {(*task_.choices.networks)[static_cast<std::size_t>(axis)]};
  if (degree == 1) return {0};
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < task_.machine.network.size(); ++i) {
    const NetworkDimension& network = task_.machine.network[i];
    const std::int64_t size = *network.degree;
    if (degree > size || (network.measured->filled && size % degree != 0)) continue;
    found.push_back(i);
  }
  return found;
}

// A floor is the step time of the model with every unknown part at its least.  The step time never
// falls when a part rises, and neither do sums and products of doubles.  So a floor is no more than
// the cost, rounding included (docs/search.md, section 13).

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

/// Removes the times of compute and memory, which matter only with offloading or overlap: a floor
/// ignores both.
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
  // If stages differ in size, the bubble is a difference, whose least value is 0.
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
    // Point to point has the same kernels as all-reduce, so it is not tried.
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
