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

enum class CommunicationType : std::uint8_t {
  AllReduce,          ///< of `bytes` over the tensor dimensions, once per layer and sample
  AllGather,          ///< likewise
  PointToPoint,       ///< likewise
  GradientAllReduce,  ///< of the kernel's sharded output over the data dimensions, once per step
};

/// What a kernel communicates by itself, in place of the all-reduce that
/// sharding K would bring.
struct Communication {
  CommunicationType type = CommunicationType::AllReduce;
  Bytes bytes{};  ///< not used by GradientAllReduce

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

/// FLOP of the unsharded kernel for one sample, by its kind: 2MKN for GEMMs, MN
/// for elementwise kernels (docs/model.md, section 1).  The work utilization is
/// measured against; how long a core takes is the matter of model/layer_costs.hpp.
Flops kernel_flops(const Kernel& kernel);

}  // namespace dfsearch
