#pragma once
// The two things a dataflow graph is made of: kernels and tensors
// (docs/model.md, section 1).

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "base/words.hpp"
#include "graph/math.hpp"

namespace dfsearch {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : index_(static_cast<std::uint32_t>(index)) {}
  [[nodiscard]] constexpr std::size_t index() const { return index_; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::uint32_t index_ = 0;
};

using KernelId = Id<struct KernelTag>;  ///< position in the list of kernels of the graph
using TensorId = Id<struct TensorTag>;  ///< position in the list of tensors of the graph

/// A loop of a kernel, or none of them.  The order is the order in which
/// equally good shardings are preferred (docs/model.md, section 4).
enum class Loop : std::uint8_t { None, Outer, K, M, N };
constexpr auto words(Loop) {
  return named<Loop>({{"outer", Loop::Outer},
                      {"M", Loop::M},
                      {"K", Loop::K},
                      {"N", Loop::N},
                      {"none", Loop::None}});
}

enum class KernelKind : std::uint8_t {
  WeightGemm,    ///< streamed input times resident weight of M x K elements
  Gemm,          ///< product of two streamed inputs
  Elementwise,   ///< one input, K = 1
  Elementwise2,  ///< two inputs, K = 1
  Attention,     ///< softmax(queries x keys) x values of each head, fused
};
constexpr auto words(KernelKind) {
  return named<KernelKind>("weight_gemm", "gemm", "elementwise", "elementwise2", "attention");
}

/// The mode of a core that runs the kernel; it decides the cycle formula.
enum class Mode : std::uint8_t { Systolic, Simd };
constexpr auto words(Mode) { return named<Mode>("systolic", "simd"); }

enum class Phase : std::uint8_t { Forward, Backward };
constexpr auto words(Phase) { return named<Phase>("forward", "backward"); }

/// The chips over which the loops of a kernel are spread (docs/model.md, section 6).
enum class Spread : std::uint8_t {
  Tensor,   ///< one loop, chosen by the sharding, over the tensor dimensions
  Grid,     ///< M over the X and K over the Y of the grid of all chips
  Machine,  ///< N over all chips
};
constexpr auto words(Spread) { return named<Spread>("tensor", "grid", "machine"); }

enum class CommunicationType : std::uint8_t {
  AllReduce,              ///< moves `bytes` over the tensor dimensions, once per layer and sample
  AllGather,              ///< as AllReduce
  PointToPoint,           ///< as AllReduce
  GradientAllReduce,      ///< the kernel's sharded output, over the data dimensions, once per step
  FlatGradientAllReduce,  ///< likewise, by one group at one bandwidth: the lowest, or a given one
  AllToAll,               ///< over all chips of a copy; each sends `bytes` in all
  Transpose,         ///< over all chips of a copy, of a tensor of `bytes` that is spread over them
  GridBroadcast,     ///< bytes / X over a link of dimension 1 of the grid
  GridPointToPoint,  ///< bytes / Y over a link of dimension 0 of the grid
};
constexpr auto words(CommunicationType) {
  return named<CommunicationType>("all_reduce", "all_gather", "point_to_point",
                                  "gradient_all_reduce", "flat_gradient_all_reduce", "all_to_all",
                                  "transpose", "grid_broadcast", "grid_point_to_point");
}

/// Whether the communication is of the kernel's own output, whose size replaces `bytes`.
constexpr bool is_gradient(CommunicationType type) {
  return type == CommunicationType::GradientAllReduce ||
         type == CommunicationType::FlatGradientAllReduce;
}
/// Whether all chips of a copy take part.
constexpr bool is_of_machine(CommunicationType type) { return type >= CommunicationType::AllToAll; }
/// Whether the communication may have a group of chips.
constexpr bool may_have_group(CommunicationType type) {
  return type == CommunicationType::AllReduce || type == CommunicationType::AllGather ||
         type == CommunicationType::AllToAll;
}

/// Communication of a kernel by itself, in place of the all-reduce for a sharded K.  It takes place
/// once per layer and sample, not for each tile.
struct Communication {
  CommunicationType type = CommunicationType::AllReduce;
  Bytes bytes{};  ///< not used by gradients
  /// The chips that communicate, across dimensions, as counts from the inside out: 8 are 8
  /// neighbouring chips; 1, 8, 4 are 4 chips at a distance of 8; empty: the type decides.
  std::vector<std::int64_t> group = {};

  friend bool operator==(const Communication&, const Communication&) = default;
};

/// Extents of fused attention beside its loops: `outer` counts the heads of the queries, K is the
/// size of a head of queries and keys, M the size of a head of values, N the number of queries
/// (docs/transformers.md, section 2).
struct Attention {
  std::int64_t keys = 1;    ///< tokens that the last query may see, itself included
  std::int64_t window = 0;  ///< tokens that a query sees at most; 0: all
  bool causal = false;      ///< tokens after a query are skipped, not masked

  friend bool operator==(const Attention&, const Attention&) = default;
};

/// One operator.  Extents describe the whole, unsharded kernel for one sample and one layer;
/// `outer` counts independent GEMMs (attention heads).
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
  std::int64_t repeat = 1;   ///< number of times that the inputs stream through
  bool skip_weight = false;  ///< the weight takes no SRAM
  Spread spread = Spread::Tensor;
  /// Further communication, at the same time as `communication` over other links: the slower one
  /// counts.
  std::optional<Communication> second_communication = std::nullopt;
  /// Explicit memory traffic of all chips of a tensor group: each moves its share.
  Bytes sharded_memory{};
  std::optional<Attention> attention = std::nullopt;  ///< if and only if the kind is Attention
  /// FLOP of an output element of an elementwise kernel, which do not count as FLOP of the
  /// model; 0: one FLOP, which counts.
  std::int64_t element_flops = 0;
  /// Number of stored matrices of M x K, of which a sample uses `outer`; 0: `outer` are stored.
  std::int64_t matrices = 0;
  /// Elements stored beside the matrices: the weight of a norm, biases.
  std::int64_t parameters = 0;
  /// Tokens in the loops `outer` and N together, or `outer` and K if K sums over tokens.  Given if
  /// these loops have room for more tokens, as for experts; 0: they are full.
  std::int64_t tokens = 0;
  /// The kernel that stores the weight, if this one uses the same weight or computes its gradient.
  std::optional<KernelId> weight_of = std::nullopt;
  /// In a backward kernel: the forward kernel whose gradients it computes, or helps to compute; by
  /// default `weight_of`.
  std::optional<KernelId> backward_of = std::nullopt;
  /// Rows of intermediate results, such as sums of squares or the candidates for the k largest,
  /// that make the M rows of an elementwise kernel depend on each other; 0: they do not.
  std::int64_t coupled = 0;
  /// Factor on the time of its FLOP at the peak, beside the utilization.
  double slowness = 1.0;
  /// Factor on the cycles of the kernel, if cycles are counted.
  double cycle_scale = 1.0;
  /// Whether arrays take a cycle for each row of an operand that stays in them.
  bool loads_arrays = false;
  /// The format of its arithmetic; by default the one of the execution.
  std::optional<Math> math = std::nullopt;
  /// The number of steps, one after the other, each on its part of the columns: a recurrent step
  /// waits for the one before (docs/model.md, section 14).
  std::int64_t steps = 1;
  /// The part of `memory` that goes through two buffers of a tile, as tensors that cross partitions
  /// do.
  Bytes streamed_in{};
  Bytes streamed_out{};
  /// The part of `memory` that is summed up over the tiles; all of it stays on the chip until the
  /// last tile.
  Bytes accumulated{};

  [[nodiscard]] std::optional<KernelId> forward() const {
    return backward_of ? backward_of : weight_of;
  }
  [[nodiscard]] bool has_weight() const { return kind == KernelKind::WeightGemm; }
  /// Whether it may run in pieces of the rows of its weight or of its sums.
  [[nodiscard]] bool has_pieces() const { return has_weight() || accumulated > Bytes{}; }
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// The data one kernel hands one other kernel.
struct Tensor {
  KernelId from;
  KernelId to;
  int operand = 1;  ///< 1 or 2: which input of `to` it is; see most_operands
  /// The output of `from` that it carries.  Tensors of one kernel with the same number are
  /// one value with several consumers; -1: a value of its own, the whole output.
  std::int32_t value = -1;
  std::int64_t rows = 0;  ///< rows of a value that is a part of the output; 0: outer * M
  /// In a seam: it leads to the next step of kernels with steps, in place of the next layer.
  bool next_step = false;

  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// The number of different inputs of a kernel of the kind.  Inputs of attention are 1 queries, 2
/// keys, 3 values and, backward, 4 the gradient, 5 the output, 6 the log-sum-exp.
constexpr int most_operands(KernelKind kind) { return kind == KernelKind::Attention ? 6 : 2; }

/// FLOP of the unsharded kernel for one sample: 2MKN for GEMMs and all else that
/// runs in systolic mode, MN for elementwise kernels in SIMD mode (docs/model.md,
/// section 1).  Utilization is measured against this work; the time of a core is
/// in model/layer/layer_costs.hpp.
Flops kernel_flops(const Kernel& kernel);

/// Pairs of a query and a key that a head of fused attention multiplies.
double scored_pairs(const Kernel& kernel);

/// Iterations of the loops of a kernel for one sample, as a double since their number may be
/// large.
double iterations(const Kernel& kernel);
/// Limit of `iterations`, 2^62: larger products may not fit 64-bit integers.
inline constexpr double kMostIterations = 4611686018427387904.0;

/// Multiply-adds of an output element: K or, for fused attention, the mean number in all products
/// with keys and values, rounded up.  Backward attention includes products that are computed again.
/// The kernel has fewer than kMostIterations.
std::int64_t output_depth(const Kernel& kernel);

/// The FLOP that a core spends on an element in SIMD mode, or the times that the loops run
/// in systolic mode.
constexpr std::int64_t passes(const Kernel& kernel) {
  return kernel.repeat * (kernel.element_flops > 0 ? kernel.element_flops : 1);
}

}  // namespace dfsearch
