#pragma once
// The linear program of column generation, in terms of kernels and partitions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/duals/covering_lp.hpp"
#include "engine/duals/duals.hpp"
#include "engine/duals/kernel_classes.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// Covers the kernels with the partitions known so far, at first each kernel alone, and proposes
/// duals, the same for all kernels of a class.  Refers to the tables.  Used by one thread.
class ColumnProgram {
 public:
  /// `alike` are the kernels of each class.
  ColumnProgram(const FusionTables& tables, KernelClasses alike);

  /// As CoveringLp::solve; fails too if times are too long to be added up.
  [[nodiscard]] CoveringLp::Outcome solve(Work& work);
  /// The duals of the last solution.
  [[nodiscard]] const Duals& duals() const { return duals_; }

  void add(const PartitionColumn& partition);

 private:
  [[nodiscard]] bool take_duals();

  const FusionTables& tables_;
  KernelClasses alike_;
  std::vector<std::uint32_t> class_of_;
  std::optional<CoveringLp> program_;
  Duals duals_;
};

}  // namespace dfsearch
