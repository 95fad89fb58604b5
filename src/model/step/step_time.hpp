#pragma once
// From the time of one layer and one sample to the time of a step
// (docs/model.md, sections 6 and 7).

#include <algorithm>
#include <cstdint>
#include <vector>

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

/// How the time of a step follows from that of a layer, for decisions taken outside the
/// layer: step = max(layer * factor + transfer, least) / copies.
struct StepTime {
  std::int64_t layers_per_stage = 1;
  std::int64_t micro_batches = 1;
  double bubble_factor = 1.0;
  double factor = 1.0;  ///< bubble * layers per stage * samples per replica
  Seconds transfer{};   ///< point to point between stages, once a step
  Seconds least{};      ///< what all samples take over one link from stage to stage
  double copies = 1.0;  ///< copies that share the time, as they run side by side

  /// What a second of the step counts in the objective: 1, or the price or power of
  /// the machine.
  double weight = 1.0;

  /// docs/model.md (41)
  [[nodiscard]] Seconds step(Seconds layer) const {
    return std::max(layer * factor + transfer, least) / copies;
  }
  [[nodiscard]] Score score(Seconds layer) const {
    return Score(step(layer).in_base_units() * weight);
  }
};

/// The step time of these decisions; micro_batch * data degree must divide the global
/// batch.
StepTime step_time(const Problem& problem, const std::vector<Mapping::Dimension>& network,
                   std::int64_t micro_batch);

/// The time of one request from the first stage to the last: all layers one after the
/// other, and what the stages hand on.
Seconds request_latency(const Problem& problem, const std::vector<Mapping::Dimension>& network,
                        Seconds layer);

/// The product of the degrees of the dimensions that serve the strategy, at most the greatest
/// number there is.
std::int64_t degree_of(const std::vector<Mapping::Dimension>& network, Strategy strategy);

}  // namespace dfsearch
