#pragma once
// The subject of Calculon's equations: a transformer, one way to execute it, its schedule and
// networks.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "base/words.hpp"
#include "model/machine/machine.hpp"

namespace dfsearch::calculon {

/// Bytes of one element: all values are half precision, states of the optimizer 32 bits.
inline constexpr double kWord = 2.0;

/// A stack of equal blocks, without embedding and head.
struct ModelShape {
  bool training = true;  ///< false: one forward pass
  std::int64_t hidden = 1;
  std::int64_t mlp = 1;
  std::int64_t sequence = 1;
  std::int64_t heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t layers = 1;
};

/// The activations that the backward pass computes again.
enum class Recompute : std::uint8_t { Full, Attention, None };

/// How tensor parallelism sums: by all-reduce; by all-reduce, with activations that are split on
/// their way to the next stage; or by reduce-scatter and all-gather, which split the sequence.
enum class Communication : std::uint8_t { AllReduce, PointToPoint, ReduceScatter };

/// How the exchanges of tensor parallelism hide behind the matrix products next to them.
enum class Overlap : std::uint8_t { None, Ring, Pipe };

/// The kinds of parallelism, as indices of Execution::networks.
enum class Axis : std::uint8_t { Tensor, Pipeline, Data };

/// One way to execute a step on tensor * pipeline * data chips.  Each data rank computes
/// global_batch / data samples, micro_batch at a time; the blocks of a stage form `chunks` chunks.
struct Execution {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t global_batch = 1;
  std::int64_t micro_batch = 1;
  std::int64_t chunks = 1;
  Recompute recompute = Recompute::None;
  Communication communication = Communication::AllReduce;
  Overlap overlap = Overlap::None;
  bool redo = false;      ///< gathers again in the backward pass instead of keeping gathered values
  bool fused = true;      ///< the activation function is part of the product before it
  bool sharding = false;  ///< each data rank keeps its own part of the optimizer's states
  Offload offload{};
  bool data_overlap = false;              ///< sums of gradients hide behind the backward pass
  std::array<std::size_t, 3> networks{};  ///< index of the network of each Axis

  [[nodiscard]] std::size_t network(Axis axis) const {
    return networks[static_cast<std::size_t>(axis)];
  }
  friend bool operator==(const Execution&, const Execution&) = default;
};

/// The decisions in the order in which the search takes them, each as its place in its domain.
/// Executions of equal cost are ordered lexicographically by them.
std::vector<std::int64_t> decisions_of(const Execution& execution);
/// The execution with these first decisions and defaults for all others; nothing if they are not
/// valid decisions.
std::optional<Execution> execution_of(const std::vector<std::int64_t>& decisions);
/// The number of decisions that are taken once each level of the search is complete.
inline constexpr std::size_t kDegreeDecisions = 4;
inline constexpr std::size_t kScheduleDecisions = 6;
inline constexpr std::size_t kShapeDecisions = 15;

// The names that configs and results use.
constexpr auto words(Recompute) { return named<Recompute>("full", "attn", "none"); }
constexpr auto words(Communication) { return named<Communication>("ar", "p2p", "rs"); }
constexpr auto words(Overlap) { return named<Overlap>("none", "ring", "pipe"); }

/// The time of an operation on a value of `whole` bytes.
// docs/calculon.md (C2)
[[nodiscard]] inline Seconds operation_time(const NetworkDimension& network, Operation operation,
                                            Bytes whole, double members) {
  const MeasuredNetwork& measured = *network.measured;
  const MeasuredNetwork::Scale& scale = measured.operations[static_cast<std::size_t>(operation)];
  return network.latency + scale.factor * whole * (1.0 + scale.offset / members) /
                               (network.bandwidth * measured.efficiency);
}

/// The counts of a schedule, as doubles, since they are factors of times and sizes.
struct Schedule {
  double blocks = 1.0;  ///< blocks of the first stage, which has the most
  double chunks = 1.0;
  double chunk_blocks = 1.0;  ///< blocks of a chunk, its edge block included
  double stages = 1.0;
  double micro_batches = 1.0;  ///< of a data rank
  double in_flight = 1.0;      ///< micro-batches whose activations a stage keeps
  double short_stages = 0.0;   ///< stages that have one block less
  double last_round = 1.0;     ///< micro-batches of the last round; full rounds have `stages`
  double missing = 0.0;        ///< micro-batches missing in the last round
};

Schedule schedule_of(const ModelShape& transformer, const Execution& execution);

}  // namespace dfsearch::calculon
