#pragma once
// An order in which the kernels of a graph are decided one by one, such that few are of interest
// at any time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/tables/fusion_tables.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// One kernel is decided.  Kernels that were decided and have tensors to others that were not are
/// the frontier; each has a bit of its own while it is in there.
struct FrontierStep {
  /// A tensor between the kernel and one of the frontier.
  struct Link {
    std::size_t other = 0;  ///< the other kernel
    std::uint32_t bit = 0;  ///< its bit
    bool from_other = false;
    Ticks transfer = 0;
    Bytes fused{};
    Bytes streamed{};
  };
  std::size_t kernel = 0;
  std::uint32_t bit = 0;      ///< the kernel's, one that no other has
  std::uint32_t present = 0;  ///< bits of the frontier that it meets
  std::uint32_t leaving = 0;  ///< bits that are free afterwards
  std::vector<Link> links;
  std::vector<std::size_t> others_before;  ///< producers that are not of the set
  Ticks memory = 0;                        ///< its traffic whatever the others do
  Bytes sram{};  ///< its weight, and one end of each of its tensors that is not a link
};

/// All kernels of a set, each once.
struct FrontierPlan {
  std::vector<FrontierStep> steps;
  std::size_t width = 0;  ///< bits
};

/// An order that always takes the kernel after which the frontier is least; nothing if it needs
/// more bits than `widest`, 31 at most.  Tensors to kernels that are not in the set always cross.
/// Throws Stopped by the deadline of the tables.
[[nodiscard]] std::optional<FrontierPlan> frontier_plan(const FusionTables& tables,
                                                        const KernelSet& kernels,
                                                        std::size_t widest);

}  // namespace dfsearch
