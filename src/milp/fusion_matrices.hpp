#pragma once
// The assignment of kernels to partitions, as columns and rows: the part of the fusion's linear
// program without capacities and times (docs/milp.md, rows 1 to 9).

#include <cstdint>
#include <vector>

#include "milp/column_names.hpp"
#include "milp/linear_model.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// A matrix of columns: a row for each kernel or tensor, an entry for each partition.
using MilpMatrix = std::vector<std::vector<Affine>>;

/// The entry of a partition, which is 0 before the first partition.
inline Affine entry_of(const MilpMatrix& matrix, std::size_t row, std::int64_t partition) {
  return partition < 0 ? Affine{} : matrix[row][static_cast<std::size_t>(partition)];
}

struct FusionMatrices {
  std::int64_t partitions = 0;
  MilpMatrix a;  ///< kernel k is in p
  MilpMatrix h;  ///< kernel k is in one of 0..p
  MilpMatrix b;  ///< both ends of tensor e are in p
  MilpMatrix d;  ///< exactly one end of tensor e is in p
  /// For each kernel whether it overflows SRAM by itself but fits alone in a partition, with its
  /// weight cut into pieces.  Rows keep all other kernels out of this partition, so SRAM rows omit
  /// the kernel.
  std::vector<bool> lonely;
};

/// Adds the columns and their rows to the model.
FusionMatrices add_fusion_matrices(const Problem& problem, const LayerCosts& costs,
                                   const MilpNames& names, LinearModel& model);

/// Number of partitions that a mapping may need; later indices are useless.
std::int64_t useful_partitions(const Problem& problem);

}  // namespace dfsearch
