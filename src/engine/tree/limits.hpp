#pragma once
// Limits that stop a search before its proof.

#include <cstdint>
#include <limits>

#include "base/deadline.hpp"
#include "base/units.hpp"

namespace dfsearch {

enum class StopReason : std::uint8_t { None, Time, Nodes, Signal };

/// Why work under this deadline ends now; None: it does not.
inline StopReason stop_reason(const Deadline& deadline) {
  if (deadline.is_stopped()) return StopReason::Signal;
  return deadline.is_over() ? StopReason::Time : StopReason::None;
}

struct Limits {
  Deadline deadline{};
  std::int64_t nodes = std::numeric_limits<std::int64_t>::max();
  /// Near it the search uses less: depth first, remembering nothing new.  It counts the data of the
  /// search (base/memory_budget.hpp), not the process.
  Bytes memory = Bytes::infinity();
  double gap = 0.0;  ///< stop when (incumbent - lower bound) / incumbent is at most this
};

/// How the work of a tree over mappings is cut into nodes.
struct NodeEffort {
  /// Steps of an enumeration before it is handed back to the queue, about a millisecond: other
  /// workers can then take a part of it.
  std::int64_t steps = 10'000;
  /// How many times the work of a node counts in the effort rule (engine/tree/effort.hpp): with a
  /// high weight the techniques beside the tree begin at once, also in a small problem.
  std::int64_t weight = 1;
};

}  // namespace dfsearch
