#pragma once
// Duals of large graphs of which a small frontier is of interest at any time.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "engine/duals/column_generation.hpp"
#include "engine/duals/frontier_pricing.hpp"
#include "engine/duals/partition_duals.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// The pricing of all kernels, those that never share a partition apart from each other; kernels
/// that share none with any are in none.  Where most kernels are alike sets may need less SRAM than
/// they do.  Nothing if a frontier is too wide.  Throws Stopped by the deadline of the tables.
[[nodiscard]] std::optional<std::vector<FrontierPricing>> frontier_pricings(
    const FusionTables& tables);

/// Duals that no set undercuts which SRAM holds, with gaps or without (docs/duals.md, section 7).
class FrontierDualSearch final : public ColumnGeneration {
 public:
  /// Ended at once if a frontier is too wide, or if there are too many classes for the linear
  /// program.
  explicit FrontierDualSearch(const FusionTables& tables);

 private:
  void begin_pricing() override;
  void price() override;

  [[nodiscard]] Duals lower_duals() const;
  void prove();
  void keep(PartitionDuals duals);
  [[nodiscard]] bool is_none_overpaid(const Duals& duals, std::size_t beam);
  enum class Met : std::uint8_t { Some, None, OutOfSteps, TooMany };
  [[nodiscard]] Met add_overpaid(const Duals& duals, std::size_t beam);
  [[nodiscard]] PartitionDuals made_right(const Duals& proved) const;

  // Partial sets kept while that finds any; then all of them are.  What these find a beam has missed:
  // the next ones are so many times as wide.
  static constexpr std::size_t kBeam = 64;
  static constexpr std::size_t kWider = 8;

  std::vector<FrontierPricing> frontiers_;
  std::size_t beam_ = kBeam;                                // width
  bool is_by_beam_ = true;                                  // until that finds nothing
  std::size_t spared_ = 0;                                  // place
  FineTicks best_ = std::numeric_limits<FineTicks>::min();  // proved bound of all kernels
};

}  // namespace dfsearch
