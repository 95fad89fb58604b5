#pragma once
// The steps from the time of one layer and one sample to the time of a step (docs/model.md,
// sections 6, 7 and 13), and the shares of compute, memory, network and waiting in it.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/words.hpp"
#include "model/clock.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The time of one partition from its parts (docs/model.md, section 6).
/// docs/model.md (38)
constexpr Ticks overlapped(Overlap overlap, Ticks compute, Ticks memory, Ticks network) {
  switch (overlap) {
    case Overlap::Perfect:
      return std::max({compute, memory, network});
    case Overlap::None:
      return compute + memory + network;
    case Overlap::ComputeMemory:
      return std::max(compute, memory) + network;
  }
  return kNever;
}

/// The factors from the time of a layer to the time of a step, for decisions outside the layer:
/// step = max(layer * factor + transfer, least) / copies.
struct StepTime {
  std::int64_t layers_per_stage = 1;
  std::int64_t micro_batches = 1;
  double bubble_factor = 1.0;
  double factor = 1.0;  ///< bubble * layers per stage * samples per replica
  Seconds transfer{};   ///< point to point between stages, once a step
  Seconds least{};      ///< the time of all samples over one link from stage to stage
  double copies = 1.0;  ///< copies that share the time, as they run side by side

  /// The weight of a second of the step in the objective: 1, or the price or power of the machine.
  double weight = 1.0;

  /// docs/model.md (41)
  [[nodiscard]] Seconds step(Seconds layer) const {
    return std::max(layer * factor + transfer, least) / copies;
  }
  [[nodiscard]] Score score(Seconds layer) const {
    return Score(step(layer).in_base_units() * weight);
  }
};

/// The factors for these decisions; micro_batch * data degree must divide the global batch.
StepTime step_time(const Problem& problem, const std::vector<Mapping::Dimension>& network,
                   std::int64_t micro_batch);

/// The time of one request from the first stage to the last: all layers one after the other, and
/// the messages between stages.
Seconds request_latency(const Problem& problem, const std::vector<Mapping::Dimension>& network,
                        Seconds layer);

/// The product of the degrees of the dimensions that serve the strategy; saturates at the greatest
/// representable number.
std::int64_t degree_of(const std::vector<Mapping::Dimension>& network, Strategy strategy);

/// The time of a stage for a sample: its partitions and its messages to the next stage, in one
/// direction.
/// docs/model.md (55)
constexpr Ticks stage_time(Overlap overlap, Ticks work, Ticks transfer) {
  return overlap == Overlap::Perfect ? std::max(work, transfer) : capped_sum(work, transfer);
}

/// The factors that give the time of a step from the times of the stages for a sample: their sum
/// and the greatest of them.
struct StagedStep {
  double samples = 1.0;        ///< samples that follow each other through the stages
  double steps = 1.0;          ///< steps of each sample, which follow each other likewise
  double copies = 1.0;         ///< copies of the workload, which share the time
  double weight = 1.0;         ///< weight of a second of the step in the objective
  bool is_bottleneck = false;  ///< the objective is the slowest stage

  /// The makespan of equal samples: the first passes all stages, and each later one leaves the
  /// slowest stage one slowest time after the one before.
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

/// Compute, memory and network time that a partition is charged for; they add up to its time.  Time
/// that hides behind longer time is not charged.  Each part is at most kNever, and so is every sum
/// of them.
struct ChargedTime {
  Ticks compute = 0;
  Ticks memory = 0;
  Ticks network = 0;

  ChargedTime& operator+=(const ChargedTime& other);
};

/// The parts of the time that overlapped() returns.  If parts that overlap are equally long, the
/// first of compute, memory and network is charged.
ChargedTime charged_time(Overlap overlap, Ticks compute, Ticks memory, Ticks network);

/// The largest part of the step time.
enum class StepBound : std::uint8_t { Compute, Memory, Network, Bubble, Transfer };
constexpr auto words(StepBound) {
  return named<StepBound>("compute", "memory", "network", "bubble", "transfer");
}

/// Parts of the step time, from 0 to 1; together 1 but for rounding.
struct TimeShares {
  double compute = 0.0;
  double memory = 0.0;
  double network = 0.0;
  double bubble = 0.0;    ///< stages that wait while the pipeline fills and drains
  double transfer = 0.0;  ///< messages from stage to stage

  /// The largest share; if shares are equal, the first of them.
  [[nodiscard]] StepBound largest() const;
};

TimeShares time_shares(const StepTime& step, const Clock& clock, const ChargedTime& layer);

}  // namespace dfsearch
