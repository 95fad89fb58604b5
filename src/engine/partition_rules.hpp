#pragma once
// Which index the next partition may have and which kernels it may then hold:
// pins and the halves of the phases.

#include <cstdint>
#include <vector>

#include "engine/fusion_tables.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// One choice of index, with what it asks of the partition.
struct PartitionSlot {
  std::int32_t index = 0;
  std::int64_t pinned = 0;      ///< kernels pinned to it, which it must hold all
  bool forward = true;          ///< may hold forward kernels
  bool backward = true;         ///< may hold backward kernels
  bool needs_backward = false;  ///< without one an earlier index is the same choice
};

/// What of the graph is still to be placed, as the rules see it.
struct Unplaced {
  std::int64_t forward = 0;
  std::int64_t backward = 0;
  std::int32_t least_pin = -1;      ///< -1: no pinned kernel is left
  std::int64_t kernels_at_pin = 0;  ///< pinned to least_pin
};

class PartitionRules {
 public:
  explicit PartitionRules(const FusionTables& tables);

  [[nodiscard]] Unplaced unplaced(const KernelSet& done) const;

  /// The indices worth trying after partitions below `next_index`, ascending.
  /// Leaving more of them empty only takes choices away.
  [[nodiscard]] std::vector<PartitionSlot> slots(std::int32_t next_index,
                                                 const Unplaced& unplaced) const;

  /// Whether kernels may still be placed when the next index is at least this.
  [[nodiscard]] bool open(std::int32_t next_index, const Unplaced& unplaced) const;

  [[nodiscard]] std::int32_t limit() const { return limit_; }

 private:
  const FusionTables& tables_;
  std::int32_t limit_;           // number of partitions
  std::int32_t last_forward_;    // greatest index of a forward kernel
  std::int32_t first_backward_;  // least index of a backward kernel
  bool halves_;
};

}  // namespace dfsearch
