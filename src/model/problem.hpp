#pragma once
// The input of a search: a workload, a machine, the execution, the variant of the
// equations and the decisions that are given.  An immutable value
// after loading; shared by const reference.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "graph/loop_set.hpp"
#include "graph/workload.hpp"
#include "model/machine/machine.hpp"

namespace dfsearch {

enum class Style : std::uint8_t {
  Dataflow,        ///< kernels of a partition are fused on the chip
  KernelByKernel,  ///< every kernel alone, in topological order
};

/// How compute, memory and network time of a partition combine.
enum class Overlap : std::uint8_t {
  Perfect,        ///< the largest of the three
  None,           ///< their sum
  ComputeMemory,  ///< the larger of compute and memory, plus network
};

/// The content of the stages of the pipeline.
enum class Stages : std::uint8_t {
  Layers,  ///< layers, an equal number on each stage
  Graph,   ///< kernels of the graph
};

struct Execution {
  Style style = Style::Dataflow;
  /// The most partitions, in each stage where stages divide the graph; left out: one per kernel.
  std::optional<std::int64_t> partitions;
  Stages stages = Stages::Layers;
  Overlap overlap = Overlap::Perfect;
  /// Share of the peak that a partition reaches.  Without it, cores are allocated to each kernel
  /// and cycles are counted.
  std::optional<double> compute_utilization;
  std::vector<std::optional<std::int64_t>> pins;  ///< per kernel: its partition; empty: no pins
  bool levels = false;       ///< traffic through the levels of the chip takes time as well
  std::optional<Math> math;  ///< format of kernels that state none; default: from the word size
  MathLibrary library = MathLibrary::Torch;  ///< decides the format of words of four bytes
};

enum class SplitPhases : std::uint8_t {
  Separate,  ///< forward and backward kernels never share a partition
  /// Forward kernels have the first half of the partitions, backward kernels the second half; the
  /// middle one of an odd number of partitions may have both.
  Halves,
};
enum class VirtualStages : std::uint8_t { Layers, LayersMinusOne, Fixed };
enum class ConversionBytes : std::uint8_t { Full, Shard };
/// How often weights are read from memory.
enum class WeightTraffic : std::uint8_t {
  Resident,   ///< never
  PerSample,  ///< for every sample
  PerStep,    ///< once a step, if the SRAM cannot hold the weights of all layers of a stage
};
/// The share of a chip in a kernel whose `outer` is divided, and in the traffic of a tensor group.
enum class Shards : std::uint8_t {
  Whole,  ///< whole heads, and their traffic
  Even,   ///< an even part of the rows of outer * M, and of the traffic
};
/// The cost of values between layers.
enum class LayerSeams : std::uint8_t {
  Charged,  ///< these values are stored, loaded and converted
  Free,
};
/// Whether graphs that configs write out are refused if their shapes disagree.
enum class Shapes : std::uint8_t { Checked, Unchecked };
/// The time of an all-to-all over the whole machine.
enum class AllToAllTime : std::uint8_t {
  PerDimension,  ///< the time of the slowest dimension: dimensions work in a pipeline
  Bisection,     ///< messages of pairs on different sides of a cut, over the links of the cut
};
/// The exchanges that pay the latencies of the links.
enum class LatencyRule : std::uint8_t {
  Hops,        ///< all exchanges, over the hops of the topology
  AllReduces,  ///< only all-reduces of kernels, as published latencies count their hops
};
/// The links and ports of switches that are paid for.
enum class LinkCount : std::uint8_t {
  PerChip,   ///< links of every chip, as times assume
  PerGroup,  ///< in outer dimensions, links of one chip for each group that they join
};
/// The time of the pipeline of a step.
enum class PipelineTime : std::uint8_t {
  Schedule,  ///< the exact time of the schedule, with the hops of one micro-batch
  Bubble,    ///< the bubble factor, which is exact if micro-batches are no fewer than stages
};
/// The content of the SRAM while a kernel runs alone.
enum class LoneKernels : std::uint8_t {
  Streamed,  ///< pieces of any size that fits
  Whole,     ///< all inputs of a tile, and its output unless the weight is cut
};
/// The repeated loads of the pieces of a weight that is cut.
enum class WeightPieces : std::uint8_t {
  Free,       ///< they take no time
  Reread,     ///< each further piece loads the inputs, and every micro-batch the weight
  Published,  ///< each further piece loads all inputs and outputs of the kernel
};
/// The dimensions of the network that span the grid of the chips.
enum class GridSides : std::uint8_t {
  Members,  ///< dimensions with members; messages along a side take the links of the side
  All,      ///< all dimensions; messages take the links of the first two
};
/// The time of a byte in memory once the first tier is full.
enum class SpilledTime : std::uint8_t {
  Sum,   ///< the times of its shares in each tier, one after the other
  Mean,  ///< at the mean of both bandwidths
};
/// The traffic of kernels that work out of core.
enum class OutOfCore : std::uint8_t {
  Charged,  ///< data passes between memory and the chip as often as the SRAM requires
  Free,
};
/// The time to load the operand that stays in the arrays.
enum class ArrayLoads : std::uint8_t {
  Charged,  ///< a cycle for each row, before the other operands stream
  Free,
};
/// How a gather uses several dimensions.
enum class GatherOrder : std::uint8_t {
  Tori,    ///< neighbouring axes of a torus at once, all other dimensions in turn
  InTurn,  ///< one dimension after the other, from the inside out
  AtOnce,  ///< all dimensions at once, on parts of the data in different orders
};
/// The number of pairs of n chips whose messages cross a bisection.
enum class PairCount : std::uint8_t {
  HalfSquare,     ///< n^2 / 2
  QuarterSquare,  ///< n^2 / 4
  AllPairs,       ///< n (n - 1) / 2
  Auto,           ///< n^2 / 2 where all dimensions are rings, n^2 / 4 elsewhere
};

/// The switches of the equations (docs/model.md, section 10); the defaults are
/// the preset `physical`.
struct Equations {
  int all_reduce_passes = 2;
  VirtualStages virtual_stages = VirtualStages::Layers;
  std::int64_t fixed_virtual_stages = 1;  ///< used with VirtualStages::Fixed only
  ConversionBytes layout_conversion_bytes = ConversionBytes::Full;
  SplitPhases phases = SplitPhases::Separate;
  WeightTraffic weight_traffic = WeightTraffic::PerStep;
  Shards shards = Shards::Whole;
  LayerSeams layer_seams = LayerSeams::Charged;
  Shapes shapes = Shapes::Checked;
  AllToAllTime all_to_all = AllToAllTime::PerDimension;
  PairCount all_to_all_pairs = PairCount::Auto;
  LatencyRule latency = LatencyRule::Hops;
  LinkCount links = LinkCount::PerChip;
  PipelineTime pipeline = PipelineTime::Schedule;
  LoneKernels lone_kernels = LoneKernels::Streamed;
  WeightPieces weight_pieces = WeightPieces::Free;
  GridSides grid = GridSides::Members;
  SpilledTime spilled = SpilledTime::Sum;
  OutOfCore out_of_core = OutOfCore::Charged;
  ArrayLoads array_loads = ArrayLoads::Charged;
  GatherOrder gather = GatherOrder::Tori;
  int directions = 1;  ///< number of directions of a ring's links that a collective uses
  /// The bandwidth of flat gradient all-reduces; by default the bandwidth of the slowest data
  /// dimension.
  std::optional<BytesPerSecond> dlrm_gradient_bandwidth = std::nullopt;

  static Equations physical() { return {}; }
  static Equations published() {
    return {.virtual_stages = VirtualStages::LayersMinusOne,
            .layout_conversion_bytes = ConversionBytes::Shard,
            .phases = SplitPhases::Halves,
            .weight_traffic = WeightTraffic::Resident,
            .shards = Shards::Even,
            .layer_seams = LayerSeams::Free,
            .shapes = Shapes::Unchecked,
            .all_to_all = AllToAllTime::Bisection,
            .latency = LatencyRule::AllReduces,
            .links = LinkCount::PerGroup,
            .pipeline = PipelineTime::Bubble,
            .lone_kernels = LoneKernels::Whole,
            .grid = GridSides::All,
            .spilled = SpilledTime::Mean,
            .out_of_core = OutOfCore::Free,
            .array_loads = ArrayLoads::Free,
            .gather = GatherOrder::InTurn,
            .dlrm_gradient_bandwidth = BytesPerSecond(1e9)};
  }
};

/// How the sharded loops are chosen.
enum class ShardingChoice : std::uint8_t {
  LeastBytes,  ///< by least communicated bytes, before everything else
  Joint,       ///< for the best objective, together with the fusion
};

/// The quantity that a search minimises.
enum class Objective : std::uint8_t {
  StepTime,         ///< seconds of a step
  CostEfficiency,   ///< price of the machine times seconds of a step: $ s
  PowerEfficiency,  ///< energy of a step: J
  Bottleneck,       ///< seconds of the slowest stage for a sample, where stages divide the graph
};

/// The degrees that a strategy may have, as the product over its dimensions.
struct DegreeChoice {
  std::vector<std::int64_t> values;  ///< allowed values; empty: any
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] bool allows(std::int64_t degree) const {
    return degree >= least && degree <= most &&
           (values.empty() || std::find(values.begin(), values.end(), degree) != values.end());
  }
};

struct Problem {
  Workload workload;
  Machine system;
  Execution execution;
  Equations equations;
  Objective objective = Objective::StepTime;
  ShardingChoice sharding = ShardingChoice::LeastBytes;
  std::vector<std::optional<LoopPair>> sharding_pins;  ///< per kernel; empty: no pins
  /// Number of axes of the tensor group along which kernels are sharded, one loop each: 1 or 2.
  int tensor_axes = 1;
  std::array<DegreeChoice, 3> parallelism;  ///< by Strategy

  /// The number of chips of one copy of the workload; 0 if the copies do not divide the chips.
  [[nodiscard]] std::int64_t chips_per_copy() const {
    return system.chips % workload.copies == 0 ? system.chips / workload.copies : 0;
  }

  /// The bandwidth of the memory once its first tier is full: all traffic is then spread over
  /// all tiers in proportion to their capacities.
  /// docs/model.md (7)
  [[nodiscard]] BytesPerSecond spilled_bandwidth() const {
    const BytesPerSecond first = system.memory[0].bandwidth;
    if (!system.second_memory()) return first;
    BytesPerSecond mean{};
    decltype(1.0 / first) sum{};
    for (const MemoryTier& tier : system.memory) {
      const double share = tier.capacity / system.memory_capacity();
      mean += tier.bandwidth * share;
      sum += share / tier.bandwidth;
    }
    // If all tiers are equally fast, rounding could give more than their bandwidth.
    return std::min(first, equations.spilled == SpilledTime::Sum ? 1.0 / sum : mean);
  }

  /// Whether kernels run one by one and stream through the SRAM, which then limits no kernel.
  [[nodiscard]] bool streams_kernels() const {
    return execution.style == Style::KernelByKernel &&
           equations.lone_kernels == LoneKernels::Streamed;
  }

  /// Whether pieces of a weight take time; kernels that stream through the SRAM have no pieces.
  [[nodiscard]] bool charges_pieces() const {
    return equations.weight_pieces != WeightPieces::Free && !streams_kernels();
  }

  /// Whether the SRAM does not limit a kernel that is alone in its partition.
  [[nodiscard]] bool streams_lone_kernels() const {
    return equations.lone_kernels == LoneKernels::Streamed && !charges_pieces();
  }

  /// Whether stages of the pipeline are made of kernels; the graph is then all of the model.
  [[nodiscard]] bool divides_graph() const { return execution.stages == Stages::Graph; }
  /// The stage of a partition, from 0: each stage has partition_limit() indices.
  [[nodiscard]] std::int64_t stage_of(std::int64_t partition) const {
    return divides_graph() ? partition / partition_limit() : 0;
  }

  /// The greatest number of partitions of a mapping, or of a stage of it.
  [[nodiscard]] std::int64_t partition_limit() const {
    const auto kernels = static_cast<std::int64_t>(workload.graph.kernel_count());
    if (execution.style == Style::KernelByKernel) return kernels;
    return execution.partitions.value_or(kernels);
  }
};

}  // namespace dfsearch
