#pragma once
// What one block takes on one chip: the sums over its kernels.

#include "base/units.hpp"
#include "model/calculon/block_kernels.hpp"
#include "model/calculon/execution.hpp"
#include "model/calculon/network.hpp"

namespace dfsearch::calculon {

/// A sum over kernels: their times, and what engine and memory do of them.  `time` leaves out
/// exchanges, `compute` and `memory` do not.
struct PassTimes {
  Seconds time{};
  Seconds compute{};
  Seconds memory{};
};

/// The exchanges of a tensor group that a block waits for, and how long links are busy.
struct ExchangeTimes {
  Seconds forward{};        ///< waited for in the forward pass
  Seconds backward{};       ///< likewise in the backward pass
  Seconds again{};          ///< likewise for exchanges that take place again
  Seconds backward_link{};  ///< links in the backward pass
  Seconds again_link{};     ///< links of exchanges that take place again
};

/// A block; the last one of a chunk, at the edge, may exchange by other operations.
struct BlockTimes {
  PassTimes forward;
  PassTimes input_gradient;
  PassTimes weight_gradient;
  PassTimes recompute;
  ExchangeTimes base;
  ExchangeTimes edge;
};

/// Without a network the exchanges take no time: nothing in the sum is then more than with any.
BlockTimes block_times(const BlockKernels& kernels, const ModelShape& transformer,
                       const Machine& machine, const Execution& execution,
                       const NetworkDimension* network);

/// The optimizer's step of one block, its states divided by `parts`.
PassTimes optimizer_times(const BlockKernels& kernels, const Machine& machine, double parts);

/// FLOP of all passes of a block and the optimizer's step, recomputation left out.
Flops useful_work(const BlockKernels& kernels, const ModelShape& transformer, double parts);

}  // namespace dfsearch::calculon
