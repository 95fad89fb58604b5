#include "model/step/step_time.hpp"

#include <array>

#include "base/counts.hpp"
#include "model/layer/shard.hpp"
#include "model/machine/collectives.hpp"
#include "model/objective_rows.hpp"

namespace dfsearch {

namespace {

double virtual_stages(const Equations& equations, std::int64_t layers_per_stage) {
  switch (equations.virtual_stages) {
    case VirtualStages::Layers:
      return static_cast<double>(layers_per_stage);
    case VirtualStages::LayersMinusOne:
      return static_cast<double>(std::max<std::int64_t>(layers_per_stage - 1, 1));
    case VirtualStages::Fixed:
      break;
  }
  return static_cast<double>(equations.fixed_virtual_stages);
}

/// The time to send the results of a stage for `samples` samples to the next stage.  In serving,
/// the chips of a tensor group divide the message.
Seconds sent(const Problem& problem, const std::vector<Mapping::Dimension>& network,
             std::int64_t samples) {
  const Workload& workload = problem.workload;
  const Collectives link(problem.system, network, Strategy::Pipeline, problem.equations);
  Bytes handed = workload.boundary;
  if (workload.serving) {
    const auto tensor = static_cast<double>(degree_of(network, Strategy::Tensor));
    handed = workload.serving->boundary / tensor;
  }
  return link.point_to_point(handed * static_cast<double>(samples));
}

/// The time until these results have arrived: with the latency of the link.
Seconds hop(const Problem& problem, const std::vector<Mapping::Dimension>& network,
            std::int64_t samples) {
  const Collectives link(problem.system, network, Strategy::Pipeline, problem.equations);
  return sent(problem, network, samples) + link.message_latency();
}

/// How often a micro-batch is handed on, on its way through all chunks of all stages.
double hops(const Equations& equations, std::int64_t stages, double chunks) {
  const bool passes_once = equations.pipeline == PipelineTime::Bubble;
  return static_cast<double>(stages) * (passes_once ? 1.0 : chunks) - 1.0;
}

// A stage works on all chunks of all micro-batches once the first micro-batch has arrived, and the
// last micro-batch to begin passes every chunk of every stage after the others have begun.  The
// step takes at least both of these times, and a schedule of chunks around the stages reaches the
// greater of them.
// docs/model.md (40)
double bubble_factor(const Equations& equations, std::int64_t stages, double micro_batches,
                     double chunks) {
  const double work = micro_batches * chunks;  // of a stage, in chunks
  const double filled = 1.0 + static_cast<double>(stages - 1) / work;
  if (equations.pipeline == PipelineTime::Bubble) return filled;
  const double passed = static_cast<double>(stages) * chunks + (micro_batches - 1.0);
  return std::max(filled, passed / work);
}

// docs/model.md (42)
Seconds transfer(const Problem& problem, const std::vector<Mapping::Dimension>& network,
                 std::int64_t micro_batch, double chunks) {
  const Workload& workload = problem.workload;
  // Activations forward and, when training, their gradients back.
  const double directions = workload.graph.has_backward() ? 2.0 : 1.0;
  if (problem.equations.pipeline == PipelineTime::Bubble) {
    const Collectives link(problem.system, network, Strategy::Pipeline, problem.equations);
    return link.point_to_point(workload.boundary * directions *
                               static_cast<double>(workload.layers));
  }
  const std::int64_t stages = degree_of(network, Strategy::Pipeline);
  return hop(problem, network, micro_batch) *
         (directions * hops(problem.equations, stages, chunks));
}

}  // namespace

// docs/model.md (6)
std::int64_t degree_of(const std::vector<Mapping::Dimension>& network, Strategy strategy) {
  std::int64_t product = 1;
  for (const Mapping::Dimension& d : network) {
    // A mapping from a file may have any degrees; the rules refuse wrong ones later.
    if (d.strategy == strategy) product = saturating_product(product, d.degree);
  }
  return product;
}

// docs/model.md (39), (41), (42)
StepTime step_time(const Problem& problem, const std::vector<Mapping::Dimension>& network,
                   std::int64_t micro_batch) {
  const Workload& workload = problem.workload;
  const std::int64_t pipeline = degree_of(network, Strategy::Pipeline);
  const std::int64_t samples = workload.global_batch / degree_of(network, Strategy::Data);

  StepTime result;
  result.layers_per_stage = ceil_div(workload.layers, pipeline);
  result.micro_batches = samples / micro_batch;
  const double chunks = virtual_stages(problem.equations, result.layers_per_stage);
  result.bubble_factor =
      bubble_factor(problem.equations, pipeline, static_cast<double>(result.micro_batches), chunks);
  result.factor = result.bubble_factor * static_cast<double>(result.layers_per_stage) *
                  static_cast<double>(samples);
  result.transfer = transfer(problem, network, micro_batch, chunks);
  if (problem.equations.pipeline == PipelineTime::Schedule) {
    result.least = sent(problem, network, samples);
  }
  result.copies = static_cast<double>(workload.copies);
  const auto weight = row_of(problem.objective).weight;
  result.weight = weight == nullptr ? 1.0 : weight(problem, network);
  return result;
}

// docs/model.md (44)
Seconds request_latency(const Problem& problem, const std::vector<Mapping::Dimension>& network,
                        Seconds layer) {
  const std::int64_t stages = degree_of(network, Strategy::Pipeline);
  const std::int64_t layers = ceil_div(problem.workload.layers, stages);
  const double chunks = virtual_stages(problem.equations, layers);
  return layer * static_cast<double>(layers * stages) +
         hop(problem, network, 1) * hops(problem.equations, stages, chunks);
}

StagedStep staged_step(const Problem& problem, const std::vector<Mapping::Dimension>& network) {
  const std::int64_t samples = problem.workload.global_batch / degree_of(network, Strategy::Data);
  return {.samples = static_cast<double>(samples),
          .steps = static_cast<double>(problem.workload.graph.wave_steps()),
          .copies = static_cast<double>(problem.workload.copies),
          .weight = step_time(problem, network, 1).weight,
          .is_bottleneck = problem.objective == Objective::Bottleneck};
}

ChargedTime& ChargedTime::operator+=(const ChargedTime& other) {
  compute = capped_sum(compute, other.compute);
  memory = capped_sum(memory, other.memory);
  network = capped_sum(network, other.network);
  return *this;
}

ChargedTime charged_time(Overlap overlap, Ticks compute, Ticks memory, Ticks network) {
  ChargedTime charged{.compute = compute, .memory = memory, .network = network};
  if (overlap == Overlap::None) return charged;
  if (memory > compute) {
    charged.compute = 0;
  } else {
    charged.memory = 0;
  }
  if (overlap == Overlap::ComputeMemory) return charged;
  if (network > std::max(compute, memory)) {
    charged.compute = 0;
    charged.memory = 0;
  } else {
    charged.network = 0;
  }
  return charged;
}

StepBound TimeShares::largest() const {
  const std::array shares = {compute, memory, network, bubble, transfer};
  return static_cast<StepBound>(std::max_element(shares.begin(), shares.end()) - shares.begin());
}

TimeShares time_shares(const StepTime& step, const Clock& clock, const ChargedTime& layer) {
  const Ticks whole = layer.compute + layer.memory + layer.network;
  const Seconds total = step.step(clock.seconds(whole));
  const auto share = [&](Ticks part) {
    return clock.seconds(part) * (step.factor / step.bubble_factor / step.copies) / total;
  };
  return {.compute = share(layer.compute),
          .memory = share(layer.memory),
          .network = share(layer.network),
          .bubble = share(whole) * (step.bubble_factor - 1.0),
          .transfer = std::max(step.transfer, step.least - clock.seconds(whole) * step.factor) /
                      step.copies / total};
}

}  // namespace dfsearch
