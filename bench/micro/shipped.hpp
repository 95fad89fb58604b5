#pragma once
// The problems that the micro benchmarks run on, solved once.
//
// Shipped configs where it matters: synthetic graphs have neither the symmetry
// nor the long residual tensors that make real layers easy or hard, and made-up
// extents would miss what ceilings do to tiles and to grids of cores.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "engine/solve.hpp"
#include "io/config/load_config.hpp"

namespace dfsearch::bench {

inline constexpr const char* kTraining = "configs/gpt3_1t";  // 41 kernels, six partitions
inline constexpr const char* kCores = "configs/gpt3_1t_core_allocation";   // cores allocated
inline constexpr const char* kPrefill = "configs/gpt3_175b_dataflow_8x1";  // 18 kernels
inline constexpr const char* kExperts = "bench/instances/experts_8";       // 26 kernels, wide

/// `name` is a path in the repository, without its .yaml.
Config load_shipped(const std::string& name);

/// A config with its best mapping.
struct Solved {
  Config config;
  Mapping best;
  Ticks layer = 0;  ///< of the best mapping
  OuterPoint point;
  LayerDecisions decisions;  ///< at that point

  [[nodiscard]] const Problem& problem() const { return config.problem; }
  [[nodiscard]] const DataflowGraph& graph() const { return config.problem.workload.graph; }
};

/// Solves at the first call and keeps the result; one thread.
const Solved& solved(const std::string& name);

/// The tables of the point where the best mapping is.
FusionTables tables_of(const Solved& solved);

/// Positions of the kernels of the fullest partition of the best mapping.
std::vector<std::size_t> fullest_partition(const Solved& solved, const FusionTables& tables);

}  // namespace dfsearch::bench
