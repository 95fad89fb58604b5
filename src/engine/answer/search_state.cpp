#include "engine/answer/search_state.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "model/machine/network_choices.hpp"

namespace dfsearch {

Mapping mapping_of(const Problem& problem, const MappingSolution& solution) {
  const std::vector<NetworkChoice> networks = network_choices(problem);
  if (solution.point.network >= networks.size()) {
    throw InputError("a mapping of the checkpoint does not fit the problem");
  }
  return {.network = networks[solution.point.network],
          .micro_batch = solution.point.micro_batch,
          .tile = solution.point.tile,
          .sharding = solution.sharding,
          .partition = solution.fusion.partition,
          .cores = {}};
}

Score least_open_bound(const SearchState& state) {
  Score least = state.begun ? Score::infinity() : Score{};
  for (const SearchState::Entry& open : state.open) least = std::min(least, open.bound);
  return std::max(least, state.floor);
}

}  // namespace dfsearch
