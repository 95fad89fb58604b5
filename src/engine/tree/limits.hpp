#pragma once
// When a search stops before its proof.

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>

#include "base/units.hpp"

namespace dfsearch {

enum class StopReason : std::uint8_t { None, Time, Nodes, Signal };

struct Limits {
  Seconds time = Seconds::infinity();
  std::int64_t nodes = std::numeric_limits<std::int64_t>::max();
  double gap = 0.0;  ///< stop when (incumbent - lower bound) / incumbent is at most this
  /// Raised by a signal handler or another thread; read between nodes.
  const std::atomic<bool>* stop = nullptr;
};

/// Whether a limit or a signal ends the search: long work between nodes asks now and then.
using Interrupted = std::function<bool()>;

/// How the work of a tree over mappings is cut into nodes.
struct NodeEffort {
  /// Of an enumeration before it is handed back to the queue: about a millisecond, short
  /// enough for limits and for other workers to take a part.
  std::int64_t steps = 10'000;
  /// That are offered at a point, dominated ones among them, before its duals are looked for, which
  /// takes as long as some tens of nodes.
  std::int64_t nodes_before_duals = 50;
};

}  // namespace dfsearch
