#pragma once
// What partitions of the kernels that are left are worth: for mappings that are made one partition
// after the other.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/duals/covering_lp.hpp"
#include "engine/duals/frontier_pricing.hpp"
#include "engine/duals/kernel_classes.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {

/// The linear program over the sets that were met, for some of the kernels; kernels that look alike
/// have the same dual wherever they are.  Refers to the tables and the pricings.  Used by one thread.
class FrontierProgram {
 public:
  FrontierProgram(const FusionTables& tables, std::vector<FrontierPricing>& pricings);

  /// Solves for the kernels that are not done, with all sets of them that beams of partial sets
  /// find.  False if that takes more steps, which it counts down, or times are too long.
  bool solve(const KernelSet& done, std::int64_t& steps);
  /// The sum of all duals when these are done, with the sets that were met.
  [[nodiscard]] std::optional<FineTicks> value(const KernelSet& done, std::int64_t& steps);
  /// Of the last solution.
  [[nodiscard]] const Duals& duals() const { return duals_; }

 private:
  [[nodiscard]] Ticks alone(std::size_t p) const;
  bool add_overpaid(const KernelSet& done, std::size_t beam, std::int64_t& steps);
  struct Column {
    std::vector<CoveringLp::Count> counts;  // of classes
    std::size_t group = 0;
    Ticks time = 0;
  };
  [[nodiscard]] bool solve_once(const KernelSet& done, std::int64_t& steps);

  const FusionTables& tables_;
  const PartitionRules rules_;
  std::vector<FrontierPricing>& pricings_;
  std::vector<std::uint32_t> class_of_;
  KernelClasses alike_;
  bool adds_up_ = true;  // times are short enough
  std::vector<Column> columns_;
  Duals duals_;
};

}  // namespace dfsearch
