#pragma once
// A good fusion becomes better window by window: large neighbourhoods, each searched exactly.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/fusion/open_partition.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Improves a fusion bit by bit: what is found is a function of the tables, to which it refers,
/// and the beginning.  Used by one thread.
class WindowSearch {
 public:
  /// `start` is a fusion of these tables, which have no pins.
  WindowSearch(const FusionTables& tables, const Fusion& start);

  /// Whether there is anything to search.
  [[nodiscard]] static bool is_possible(const FusionTables& tables);

  /// Goes on for about so many steps of an enumeration.  True once no window is left that might
  /// bring anything.  Throws Stopped by the deadline of the tables; what was found until
  /// then remains.  Calls `between`, if there is any, now and then.
  bool advance(std::int64_t steps, const std::function<void()>& between = {});

  [[nodiscard]] Ticks time() const { return time_; }
  [[nodiscard]] Fusion best() const;

 private:
  using Places = std::vector<std::size_t>;  // of parts, ascending
  struct Part {
    KernelSet kernels;
    std::int64_t size = 0;
    Ticks time = 0;
    bool forward = false;
    bool backward = false;
    Places inputs{};   // parts that it reads from, and
    Places outputs{};  // that read from it
  };
  enum class Kind : std::uint8_t { Joined, Consecutive };

  [[nodiscard]] Part part_of(KernelSet&& kernels, OpenPartition& open) const;
  void index_parts();
  void join_parts();
  [[nodiscard]] Places window(std::size_t seed, Kind kind) const;
  [[nodiscard]] Places closed(const Places& places) const;
  [[nodiscard]] std::vector<bool> after(const Places& places) const;
  [[nodiscard]] bool follows(std::size_t place, const std::vector<bool>& marked,
                             bool forward) const;
  [[nodiscard]] bool precedes(std::size_t place, const std::vector<bool>& marked,
                              bool backward) const;
  [[nodiscard]] std::size_t joined_most(const Places& places,
                                        const std::vector<bool>& refused) const;
  [[nodiscard]] std::int64_t size(const Places& places) const;
  [[nodiscard]] std::int64_t partitions_for(const Places& places) const;
  std::int64_t search(const Places& places, const std::function<void()>& between);
  bool replace(const Places& places, const std::vector<std::vector<std::size_t>>& by);
  [[nodiscard]] bool is_allowed(const std::vector<Part>& parts) const;

  const FusionTables& tables_;
  const PartitionRules rules_;
  std::vector<Part> parts_;              // in an order in which they may run
  std::vector<std::uint32_t> place_of_;  // of each kernel
  Ticks time_ = 0;                       // of all
  std::int64_t most_;                    // kernels of a window
  std::size_t seed_ = 0;
  Kind kind_ = Kind::Joined;
  std::int64_t since_better_ = 0;  // windows
};

}  // namespace dfsearch
