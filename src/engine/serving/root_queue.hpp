#pragma once
// Roots of a search for deployments in the order of their bounds: chains that aggregate, and pairs
// of chains, which are generated one by one.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/serving/incumbents.hpp"
#include "engine/serving/quick_bound.hpp"

namespace dfsearch::serving {

/// All batches of a chain, alone or with one that prefills.
struct Root {
  const Chain* chain = nullptr;
  const PrefillChain* prefill = nullptr;  ///< null for Aggregated
  double quick = 0.0;                     ///< (25)
};

/// A queue of the roots that are left.  Any thread may use it.
class RootQueue {
 public:
  RootQueue(const DeploymentSpace& space, const QuickBound& bound) : space_(space), bound_(bound) {}

  void add_aggregated(const Chain& chain);
  void add_pairs(const std::vector<Chain>& decoders, const std::vector<PrefillChain>& prefillers);
  /// The root with the least bound that `is_beaten` does not close; nothing if none is left.  Adds
  /// the number of roots that were closed to `closed`.
  std::optional<Root> pop(const std::function<bool(const LeastFigures&)>& is_beaten,
                          std::int64_t& closed);
  /// The least bound of all remaining roots; infinity if none remains.
  [[nodiscard]] double least() const;
  [[nodiscard]] std::int64_t size() const;
  /// Bounds of the remaining roots, one for each chain that decodes.
  [[nodiscard]] std::vector<LeastFigures> left() const;

 private:
  /// Chains of one pool and precision that prefill, in the order of their bounds.
  struct Group {
    std::vector<const PrefillChain*> chains;
    std::vector<SideBound> sides;
    std::vector<SideBound> rest;  ///< component-wise minimum of this side and all after it
  };
  /// Pairs of a chain that decodes with the chains of a group from `next` on.
  struct Row {
    const Chain* chain = nullptr;
    const Group* group = nullptr;  ///< null for Aggregated
    SideBound side;
    double there = 0.0;
    std::size_t next = 0;
    double bound = 0.0;  ///< of all roots that are left in the row

    [[nodiscard]] std::size_t left() const { return group ? group->chains.size() - next : 1; }
  };

  void push(Row row);
  [[nodiscard]] LeastFigures least_of(const Row& row) const;

  const DeploymentSpace& space_;
  const QuickBound& bound_;
  std::vector<std::vector<Group>> groups_;  // by pool and precision
  mutable std::mutex mutex_;                // guards the members below
  std::vector<Row> rows_;                   // a heap, the least bound first
  std::int64_t size_ = 0;
};

}  // namespace dfsearch::serving
