#pragma once
// The cost of a mapping, or the reason why it does not fit: the model without optimisations.
//
// evaluate adds up a complete mapping from the problem anew: no bound, no table and no partial sum
// of the search takes part.  Every result of a search is evaluated again in this way.  Search and
// evaluate get the costs of single kernels and tensors from LayerCosts
// (model/layer/layer_costs.hpp), whose errors this check does not find.  A second model that shares
// no code with LayerCosts finds them: tests/support/plain_model.hpp.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "base/words.hpp"
#include "model/clock.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {

/// The resources and rules that a mapping can exceed or violate.
enum class Resource : std::uint8_t {
  Sram,        ///< bytes on the chip
  Memory,      ///< bytes of DRAM per chip
  Cores,       ///< cores of a chip
  Partitions,  ///< number of partitions
  Stages,      ///< a stage without kernels, or a kernel in the wrong one
  Precedence,  ///< a tensor leads to an earlier partition
  Phase,       ///< forward and backward kernels are mixed or out of order
  Pin,         ///< a pinned kernel or sharding is elsewhere
  Sharding,    ///< a loop that may not be sharded
  Repeat,      ///< kernels with and without a repeat share a partition
  Batch,       ///< micro-batch x data degree does not divide the global batch
  Tile,        ///< the tile is outside 1..sequence, or not the one that is given
};
constexpr auto words(Resource) {
  return named<Resource>("sram", "memory", "cores", "partitions", "stages", "precedence", "phase",
                         "pin", "sharding", "repeat", "batch", "tile");
}

/// Why a mapping does not fit.  `needed` and `available` are bytes for Sram and
/// Memory and counts or indices elsewhere.
struct Infeasible {
  Resource resource = Resource::Sram;
  double needed = 0.0;
  double available = 0.0;
  std::string where;  ///< kernel, tensor or partition
};

enum class Bottleneck : std::uint8_t { Compute, Memory, Network, Registers, L1, L2 };
constexpr auto words(Bottleneck) {
  return named<Bottleneck>("compute", "memory", "network", "registers", "L1", "L2");
}

struct PartitionCost {
  std::vector<KernelId> kernels;
  Seconds compute{};  ///< for one layer and one sample, as all times; with on-chip levels
  Seconds memory{};
  Seconds waiting{};  ///< latency in `memory`
  Seconds network{};
  Seconds time{};
  Bottleneck bound_by = Bottleneck::Compute;
  Bytes sram{};
  double pieces = 1.0;  ///< pieces of the weight of a lone kernel, cut so that it fits
  /// If cycles are counted, the dataflow of each kernel, or nothing for kernels in SIMD mode; else
  /// empty.
  std::vector<std::optional<Dataflow>> dataflows;
  Bytes register_bytes{};  ///< between arrays and registers by these dataflows
  Flops flops{};           ///< useful work of one chip for one layer and one sample
  Bytes memory_bytes{};    ///< moved to and from memory for it
  Bytes network_bytes{};   ///< moved over the innermost links for it
};

/// The cost of a stage for one sample, where stages divide the graph.
struct StageCost {
  std::vector<KernelId> kernels;
  Seconds work{};       ///< time of its partitions, one after the other
  Seconds transfer{};   ///< time of messages to its neighbours
  Seconds time{};       ///< time of work and transfer
  Bytes weights{};      ///< in memory, per chip
  Bytes activations{};  ///< alive in memory at once, or kept for the backward pass
};

/// The figures that a user of a served model sees.
struct ServingCost {
  Seconds latency{};  ///< time to the first token of a sample, or of one token
};

struct Cost {
  Seconds step_time{};
  Score objective{};      ///< the step time, or another quantity that the problem minimises
  Ticks layer_ticks = 0;  ///< sum over partitions, exact; a search minimises it
  Clock clock;
  Seconds layer_time{};         ///< `layer_ticks` in seconds
  Seconds pipeline_transfer{};  ///< point to point between stages, once a step
  double bubble_factor = 1.0;
  std::int64_t layers_per_stage = 1;
  std::int64_t micro_batches = 1;
  TimeShares shares;                      ///< of the step time
  std::vector<PartitionCost> partitions;  ///< in order; empty partitions are left out
  std::vector<StageCost> stages;          ///< in order; empty unless stages divide the graph
  std::vector<CoreGrid> cores;            ///< per kernel; empty when a utilization is given
  Bytes weights{};       ///< in memory, per chip, on the stage that needs most memory
  Bytes activations{};   ///< the most alive in memory at once, per chip, on that stage
  Bytes stored{};        ///< share of the bytes that all chips hold together, per chip
  bool spilled = false;  ///< the first tier of memory does not hold all of these bytes
  Flops flops{};         ///< of a whole step
  double utilization = 0.0;
  Dollars price{};
  Watts power{};
  FlopsPerSecondPerDollar cost_efficiency{};  ///< 0 when nothing has a price
  FlopsPerSecondPerWatt power_efficiency{};
  std::optional<Energy> energy;    ///< of a step; nothing without energies
  double memory_intensity = 0.0;   ///< FLOP for a byte to or from memory; 0 without any
  double network_intensity = 0.0;  ///< FLOP for a byte over the innermost links; 0 without any
  std::optional<double> tokens_per_second;  ///< of the whole machine; of language models
  std::optional<ServingCost> serving;
};

/// Returns the cost of a mapping, or the reason why it does not fit.  The mapping has one entry per
/// kernel in `sharding` and `partition`, and in `cores` if any; anything else is an InputError.
/// Without `cores` and without a given utilization the best allocation is computed.
std::variant<Cost, Infeasible> evaluate(const Problem& problem, const Mapping& mapping);

}  // namespace dfsearch
