#pragma once
// Rules for the index of the next partition and for the kernels in it: pins and the halves of the
// phases.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/tables/fusion_tables.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// One choice of index for the next partition, and the conditions that it sets.
struct PartitionSlot {
  std::int32_t index = 0;
  std::int64_t pinned = 0;      ///< kernels pinned to the index; the partition must hold all
  bool forward = true;          ///< may hold forward kernels
  bool backward = true;         ///< may hold backward kernels
  bool needs_backward = false;  ///< must hold a backward kernel, else an earlier index would do
};

/// Kernels that are still to be placed, as the rules count them.
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
  /// Returns unplaced(done), computed from its result before the last `forward` forward kernels and
  /// `backward` backward kernels were done.
  [[nodiscard]] Unplaced unplaced_after(const Unplaced& before, std::int64_t forward,
                                        std::int64_t backward, const KernelSet& done) const;

  /// The useful indices of the next partition, at least `next_index`, ascending.  Other indices
  /// would only take choices away from later partitions.
  [[nodiscard]] std::vector<PartitionSlot> slots(std::int32_t next_index,
                                                 const Unplaced& unplaced) const;

  /// The least index that a partition of exactly these kernels may have.
  [[nodiscard]] std::optional<std::int32_t> index_for(const KernelSet& kernels,
                                                      std::int32_t next_index,
                                                      const Unplaced& unplaced) const;

  /// Whether the unplaced kernels may still have indices of at least `next_index`.
  [[nodiscard]] bool open(std::int32_t next_index, const Unplaced& unplaced) const;

  [[nodiscard]] std::int32_t most() const { return most_; }

  /// Number of groups of partitions: two (0 forward, 1 backward) if the phases never share an
  /// index, else one.
  [[nodiscard]] std::size_t groups() const { return last_forward_ < first_backward_ ? 2 : 1; }
  [[nodiscard]] std::size_t group(bool backward) const { return groups() == 2 && backward; }
  /// Number of indices of a group that are at least `next_index`.
  [[nodiscard]] std::int32_t left(std::size_t group, std::int32_t next_index) const;

 private:
  [[nodiscard]] Unplaced with_pins(Unplaced left, const KernelSet& done) const;

  const FusionTables& tables_;
  std::int32_t most_;  // greatest number of partitions
  bool halves_;
  std::int32_t last_forward_ = 0;    // greatest index of a forward kernel
  std::int32_t first_backward_ = 0;  // least index of a backward kernel
  KernelSet backward_;
  std::int64_t forward_kernels_ = 0;
  std::int64_t backward_kernels_ = 0;
  std::vector<std::uint32_t> pinned_;  // kernels
};

}  // namespace dfsearch
