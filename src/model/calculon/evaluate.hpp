#pragma once
// The cost of one execution by Calculon's equations, or the reason why it does not fit.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "base/units.hpp"
#include "model/calculon/block.hpp"
#include "model/calculon/execution.hpp"
#include "model/calculon/memory_use.hpp"
#include "model/calculon/step_time.hpp"

namespace dfsearch::calculon {

/// The cost of an execution that fits.
struct Cost {
  Seconds step_time{};
  StepTime parts;
  MemoryUse memory;
  BlockTimes block;  ///< of one block and one micro-batch
  BlockMemory block_memory;
  double utilization = 0.0;  ///< share of the matrix engines' peak, recomputation not counted
};

/// The limits that an execution may exceed.
enum class Limit : std::uint8_t {
  FirstMemory,   ///< in bytes
  SecondMemory,  ///< in bytes
  NetworkSize,   ///< chips that share a network
  NetworkFill,   ///< chips that do not divide a network that must be filled
  Blocks,        ///< blocks of a stage, too few for offloading
};
constexpr auto words(Limit) {
  return named<Limit>("memory", "second memory", "network size", "network fill",
                      "blocks of a stage");
}

/// Why an execution does not fit.
struct Misfit {
  Limit limit = Limit::FirstMemory;
  double needed = 0.0;
  double available = 0.0;
  std::size_t network = 0;  ///< index, for the limits of networks
};

/// An execution must be valid: it has tensor * pipeline * data chips, micro-batches that divide the
/// batch, chunks that divide the blocks of the first stage, and networks that exist.
std::variant<Cost, Misfit> evaluate(const ModelShape& transformer, const Machine& machine,
                                    const Execution& execution);

// The parts of evaluate(), which the search calls one by one.

/// Why the first or second memory is too small, or offloading impossible.
std::optional<Misfit> memory_misfit(const Machine& machine, const Execution& execution,
                                    const Schedule& schedule, const MemoryUse& use);
/// Why the networks cannot serve the degrees.
std::optional<Misfit> network_misfit(const Machine& machine, const Execution& execution);

/// The number of ranks that the optimizer's states are divided by.
double optimizer_parts(const Execution& execution);
/// Bytes of the activation that a stage hands to the next one.
Bytes hop_bytes(const ModelShape& transformer, const Execution& execution);
/// The times of moving a block to and from the second memory.
void set_offload(StepBasis& basis, const Machine& machine, const Execution& execution,
                 const BlockMemory& memory);
void set_hops(StepBasis& basis, const ModelShape& transformer, const Machine& machine,
              const Execution& execution);
/// The time that a network takes to sum the gradients of one block; none without data ranks.
Seconds gradient_time(const NetworkDimension& network, const ModelShape& transformer,
                      const Execution& execution, Bytes weights);
/// The sums of gradients on the network of the data ranks.
GradientSums gradient_sums(const ModelShape& transformer, const Machine& machine,
                           const Execution& execution, Bytes weights);

}  // namespace dfsearch::calculon
