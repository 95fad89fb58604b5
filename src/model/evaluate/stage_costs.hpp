#pragma once
// What the stages of a mapping cost where they divide the graph (docs/model.md, section 13).

#include <cstddef>
#include <vector>

#include "model/clock.hpp"
#include "model/evaluate.hpp"
#include "model/evaluate/partition_cost.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

struct StageCosts {
  std::vector<StageCost> stages;
  std::vector<Ticks> times;  ///< of each for a sample
  Ticks sum = 0;             ///< of them
  std::size_t slowest = 0;   ///< the first of them
  std::size_t fullest = 0;   ///< the first that needs most memory
};

/// `partitions` are those of the mapping, which keeps the rules of form.hpp, and `ticks` their
/// times.
StageCosts stage_costs(const Problem& problem, const Mapping& mapping, const LayerCosts& costs,
                       const std::vector<PartitionMembers>& partitions,
                       const std::vector<Ticks>& ticks);

}  // namespace dfsearch
