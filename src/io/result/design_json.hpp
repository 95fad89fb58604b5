#pragma once
// What a search over budgets found, as JSON (docs/results.md).

#include "design/find_split.hpp"
#include "io/text/json_text.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// The best splits, best first; with one that was not found for its lower bound.
Json best_splits_json(const ChipDesign& design, const DesignResult& result);

/// What more of each budget would bring.
Json gains_json(const DesignResult& result);

}  // namespace dfsearch
