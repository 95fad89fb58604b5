#pragma once
// Changed configs, whose answers are compared with the answers of the original config.

#include <functional>
#include <optional>
#include <utility>

#include "physics/answer.hpp"
#include "physics/numbers.hpp"

namespace dfsearch::test {

/// A change of a config; false where it has nothing of the kind.
using Change = std::function<bool(Json& config)>;

inline bool raise(Json& map, const char* key, double factor, const char* unit) {
  if (!map.contains(key)) return false;
  map[key] = quantity(amount(map[key]) * factor, unit);
  return true;
}

/// A change of one dimension of the network, if that exists.
inline Change in_network(std::size_t dimension, std::function<bool(Json&)> change) {
  return [dimension, change = std::move(change)](Json& config) {
    Json& system = config["system"];
    if (!system.contains("network") || system["network"].size() <= dimension) return false;
    return change(system["network"][dimension]);
  };
}

/// The answer must be at least what another config can do.
inline std::optional<Violation> no_better_than(const char* what, const Answer& bad,
                                               const Answer& good) {
  // `good` may do whatever `bad` does.  Its bound holds whether it is proved or not.
  if (!bad.found() || !is_less(bad.step, good.lower_bound)) return std::nullopt;
  return Violation{what, bad.step, good.lower_bound};
}

}  // namespace dfsearch::test
