#pragma once
// When a search stops before its proof.

#include <atomic>
#include <cstdint>
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

}  // namespace dfsearch
