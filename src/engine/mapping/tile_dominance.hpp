#pragma once
// Tiles that need not be searched, as more and smaller ones are at least as good.

#include <cstdint>
#include <vector>

#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Whether compute times are such that layers can be compared: at a given utilization.
[[nodiscard]] bool can_compare_tiles(const Problem& problem);

/// Numbers of tiles that leave a loop one iteration for a tile, the greatest first: more tiles
/// would only add to the work of its kernel.
[[nodiscard]] std::vector<std::int64_t> replacing_tiles(const Problem& problem);

/// Whether every mapping takes no more of anything with the costs `a` than with `b`: two layers
/// of the problem that differ in the number of tiles alone (docs/search.md, section 3).
[[nodiscard]] bool takes_no_more(const Problem& problem, const LayerCosts& a, const LayerCosts& b);

}  // namespace dfsearch
