// Puts the parts of the model together.  A misfit is reported before any time is computed.

#include "model/calculon/evaluate.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch::calculon {
namespace {

constexpr double kFewestOffloaded = 3.0;  // blocks of a stage

}  // namespace

// docs/calculon.md (C19)
std::optional<Misfit> memory_misfit(const Machine& machine, const Execution& execution,
                                    const Schedule& schedule, const MemoryUse& use) {
  if (execution.offload.any() && schedule.blocks < kFewestOffloaded) {
    return Misfit{.limit = Limit::Blocks, .needed = kFewestOffloaded, .available = schedule.blocks};
  }
  const Bytes first = use.first.total();
  if (first > machine.memory[0].capacity) {
    return Misfit{.limit = Limit::FirstMemory,
                  .needed = first.in_base_units(),
                  .available = machine.memory[0].capacity.in_base_units()};
  }
  const Bytes second = use.second.total();
  const Bytes capacity = machine.second_memory() ? machine.memory[1].capacity : Bytes{};
  if (second > capacity) {
    return Misfit{.limit = Limit::SecondMemory,
                  .needed = second.in_base_units(),
                  .available = capacity.in_base_units()};
  }
  return std::nullopt;
}

// docs/calculon.md (C20)
std::optional<Misfit> network_misfit(const Machine& machine, const Execution& execution) {
  const std::array<std::int64_t, 3> degrees = {execution.tensor, execution.pipeline,
                                               execution.data};
  for (std::size_t i = 0; i < machine.network.size(); ++i) {
    double chips = 1.0;
    for (std::size_t axis = 0; axis < degrees.size(); ++axis) {
      if (execution.networks[axis] == i) chips *= static_cast<double>(degrees[axis]);
    }
    const auto size = static_cast<double>(*machine.network[i].degree);
    if (chips > size) {
      return Misfit{.limit = Limit::NetworkSize, .needed = chips, .available = size, .network = i};
    }
    if (chips > 1.0 && machine.network[i].measured->filled && std::fmod(size, chips) != 0.0) {
      return Misfit{.limit = Limit::NetworkFill, .needed = chips, .available = size, .network = i};
    }
  }
  return std::nullopt;
}

double optimizer_parts(const Execution& execution) {
  return execution.sharding ? static_cast<double>(execution.data) : 1.0;
}

Bytes hop_bytes(const ModelShape& transformer, const Execution& execution) {
  if (execution.pipeline == 1) return {};
  double rows =
      static_cast<double>(execution.micro_batch) * static_cast<double>(transformer.sequence);
  if (execution.communication != Communication::AllReduce) {
    rows = std::floor(rows / static_cast<double>(execution.tensor));
  }
  return Bytes(rows * static_cast<double>(transformer.hidden) * kWord);
}

// docs/calculon.md (C13)
void set_offload(StepBasis& basis, const Machine& machine, const Execution& execution,
                 const BlockMemory& memory) {
  const Offload& offload = execution.offload;
  if (!offload.any() || !machine.second_memory()) return;
  const Bytes weights = offload.weights ? memory.weights : Bytes{};
  const Bytes activations = offload.activations ? memory.stored() : Bytes{};
  const Bytes states =
      offload.optimizer ? Bytes(12.0 * memory.elements / optimizer_parts(execution)) : Bytes{};
  basis.forward_offload = machine.memory[1].time(std::max(weights, activations));
  if (basis.training) {
    basis.backward_offload = machine.memory[1].time(weights + activations + states);
  }
}

void set_hops(StepBasis& basis, const ModelShape& transformer, const Machine& machine,
              const Execution& execution) {
  const NetworkDimension& network = machine.network[execution.network(Axis::Pipeline)];
  const Bytes bytes = hop_bytes(transformer, execution);
  basis.hop = operation_time(network, Operation::PointToPoint, bytes, 2.0);
  basis.backward_hop =
      operation_time(network, Operation::PointToPoint, transformer.training ? bytes : Bytes{}, 2.0);
}

// docs/calculon.md (C16)
Seconds gradient_time(const NetworkDimension& network, const ModelShape& transformer,
                      const Execution& execution, Bytes weights) {
  if (!transformer.training || execution.data == 1) return {};
  const auto members = static_cast<double>(execution.data);
  if (!execution.sharding) return operation_time(network, Operation::AllReduce, weights, members);
  return operation_time(network, Operation::ReduceScatter, weights, members) +
         operation_time(network, Operation::AllGather, weights, members);
}

GradientSums gradient_sums(const ModelShape& transformer, const Machine& machine,
                           const Execution& execution, Bytes weights) {
  const std::size_t data = execution.network(Axis::Data);
  const NetworkDimension& network = machine.network[data];
  return {.block = gradient_time(network, transformer, execution, weights),
          .overlapped = execution.data_overlap,
          .sharded = execution.sharding,
          .with_tensor = data == execution.network(Axis::Tensor),
          .with_pipeline = data == execution.network(Axis::Pipeline),
          .usage = network.measured->processor_usage};
}

std::variant<Cost, Misfit> evaluate(const ModelShape& transformer, const Machine& machine,
                                    const Execution& execution) {
  if (const auto misfit = network_misfit(machine, execution)) return *misfit;
  const BlockKernels kernels = block_kernels(transformer, execution);
  const double parts = optimizer_parts(execution);
  StepBasis basis;
  basis.schedule = schedule_of(transformer, execution);
  basis.training = transformer.training;

  Cost cost;
  cost.block_memory = block_memory(kernels, transformer, execution);
  cost.memory = memory_use(cost.block_memory, basis.schedule, transformer, execution);
  if (const auto misfit = memory_misfit(machine, execution, basis.schedule, cost.memory)) {
    return *misfit;
  }
  cost.block = block_times(kernels, transformer, machine, execution,
                           &machine.network[execution.network(Axis::Tensor)]);
  basis.block = cost.block;
  if (transformer.training) basis.optimizer = optimizer_times(kernels, machine, parts);
  set_hops(basis, transformer, machine, execution);
  set_offload(basis, machine, execution, cost.block_memory);
  cost.parts = step_time(basis);
  if (transformer.training && execution.data > 1) {
    cost.parts.data =
        data_time(basis, gradient_sums(transformer, machine, execution, cost.block_memory.weights));
  }
  cost.step_time = cost.parts.total();
  const Flops work = basis.schedule.blocks * basis.schedule.micro_batches *
                     useful_work(kernels, transformer, parts);
  cost.utilization = work / machine.matrix.peak / cost.step_time;
  return cost;
}

}  // namespace dfsearch::calculon
