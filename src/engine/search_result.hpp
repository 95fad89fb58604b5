#pragma once
// Result of a search: the answer and its proof.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "base/words.hpp"
#include "engine/tables/effort.hpp"
#include "engine/tables/search_bounds.hpp"
#include "engine/tree/tree_search.hpp"
#include "model/evaluate.hpp"
#include "model/mapping.hpp"
#include "model/ruled_out.hpp"
#include "model/scope.hpp"

namespace dfsearch {

enum class SearchStatus : std::uint8_t {
  Optimal,     ///< proved within the gap that was allowed
  Feasible,    ///< stopped with a mapping
  Infeasible,  ///< proved that no mapping fits
  NoSolution,  ///< stopped without a mapping
};
constexpr auto words(SearchStatus) {
  return named<SearchStatus>({{"optimal", SearchStatus::Optimal},
                              {"feasible", SearchStatus::Feasible},
                              {"infeasible", SearchStatus::Infeasible},
                              {"no_solution", SearchStatus::NoSolution}});
}

/// State of the proof of an answer of any kind; Optimal means within the allowed gap.
struct Proof {
  SearchStatus status = SearchStatus::NoSolution;
  StopReason stopped_by = StopReason::None;
  Score lower_bound{};
  double gap = 0.0;  ///< (objective - lower_bound) / objective

  /// A given answer that was evaluated without a search, so that no bound is known.
  [[nodiscard]] bool is_given() const {
    return status == SearchStatus::Feasible && stopped_by == StopReason::None;
  }
};

struct SearchReport {
  Scope scope;                         ///< decisions fixed beforehand, within which the proof holds
  bool alternatives_complete = false;  ///< it is proved that nothing beyond the answers fits
  SearchStats stats;
  std::exception_ptr callback_error;  ///< first exception of a listener; null: none
  /// Nodes and tables of the search.  Freeing gigabytes takes seconds, so that is left to the owner
  /// of the result: it may be dropped after the answer has been written, or never.
  std::shared_ptr<const void> leftovers;
};

/// The best mapping found.  `mapping` and `cost` are set for Optimal and Feasible.
struct BestMapping : Proof {
  std::optional<Mapping> mapping;
  std::optional<Cost> cost;
  /// Bound of the mapping's network, tile and micro-batch, before any branching; nothing where the
  /// limits came first.
  std::optional<Score> root_bound;
};

/// The best answer with any framework, for a search that was restricted to one.
struct BestWithoutFramework {
  Score best = Score::infinity();  ///< the least objective known
  Score lower_bound{};
  /// (objective of the answer) / best - 1; for fronts the greatest such value
  double gain = 0.0;
};

/// A quantity that may be raised, all else as it is.
enum class Raised : std::uint8_t {
  Memory,      ///< capacity of a chip, of the first tier, in bytes
  Sram,        ///< SRAM of a chip, in bytes
  Partitions,  ///< the number of partitions that are allowed
  Degree,      ///< degree of one network dimension; the number of chips grows with it
};
constexpr auto words(Raised) {
  return named<Raised>({{"memory", Raised::Memory},
                        {"sram", Raised::Sram},
                        {"partitions", Raised::Partitions},
                        {"degree", Raised::Degree}});
}

/// How far a quantity must be raised for a mapping to fit; bytes are whole.
struct FeasibleChange {
  Raised what = Raised::Sram;
  std::size_t dimension = 0;  ///< the dimension, for Raised::Degree
  double from = 0.0;          ///< value of the problem
  /// Proved: nothing fits with values from `from` up to, but not including, this one.
  double at_least = 0.0;
  /// A mapping fits with this value; it is the least such value if it equals `at_least`.
  double enough = 0.0;

  [[nodiscard]] bool is_exact() const { return at_least == enough; }
};

/// Result of `solve`: the best answer, and others with other parallelisms.
struct SearchResult : BestMapping, SearchReport {
  /// The best mapping with nothing fixed beforehand that a fixed effort finds, if requested and the
  /// scope is not empty; nothing if the limits came first.
  std::optional<BestMapping> beyond_scope;
  /// The reason, for Infeasible; nothing if a limit ended the search for it.
  std::optional<Infeasible> infeasible;
  std::vector<FeasibleChange> changes;  ///< changes that would help, for Infeasible, if requested
  /// Only for Infeasible: whether the reason and all changes were searched with their full effort,
  /// without meeting a limit.
  bool explained = true;
  RuledOut hint;                  ///< reasons why the search has no mapping like the hint
  std::int64_t parallelisms = 0;  ///< number of parallelisms to choose from
  SearchBounds bounds;            ///< that were used
  /// The best mappings with further parallelisms, best first.
  std::vector<BestMapping> alternatives;
  Efforts efforts{};  ///< efforts of this run
  Bytes memory_limit = Bytes::infinity();
  Bytes memory_used{};  ///< the most that the search kept at once (base/memory_budget.hpp)
};

}  // namespace dfsearch
