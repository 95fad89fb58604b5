#pragma once
// A mapping has every decision taken.  It is the answer of a search, the input of evaluate, and the
// content of `--mapping` files.

#include <compare>
#include <cstdint>
#include <vector>

#include "graph/loop_set.hpp"
#include "model/machine/machine.hpp"

namespace dfsearch {

/// The cores of one kernel: a grid of lanes x stages.
struct CoreGrid {
  std::int64_t lanes = 1;
  std::int64_t stages = 1;

  [[nodiscard]] std::int64_t cores() const { return lanes * stages; }
  friend bool operator==(const CoreGrid&, const CoreGrid&) = default;
};

struct Mapping {
  /// Degree and strategy of each network dimension, innermost first.
  struct Dimension {
    std::int64_t degree = 1;
    Strategy strategy = Strategy::Tensor;
    friend auto operator<=>(const Dimension&, const Dimension&) = default;
  };

  std::vector<Dimension> network;
  std::int64_t micro_batch = 1;
  std::int64_t tile = 1;                ///< elements of the sequence per tile
  std::vector<LoopPair> sharding;       ///< per kernel
  std::vector<std::int64_t> partition;  ///< per kernel: index of its partition, from 0
  std::vector<CoreGrid> cores;          ///< per kernel; empty when a utilization is given

  friend bool operator==(const Mapping&, const Mapping&) = default;
};

}  // namespace dfsearch
