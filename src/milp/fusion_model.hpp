#pragma once
// The fusion of a layer as a mixed-integer linear program, as DFModel formulates it
// (docs/milp.md).

#include "milp/linear_model.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The program of the fusion, and of the cores unless a utilization is given, for
/// decided network, sharding (one loop for every kernel), micro-batch and tile.  Its
/// optimum times `unit` is the least time of a layer in seconds; it is infeasible when
/// no mapping fits.  Throws InputError when the model would have more than
/// `kMostColumns` columns.
LinearModel fusion_model(const Problem& problem, const LayerDecisions& decisions);

inline constexpr std::int64_t kMostColumns = 5'000'000;

/// The program of the sharding; its optimum times `unit` is the communicated bytes.
LinearModel sharding_model(const Problem& problem);

}  // namespace dfsearch
