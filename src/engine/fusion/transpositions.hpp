#pragma once
// What is known of order ideals that were reached before: the transposition
// table of the fusion search.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/allowance.hpp"
#include "engine/tables/search_bounds.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Two nodes between partitions with the same done kernels have the same
/// completions, except that the one with the greater next index has fewer.  So
/// one dominates the other if it is no later in time and index and, where the
/// times are equal, its partitions are fewer or as many and first in the order of
/// ties.  Any thread; a full table, and any table where memory is tight, forgets nothing and
/// learns nothing.  Where the tables' order is by orbits, sets of done kernels that exchanges make
/// of each other count as the same, and of nodes that are then equal any will do.
/// Without SearchBound::Transpositions it learns nothing from the start.
class Transpositions {
 public:
  explicit Transpositions(const FusionTree& search, SearchBounds bounds = {},
                          const Allowance& allowance = {})
      : search_(search), learns_(bounds.use(SearchBound::Transpositions)), allowance_(allowance) {}
  ~Transpositions();
  Transpositions(const Transpositions&) = delete;
  Transpositions& operator=(const Transpositions&) = delete;

  /// False if a node seen before dominates this one, else remembers it.  A node
  /// that is offered again is still welcome.
  bool admit(const FusionNode& node);

  /// True if a node seen later dominates this one, which had been admitted.
  [[nodiscard]] bool superseded(const FusionNode& node) const;

  /// Distinct order ideals met.
  [[nodiscard]] std::int64_t ideals() const;

 private:
  struct Reached {
    Ticks spent = 0;
    std::int32_t next_index = 0;
    std::int32_t used = 0;
    std::shared_ptr<const ClosedPartition> closed;
  };
  using Front = std::vector<Reached>;  // none dominates another

  struct Stripe {
    mutable std::mutex mutex;
    std::unordered_map<KernelSet, Front, KernelSetHash> fronts;  // guarded by mutex
  };

  static constexpr std::size_t kStripes = 64;
  static constexpr std::size_t kStripeLimit = std::size_t{1} << 16;

  [[nodiscard]] KernelSet key_of(const FusionNode& node) const;
  static std::size_t bytes_of(const KernelSet& done);
  static Reached reached_by(const FusionNode& node);
  [[nodiscard]] bool dominates(const Reached& a, const Reached& b) const;
  [[nodiscard]] const Stripe& stripe_of(const KernelSet& done) const {
    return stripes_[(done.hash() >> 48) % kStripes];
  }

  const FusionTree& search_;
  const bool learns_;
  const Allowance allowance_;
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace dfsearch
