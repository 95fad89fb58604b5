#pragma once
// Tiles that need not be searched, as others are at least as good for any sharding.

#include <cstdint>
#include <vector>

#include "model/layer/core_allocation.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Whether compute times of layers can be compared: at a given utilization, or kernel by kernel.
[[nodiscard]] bool can_compare_tiles(const Problem& problem);

/// Whether fewer and larger tiles replace others, not more and smaller ones: where no tile has to
/// fit into the SRAM.
[[nodiscard]] bool fewer_tiles_replace(const Problem& problem);

/// Numbers of tiles that may replace others; numbers that may replace most come first.
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
  std::vector<double> numbers_;    // as the model has them
  std::vector<double> tile_sums_;  // of a tile, which the model adds up before it multiplies
};

}  // namespace dfsearch
