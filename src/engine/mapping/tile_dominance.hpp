#pragma once
// Numbers of tiles that need not be searched, since another is at least as good for any sharding.

#include <cstdint>
#include <vector>

#include "model/layer/core_allocation.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Whether compute times can be compared between numbers of tiles: at a given utilization, or
/// kernel by kernel.
[[nodiscard]] bool can_compare_tiles(const Problem& problem);

/// Whether tiles are replaced by fewer, larger tiles; if not, by more, smaller tiles.  The former
/// holds if no tile has to fit into SRAM.
[[nodiscard]] bool fewer_tiles_replace(const Problem& problem);

/// Numbers of tiles that may replace others; the numbers that may replace most others come first.
[[nodiscard]] std::vector<std::int64_t> replacing_tiles(const Problem& problem);

/// Costs of a layer that depend on its tiles, for every sharding that is left.
class TileCosts {
 public:
  /// `cache` belongs to the machine.
  TileCosts(const Problem& problem, const LayerDecisions& decisions, CoreOptionsCache& cache);

  /// Whether every mapping needs no more of any resource with these tiles than with the other tiles
  /// of the same problem and decisions (docs/search.md, section 3).
  [[nodiscard]] bool no_more_than(const TileCosts& other) const;

 private:
  std::int64_t tiles_;
  std::vector<double> numbers_;    // computed as in the model
  std::vector<double> tile_sums_;  // per tile: added up by the model, then multiplied by the tiles
};

}  // namespace dfsearch
