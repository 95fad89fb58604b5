#pragma once
// The memory of a chip in the fusion's linear program: capacity for waiting tensors, and the tiers
// in use (docs/milp.md, rows 10, 12 and 17).

#include <cstdint>

#include "milp/column_names.hpp"
#include "milp/fusion_matrices.hpp"
#include "milp/linear_model.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Which tiers of memory the mappings of some decisions use.
enum class MemoryTiers : std::uint8_t {
  First,   ///< all of them the first alone, or there is no second
  Both,    ///< data that does not depend on the partitions overflows the first
  Either,  ///< the partitions decide
};

/// The tiers that mappings use; `costs` may have either bandwidth, as sizes do not depend
/// on it.
MemoryTiers memory_tiers(const Problem& problem, const LayerCosts& costs);

/// Columns that lengthen a time through memory when the second tier is in use; empty unless
/// its use is open.
struct SpillMatrices {
  MilpMatrix kernels;  ///< kernel k is in p, and the second tier is in use
  MilpMatrix tensors;  ///< exactly one end of tensor e is, and likewise
};

/// Adds columns L and rows (10) and (12), and with tiers of either kind columns F and
/// Q and rows (17), for the kernels and tensors that `slower` takes longer for than
/// `costs` does.
SpillMatrices add_memory_rows(const Problem& problem, const LayerCosts& costs,
                              const LayerCosts* slower, const MilpNames& names,
                              const FusionMatrices& fusion, LinearModel& model);

}  // namespace dfsearch
