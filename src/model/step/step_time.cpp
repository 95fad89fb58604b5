#include "model/step/step_time.hpp"

#include "base/saturating.hpp"
#include "model/layer/collectives.hpp"
#include "model/layer/shard.hpp"
#include "model/machine/price_power.hpp"

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

double objective_weight(const Problem& problem, const std::vector<Mapping::Dimension>& network) {
  switch (problem.objective) {
    case Objective::StepTime:
      break;
    case Objective::CostEfficiency:
      return system_price(problem.system, network, problem.workload.copies).in_base_units();
    case Objective::PowerEfficiency:
      return system_power(problem.system, network, problem.workload.copies).in_base_units();
  }
  return 1.0;
}

}  // namespace

// docs/model.md (6)
std::int64_t degree_of(const std::vector<Mapping::Dimension>& network, Strategy strategy) {
  std::int64_t product = 1;
  for (const Mapping::Dimension& d : network) {
    // Of a mapping that was read the degrees may be any, and are complained of later.
    if (d.strategy == strategy) product = saturating_product(product, d.degree);
  }
  return product;
}

// docs/model.md (39), (40), (42)
StepTime step_time(const Problem& problem, const std::vector<Mapping::Dimension>& network,
                   std::int64_t micro_batch) {
  const Workload& workload = problem.workload;
  const std::int64_t pipeline = degree_of(network, Strategy::Pipeline);
  const std::int64_t samples = workload.global_batch / degree_of(network, Strategy::Data);

  StepTime result;
  result.layers_per_stage = ceil_div(workload.layers, pipeline);
  result.micro_batches = samples / micro_batch;
  result.bubble_factor = 1.0 + static_cast<double>(pipeline - 1) /
                                   (static_cast<double>(result.micro_batches) *
                                    virtual_stages(problem.equations, result.layers_per_stage));
  result.factor = result.bubble_factor * static_cast<double>(result.layers_per_stage) *
                  static_cast<double>(samples);
  // Activations forward and, when training, their gradients back.
  const double directions = workload.graph.has_backward() ? 2.0 : 1.0;
  const Collectives link(problem.system, network, Strategy::Pipeline, problem.equations);
  result.transfer =
      link.point_to_point(workload.boundary * directions * static_cast<double>(workload.layers));
  result.copies = static_cast<double>(workload.copies);
  result.weight = objective_weight(problem, network);
  return result;
}

// docs/model.md (44)
Seconds request_latency(const Problem& problem, const std::vector<Mapping::Dimension>& network,
                        Seconds layer) {
  const Workload& workload = problem.workload;
  const std::int64_t stages = degree_of(network, Strategy::Pipeline);
  const double layers = static_cast<double>(ceil_div(workload.layers, stages) * stages);
  const Bytes handed =
      workload.serving->boundary / static_cast<double>(degree_of(network, Strategy::Tensor));
  const Collectives link(problem.system, network, Strategy::Pipeline, problem.equations);
  const Seconds hop = link.point_to_point(handed) + link.message_latency();
  return layer * layers + hop * static_cast<double>(stages - 1);
}

}  // namespace dfsearch
