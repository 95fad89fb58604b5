#pragma once
// The steps from the time of a block to the time of a training step.

#include "base/units.hpp"
#include "model/calculon/block.hpp"
#include "model/calculon/execution.hpp"

namespace dfsearch::calculon {

struct StepTime {
  Seconds forward{};
  Seconds backward{};
  Seconds recompute{};
  Seconds optimizer{};
  Seconds tensor{};        ///< exposed exchanges of tensor groups
  Seconds tensor_again{};  ///< likewise for repeated exchanges
  Seconds pipeline{};      ///< transfers from stage to stage
  Seconds bubble{};        ///< stages wait for each other
  Seconds data{};          ///< exposed sums of gradients
  Seconds offload{};       ///< exposed copies of the second memory

  /// The order of the sum is fixed, so that the rounded sum never falls if a part grows.
  [[nodiscard]] Seconds total() const {
    return forward + backward + recompute + optimizer + tensor + tensor_again + pipeline + bubble +
           data + offload;
  }
};

/// The inputs of a step time, apart from the sums of gradients.
struct StepBasis {
  Schedule schedule;
  BlockTimes block;
  PassTimes optimizer;
  bool training = true;
  Seconds hop{};              ///< a transfer to the next stage
  Seconds backward_hop{};     ///< a transfer of gradients back
  Seconds forward_offload{};  ///< moving a block to and from the second memory
  Seconds backward_offload{};
};

/// The sums of gradients of data ranks.
struct GradientSums {
  Seconds block{};             ///< the sums of one block, on the network
  bool overlapped = false;     ///< they hide behind the backward pass
  bool sharded = false;        ///< the optimizer's states are divided
  bool with_tensor = false;    ///< on the network of tensor groups
  bool with_pipeline = false;  ///< on the network of stages
  double usage = 0.0;          ///< share of the processor that the sums take
};

/// The time of a step; `data` stays 0.  No part falls when a time of the basis rises; only `bubble`
/// may fall, if stages have different numbers of blocks.
StepTime step_time(const StepBasis& basis);

Seconds data_time(const StepBasis& basis, const GradientSums& sums);

}  // namespace dfsearch::calculon
