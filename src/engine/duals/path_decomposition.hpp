#pragma once
// Path decomposition: an order in which the kernels of a graph are decided one by one, such that
// few decided kernels have undecided neighbours at any time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// The decision of one kernel.  The frontier consists of the decided kernels with tensors from or
/// to undecided kernels; each has a bit of its own while it belongs to the frontier.
struct DecompositionStep {
  /// A tensor between the kernel and a kernel of the frontier.
  struct Link : Arc {
    std::uint32_t bit = 0;  ///< of the other kernel
    bool from_other = false;
  };
  std::size_t kernel = 0;
  std::uint32_t bit = 0;      ///< the kernel's own bit
  std::uint32_t present = 0;  ///< bits of the frontier before the step
  std::uint32_t leaving = 0;  ///< bits of kernels that leave the frontier in the step
  std::vector<Link> links;
  Ticks memory = 0;  ///< memory time of the kernel that no other decision changes
  Bytes sram{};      ///< the kernel's weight, and its end of each tensor that is not a link

  /// Memory time that this decision adds for crossing tensors between the kernel and the frontier;
  /// `frontier` has the bits of the frontier's kernels inside.
  [[nodiscard]] Ticks crossing(std::uint32_t frontier, bool inside) const {
    Ticks sum = 0;
    for (const Link& link : links) {
      if (((frontier & link.bit) != 0) != inside) sum += inside ? link.transfer : link.opposite;
    }
    return sum;
  }
  /// SRAM that the kernel adds if it is inside.
  [[nodiscard]] double sram_inside(std::uint32_t frontier) const {
    Bytes sum = sram;
    for (const Link& link : links) {
      sum += (frontier & link.bit) != 0 ? link.fused - link.streamed : link.streamed;
    }
    return sum.in_base_units();
  }
  /// Bits of the kernels inside that are in the frontier before the next step.
  [[nodiscard]] std::uint32_t after(std::uint32_t frontier, bool inside) const {
    return (inside ? frontier | bit : frontier) & ~leaving;
  }
};

/// All kernels of a set, each once.
struct PathDecomposition {
  std::vector<DecompositionStep> steps;
  std::size_t width = 0;  ///< bits
};

/// An order that always takes the kernel after which the frontier is least; nothing if it needs
/// more bits than `widest`, which is at most 31.  Tensors between kernels of the set and others
/// always cross.  Throws Stopped by the deadline of the tables.
[[nodiscard]] std::optional<PathDecomposition> path_decomposition(const FusionTables& tables,
                                                                  const KernelSet& kernels,
                                                                  std::size_t widest);

/// A path of kernels that may share a partition.
struct GroupDecomposition {
  PathDecomposition path;
  std::size_t group = 0;  ///< of the partitions (PartitionRules)
};

/// The paths of all kernels that can share a partition; nothing if the frontiers have too many
/// states for dynamic programming.  Throws Stopped by the deadline of the tables.
[[nodiscard]] std::optional<std::vector<GroupDecomposition>> path_decompositions(
    const FusionTables& tables);

}  // namespace dfsearch
