#pragma once
// How the cores of a chip are divided among the kernels of a partition when no
// utilization is given (docs/model.md, section 6).

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "model/mapping.hpp"
#include "model/shard.hpp"

namespace dfsearch {

/// Cycles of one tile on a grid of lanes x stages cores.  SIMD kernels use the
/// lanes only.  Saturates far below overflow.
std::int64_t cycles(const Kernel& kernel, const Shard& shard, const Accelerator& accelerator,
                    CoreGrid grid);

/// One way to run a kernel.
struct CoreOption {
  std::int64_t cores = 1;
  std::int64_t cycles = 0;
  CoreGrid grid;
};

/// The ways that no other way beats in both cores and cycles: cores ascending,
/// cycles strictly descending, at most `accelerator.cores`.  Never empty.
std::vector<CoreOption> core_options(const Kernel& kernel, const Shard& shard,
                                     const Accelerator& accelerator);

/// Of any options those that no other beats, in that form.
std::vector<CoreOption> pareto_options(std::vector<CoreOption> all);

/// The least cycles that all the kernels can reach together with `cores` cores,
/// or nothing when there are more kernels than cores.  `options` has one list
/// per kernel.
std::optional<std::int64_t> least_cycles(std::span<const std::vector<CoreOption>* const> options,
                                         std::int64_t cores);

/// The smallest option that takes at most `limit` cycles; nullptr if none does.
const CoreOption* cheapest_within(const std::vector<CoreOption>& options, std::int64_t limit);

}  // namespace dfsearch
