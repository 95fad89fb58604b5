#pragma once
// The two things a dataflow graph is made of: kernels and tensors
// (docs/model.md, section 1).

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.hpp"
#include "base/units.hpp"

namespace dfsearch {

/// A loop of a kernel, or none of them.  The order is the order in which
/// equally good shardings are preferred (docs/model.md, section 4).
enum class Loop : std::uint8_t { None, Outer, K, M, N };

enum class KernelKind : std::uint8_t {
  WeightGemm,    ///< streamed input times resident weight of M x K elements
  Gemm,          ///< product of two streamed inputs
  Elementwise,   ///< one input, K = 1
  Elementwise2,  ///< two inputs, K = 1
};

/// Which mode of a core runs the kernel; the mode decides the cycle formula.
enum class Mode : std::uint8_t { Systolic, Simd };

enum class Phase : std::uint8_t { Forward, Backward };

/// Over which chips the loops of a kernel are spread (docs/model.md, section 6).
enum class Spread : std::uint8_t {
  Tensor,   ///< one loop, chosen by the sharding, over the tensor dimensions
  Grid,     ///< M over the X and K over the Y of the grid of all chips
  Machine,  ///< N over all chips
};

enum class CommunicationType : std::uint8_t {
  AllReduce,          ///< moves `bytes` over the tensor dimensions, once per layer and sample
  AllGather,          ///< likewise
  PointToPoint,       ///< likewise
  GradientAllReduce,  ///< of the kernel's sharded output over the data dimensions, once per step
  FlatGradientAllReduce,  ///< the same as one group at one bandwidth, the slowest or a given one
  AllToAll,               ///< over all chips of a copy; each sends `bytes` in all
  Transpose,         ///< over all chips of a copy, of a tensor of `bytes` that is spread over them
  GridBroadcast,     ///< bytes / X over a link of dimension 1 of the grid
  GridPointToPoint,  ///< bytes / Y over a link of dimension 0 of the grid
};

/// Whether it is of the kernel's own output, whose size it takes in place of `bytes`.
constexpr bool is_gradient(CommunicationType type) {
  return type == CommunicationType::GradientAllReduce ||
         type == CommunicationType::FlatGradientAllReduce;
}
/// Whether all chips of a copy take part.
constexpr bool is_of_machine(CommunicationType type) { return type >= CommunicationType::AllToAll; }

/// What a kernel communicates by itself, in place of the all-reduce that
/// sharding K would bring.  It takes place once per layer and sample, not for each tile.
struct Communication {
  CommunicationType type = CommunicationType::AllReduce;
  Bytes bytes{};  ///< not used by gradients

  friend bool operator==(const Communication&, const Communication&) = default;
};

/// One operator.  Extents are those of the whole, unsharded kernel for one
/// sample and one layer; `outer` counts independent GEMMs (attention heads).
struct Kernel {
  std::string name;
  KernelKind kind = KernelKind::Elementwise;
  Mode mode = Mode::Simd;
  Phase phase = Phase::Forward;
  Loop tiled = Loop::N;  ///< the loop cut into sequence tiles
  std::int64_t outer = 1;
  std::int64_t m = 1;
  std::int64_t k = 1;  ///< 1 for elementwise kernels
  std::int64_t n = 1;
  std::optional<Communication> communication = std::nullopt;
  Bytes memory{};            ///< explicit memory traffic per chip, neither sharded nor tiled
  std::int64_t repeat = 1;   ///< how often the inputs stream through
  bool skip_weight = false;  ///< the weight takes no SRAM
  Spread spread = Spread::Tensor;
  /// Takes place at the same time as `communication` over other links: the slower counts.
  std::optional<Communication> second_communication = std::nullopt;
  /// Explicit memory traffic of all chips of a tensor group: each moves its share.
  Bytes sharded_memory{};

  [[nodiscard]] bool has_weight() const { return kind == KernelKind::WeightGemm; }
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// The data one kernel hands one other kernel.
struct Tensor {
  KernelId from;
  KernelId to;
  int operand = 1;  ///< 1 or 2: which input of `to` it is

  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// FLOP of the unsharded kernel for one sample: 2MKN for GEMMs and whatever else
/// runs in systolic mode, MN for elementwise kernels in SIMD mode (docs/model.md,
/// section 1).  Utilization is measured against this work; how long a core takes is
/// the matter of model/layer/layer_costs.hpp.
Flops kernel_flops(const Kernel& kernel);

}  // namespace dfsearch
