#pragma once
// The names that configs and results use for the enumerations of searches and their results.

#include "base/words.hpp"
#include "engine/search_result.hpp"
#include "engine/tree/limits.hpp"

namespace dfsearch {

constexpr auto words(SearchStatus) {
  return named<SearchStatus>({{"optimal", SearchStatus::Optimal},
                              {"feasible", SearchStatus::Feasible},
                              {"infeasible", SearchStatus::Infeasible},
                              {"no_solution", SearchStatus::NoSolution}});
}
/// StopReason::None has an empty name.
constexpr auto words(StopReason) {
  return named<StopReason>(
      {{"time", StopReason::Time}, {"nodes", StopReason::Nodes}, {"signal", StopReason::Signal}});
}
constexpr auto words(Raised) {
  return named<Raised>({{"memory", Raised::Memory},
                        {"sram", Raised::Sram},
                        {"partitions", Raised::Partitions},
                        {"degree", Raised::Degree}});
}

}  // namespace dfsearch
