#pragma once
// Outcome of a problem: the end of a search, or the verdict on one given mapping.  Results and
// reports are written from it.

#include <variant>

#include "design/find_split.hpp"
#include "engine/solve.hpp"
#include "model/evaluate.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// A view: everything it points to must outlive it.  `mapping` and `cost` are null if there is
/// none, `search` if a given mapping was evaluated.  If no chip can be built, everything but the
/// chip is null.
struct Outcome {
  const Problem* problem = nullptr;
  SearchStatus status = SearchStatus::NoSolution;
  const Mapping* mapping = nullptr;
  const Cost* cost = nullptr;
  const Infeasible* infeasible = nullptr;
  const SearchResult* search = nullptr;
  const ChipDesign* design = nullptr;  ///< set with the chip, if that is derived
  const Chip* chip = nullptr;
  const DesignResult* split = nullptr;  ///< if the budget was searched

  [[nodiscard]] static Outcome of(const Problem& problem, const SearchResult& result) {
    return {.problem = &problem,
            .status = result.status,
            .mapping = result.mapping ? &*result.mapping : nullptr,
            .cost = result.cost ? &*result.cost : nullptr,
            .infeasible = result.infeasible ? &*result.infeasible : nullptr,
            .search = &result};
  }
  [[nodiscard]] static Outcome of(const Problem& problem, const Mapping& mapping,
                                  const std::variant<Cost, Infeasible>& verdict) {
    const Cost* cost = std::get_if<Cost>(&verdict);
    return {.problem = &problem,
            .status = cost != nullptr ? SearchStatus::Feasible : SearchStatus::Infeasible,
            .mapping = &mapping,
            .cost = cost,
            .infeasible = std::get_if<Infeasible>(&verdict),
            .search = nullptr};
  }
};

}  // namespace dfsearch
