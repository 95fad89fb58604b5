#pragma once
// The transposition table of the fusion search: for each order ideal the nodes that reached it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <span>
#include <unordered_map>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/effort.hpp"
#include "engine/tables/search_bounds.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Two nodes without an open partition and with the same done kernels have the same completions,
/// except that the node with the greater next index may have fewer.  So a node dominates another
/// one if its time and its next index are no greater.  Sets of done kernels that an exchange of
/// kernels maps to each other have one entry.  Any thread may call.  A table that is full, or that
/// has used its share of the memory, keeps its entries and takes no new ones; without
/// SearchBound::Transpositions it takes none at all.
class Transpositions {
 public:
  explicit Transpositions(const FusionTree& search, SearchBounds bounds = {},
                          const Allowance& allowance = {})
      : search_(search), learns_(bounds.use(SearchBound::Transpositions)), allowance_(allowance) {}
  ~Transpositions();
  Transpositions(const Transpositions&) = delete;
  Transpositions& operator=(const Transpositions&) = delete;

  /// Returns false if a stored node dominates this one.  Otherwise stores the node, unless it is
  /// stored already or the table is full, and returns true.
  bool admit(const FusionNode& node);

  /// Whether a node that was stored later dominates this node, which must have been admitted.
  [[nodiscard]] bool superseded(const FusionNode& node) const;

  /// Number of distinct order ideals that are stored.
  [[nodiscard]] std::int64_t ideals() const;

 private:
  struct Reached {
    Ticks spent = 0;
    std::int32_t next_index = 0;
    std::shared_ptr<const ClosedPartition> closed;
  };
  using Front = std::pmr::vector<Reached>;  // none dominates another

  /// The set of done kernels as words, not owned.
  struct Ideal {
    std::span<const std::uint64_t> done;
    std::size_t hash = 0;
    friend bool operator==(const Ideal& a, const Ideal& b) {
      return a.hash == b.hash && std::equal(a.done.begin(), a.done.end(), b.done.begin());
    }
  };
  struct IdealHash {
    std::size_t operator()(const Ideal& ideal) const { return ideal.hash; }
  };

  static constexpr std::size_t kFirstRoom = 256;  // bytes: most points have few ideals
  /// Guarded by its mutex.  All stripes together may have hundreds of thousands of fronts.  Fronts
  /// are never erased one by one: the arena frees all fronts and their ideals at once.
  struct Stripe {
    mutable std::mutex mutex;
    std::pmr::monotonic_buffer_resource arena{kFirstRoom};
    std::pmr::unordered_map<Ideal, Front, IdealHash> fronts{&arena};
  };

  static constexpr std::size_t kStripes = 64;
  static constexpr std::size_t kStripeLimit = std::size_t{1} << 16;
  /// A stripe that has this number of fronts reserves space for kStripeLimit, since rehashing more
  /// fronts later would block the threads that wait for the mutex.
  static constexpr std::size_t kFewFronts = std::size_t{1} << 10;

  [[nodiscard]] Ideal ideal_of(const FusionNode& node, KernelSet& representative) const;
  static std::size_t bytes_of(const Ideal& ideal);
  static Ideal kept_in(Stripe& stripe, const Ideal& ideal);
  static Reached reached_by(const FusionNode& node);
  [[nodiscard]] static bool dominates(const Reached& a, const Reached& b) {
    return a.spent <= b.spent && a.next_index <= b.next_index;
  }
  [[nodiscard]] static std::size_t stripe_of(const Ideal& ideal) {
    return (ideal.hash >> 48) % kStripes;
  }

  const FusionTree& search_;
  const bool learns_;
  const Allowance allowance_;
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace dfsearch
