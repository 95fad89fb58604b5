#pragma once
// Label pricing: finds sets of kernels that cost less than their duals, in graphs with a small
// frontier.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/duals/path_decomposition.hpp"
#include "engine/duals/reduced_cost_weights.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tree/effort.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// The bounds of the last call, kept to reuse their memory.  Pricings that share this object are
/// called one after the other.
struct CompletionBounds {
  std::vector<CompletionBound> bounds;
  MemoryCharge memory;  ///< of the bounds
};

class LabelSearch;

/// Finds sets of kernels that fit into SRAM and whose duals exceed their time and charge.  The time
/// of a set is the greatest of its sums of KernelParts.  Sets with gaps on a path from one kernel
/// to another are included, and the number of cores is ignored.  Refers to the tables.  Used by one
/// thread.
class LabelPricing {
 public:
  /// `path` has kernels of `group` (PartitionRules).
  LabelPricing(const FusionTables& tables, PathDecomposition path, std::size_t group,
               std::shared_ptr<CompletionBounds> room);
  LabelPricing(LabelPricing&&) noexcept;
  ~LabelPricing();

  /// TooMany: there are too many partial sets, and more work would not help.
  enum class Status : std::uint8_t { Complete, OutOfWork, TooMany };
  struct Columns {
    std::vector<PartitionColumn> partitions;  ///< first the partition of greatest excess
    Status end = Status::Complete;
  };
  /// Finds sets with more excess than the noise, first sets that share no kernels.  For each state
  /// of the frontier `beam` partial sets are kept; if `beam` is 0, all partial sets are kept that
  /// no other dominates.  Only one of several sets with equal size, SRAM and excess is found.  If a
  /// call without a beam is Complete and finds no set, none exists.  Counts `work` down; after
  /// OutOfWork the next call, with the same duals and beam, continues.  Throws Stopped by the
  /// deadline of the tables.
  [[nodiscard]] Columns find(const Duals& duals, std::size_t beam, Work& work);

  /// The greatest excess that `find` ignores.  It is not 0, since many sets have reduced cost zero.
  [[nodiscard]] FineTicks noise(const Duals& duals) const;

  [[nodiscard]] const PathDecomposition& path() const { return path_; }
  [[nodiscard]] std::size_t group() const { return group_; }

 private:
  const FusionTables& tables_;
  PathDecomposition path_;
  std::size_t group_;
  std::vector<std::size_t> timed_;  // parts that take any time
  std::shared_ptr<CompletionBounds> room_;
  std::unique_ptr<LabelSearch> search_;  // null unless the last call is unfinished
};

/// Pareto archive of excesses.  A query returns whether some excess in it is no less than a given
/// one in every part.  At most two parts matter in nearly all excesses; a query for one of these
/// takes logarithmic time.  Used by one thread.
class LabelDominance {
 public:
  void clear();
  void add(const PartExcess& excess);
  /// The query; adds the number of its comparisons to `comparisons`.
  [[nodiscard]] bool has_as_great(const PartExcess& excess, std::int64_t& comparisons) const;

 private:
  struct Point {
    FineTicks first = 0;
    FineTicks second = 0;
  };
  /// Sorted by descending `first`, so that `second` ascends.
  using Front = std::vector<Point>;
  static constexpr std::size_t kKinds = std::size_t{1} << std::tuple_size_v<PartExcess>;

  std::vector<PartExcess> all_;
  /// Front of each kind; a kind is the set of the one or two parts that matter to an excess.
  std::array<Front, kKinds> fronts_;
};

}  // namespace dfsearch
