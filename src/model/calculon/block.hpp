#pragma once
// The kernels of one transformer block on one chip, for one micro-batch, and their times.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "model/calculon/execution.hpp"

namespace dfsearch::calculon {

/// The passes of a kernel; the gradients of its inputs and of its weights are two passes.
enum class Pass : std::uint8_t { Forward, InputGradient, WeightGradient };
inline constexpr std::size_t kPasses = 3;

/// The exchange of a value among the chips of a tensor group at a kernel: `Gather` brings it
/// together in the forward pass and sums its gradient in the backward pass, `Reduce` the other way
/// round.
enum class Exchange : std::uint8_t { None, Gather, Reduce };

/// A kernel: its work and traffic in each pass, and its memory.
struct BlockKernel {
  bool matrix = false;  ///< the matrix engine computes it; else the vector engine
  std::array<Flops, kPasses> work{};
  std::array<Bytes, kPasses> traffic{};
  double weights = 0.0;  ///< elements
  Bytes activations{};   ///< activations that the backward pass needs
  Bytes output{};
  Bytes gradients{};
  bool recomputed = false;  ///< computed again in the backward pass
  bool again = false;       ///< the backward pass repeats its exchange of the forward pass
  bool working = true;      ///< its activations count in the working space
  bool kept = true;         ///< its activations are kept for the backward pass
  bool output_kept = true;  ///< its output is kept, too
  Exchange exchange = Exchange::None;
  bool overlapped = false;  ///< a matrix product that its exchange hides behind
  double exchanged = 0.0;   ///< elements of the whole value that is exchanged
};

/// The kernels of a block in the order of the forward pass.
using BlockKernels = std::vector<BlockKernel>;

/// Reads the tensor degree, the micro-batch, recompute, communication, overlap, redo and fused of
/// the execution.
BlockKernels block_kernels(const ModelShape& transformer, const Execution& execution);

/// A sum over kernels: their times, and the times of engine and memory alone.  `time` leaves out
/// kernels that are exchanges; `compute` and `memory` include the sums of exchanges.
struct PassTimes {
  Seconds time{};
  Seconds compute{};
  Seconds memory{};
};

/// The exposed exchanges of a tensor group in a block, and the times that links are busy.
struct ExchangeTimes {
  Seconds forward{};        ///< exposed in the forward pass
  Seconds backward{};       ///< exposed in the backward pass
  Seconds again{};          ///< exposed, by exchanges that the backward pass repeats
  Seconds backward_link{};  ///< busy links in the backward pass
  Seconds again_link{};     ///< busy links by repeated exchanges
};

/// The times of a block.  The exchanges of the last block of a chunk are in `edge`, since they may
/// use other operations than the exchanges of other blocks, in `base`.
struct BlockTimes {
  PassTimes forward;
  PassTimes input_gradient;
  PassTimes weight_gradient;
  PassTimes recompute;
  ExchangeTimes base;
  ExchangeTimes edge;
};

/// Without a network (null) exchanges take no time, so that no time is more than with a network.
BlockTimes block_times(const BlockKernels& kernels, const ModelShape& transformer,
                       const Machine& machine, const Execution& execution,
                       const NetworkDimension* network);

/// The optimizer's step of one block, its states divided by `parts`.
PassTimes optimizer_times(const BlockKernels& kernels, const Machine& machine, double parts);

/// FLOP of all passes of a block and the optimizer's step, recomputation left out.
Flops useful_work(const BlockKernels& kernels, const ModelShape& transformer, double parts);

}  // namespace dfsearch::calculon
