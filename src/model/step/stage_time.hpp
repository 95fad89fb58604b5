#pragma once
// From the times of stages that divide the graph to the time of a step (docs/model.md, section 13).

#include <algorithm>
#include <cstdint>

#include "model/clock.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// What a stage takes for a sample: its partitions and what it hands on, in the one direction.
/// docs/model.md (55)
constexpr Ticks stage_time(Overlap overlap, Ticks work, Ticks transfer) {
  return overlap == Overlap::Perfect ? std::max(work, transfer) : capped_sum(work, transfer);
}

/// How the time of a step follows from those of the stages for a sample, of which only the sum and
/// the greatest count.
struct StagedStep {
  double samples = 1.0;        ///< that follow each other through the stages
  double steps = 1.0;          ///< of each, which follow each other likewise
  double copies = 1.0;         ///< of the workload, which share the time
  double weight = 1.0;         ///< what a second of the step counts in the objective
  bool is_bottleneck = false;  ///< the objective is the slowest stage

  /// The makespan of equal samples: the first passes all stages, and each later one leaves the
  /// slowest stage so much after the one before.
  /// docs/model.md (56), (61)
  [[nodiscard]] Seconds step(Seconds sum, Seconds greatest) const {
    return (sum + (samples * steps - 1.0) * greatest) / (steps * copies);
  }
  [[nodiscard]] Score score(Seconds sum, Seconds greatest) const {
    if (is_bottleneck) return Score(greatest.in_base_units());
    return Score(step(sum, greatest).in_base_units() * weight);
  }
};

StagedStep staged_step(const Problem& problem, const std::vector<Mapping::Dimension>& network);

}  // namespace dfsearch
