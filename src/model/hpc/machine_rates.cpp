#include "model/hpc/machine_rates.hpp"

#include <utility>

#include "base/counts.hpp"

namespace dfsearch {

std::vector<collective::Axis> axes_of(const Machine& machine) {
  std::vector<collective::Axis> axes;
  for (const NetworkDimension& dimension : machine.network) {
    const double n = number(dimension.degree.value_or(1));
    if (n <= 1.0) continue;
    axes.push_back({.topology = dimension.topology,
                    .n = n,
                    .link = dimension.bandwidth,
                    .alpha = dimension.latency});
  }
  return axes;
}

HplNetwork hpl_network(const Machine& machine) {
  HplNetwork network;
  const std::vector<collective::Axis> axes = axes_of(machine);
  if (axes.empty()) return network;
  network.node = static_cast<std::int64_t>(axes.front().n);
  network.inside = network.share * axes.front().link;
  network.injected = axes.size() > 1 ? axes[1].link * number(network.node) : axes.front().link;
  return network;
}

// Constants of GPUs, the same for all: docs/hpc.md, section 1.
HplRates hpl_rates(const Machine& machine, FlopsPerSecond product) {
  return {.product = product,
          .half = 40.0,
          .panel = 0.02 * product,
          .memory = machine.memory[0].bandwidth,
          .row = {},
          .column = {},
          .alpha = Seconds(4e-6),
          .step = Seconds(0.2e-3)};
}

FftTask fft_task(const Machine& machine, std::vector<std::int64_t> sides, Bytes element,
                 FlopsPerSecond vector) {
  return {.sides = std::move(sides),
          .chips = machine.chips,
          .element = element,
          .is_real = false,
          .fast = machine.accelerator.sram,
          .repack = machine.chips > 1 ? 1.0 : 0.0,
          .memory = machine.memory[0].bandwidth,
          .vector = vector,
          .alpha = Seconds(1e-6)};
}

}  // namespace dfsearch
