#pragma once
// Duals of large graphs of kernels that are mostly alike: experts, tables, heads.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/duals/covering_lp.hpp"
#include "engine/duals/frontier_pricing.hpp"
#include "engine/duals/partition_duals.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {

/// What sets are looked for: for a bound they may need less SRAM than they do.
enum class FrontierUse : std::uint8_t { Bound, Fusion };

/// Whether there are few looks of many kernels each: only then a search for these duals pays.
[[nodiscard]] bool are_mostly_alike(const FusionTables& tables);

/// The pricing of all kernels, those that never share a partition apart from each other; kernels
/// that share none with any are in none.  Nothing if a frontier is too wide.  Throws Stopped by the
/// deadline of the tables.
[[nodiscard]] std::optional<std::vector<FrontierPricing>> frontier_pricings(
    const FusionTables& tables, FrontierUse use);

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
  /// Adds the sets that are overpaid, all there are; false if there are none or the steps are over.
  bool add_overpaid(const Duals& duals, const KernelSet& done, std::size_t beam,
                    std::int64_t& steps);
  /// No more than a partition of this kernel takes.
  [[nodiscard]] Ticks alone(std::size_t p) const;
  [[nodiscard]] const PartitionRules& rules() const { return rules_; }

 private:
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
  std::vector<std::vector<std::size_t>> alike_;
  bool adds_up_ = true;  // times are short enough
  std::vector<Column> columns_;
  Duals duals_;
};

/// Duals that no set undercuts which SRAM holds, with gaps or without (docs/duals.md, section 8);
/// nothing if that takes more steps, which it counts down.  A function of the tables.  Throws
/// Stopped by their deadline.
[[nodiscard]] std::optional<PartitionDuals> frontier_duals(const FusionTables& tables,
                                                           std::int64_t& steps);

}  // namespace dfsearch
