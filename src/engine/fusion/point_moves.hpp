#pragma once
// Better fusions of one point of the search, found slice by slice beside its tree.

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/fusion/move_fusion.hpp"
#include "engine/tree/effort.hpp"

namespace dfsearch {

/// Simulated annealing of the best segments of some tables, to which it refers.  Any thread may use
/// it.
class PointMoves {
 public:
  explicit PointMoves(const FusionTables& tables);

  /// Claims the slice that is due after this work of the tree, and returns its work; 0: none is
  /// due, or another thread has the claim.
  [[nodiscard]] Work claim(Work tree) { return slices_.claim(tree); }
  /// Runs the claimed slice: a fusion better than all before, or null.  Throws Stopped by the
  /// deadline of the tables.
  [[nodiscard]] std::optional<Fusion> run(Work slice);
  /// Gives the claim back.
  void publish();

 private:
  [[nodiscard]] bool begin(Work& work);
  void cut_again(Work& work);

  const FusionTables& tables_;
  EffortSlices slices_{Technique::Moves};
  // Belongs to the thread that has the claim.
  std::optional<Fusion> first_;        // the best segments
  std::unique_ptr<MoveSearch> moves_;  // null: not begun
  std::uint64_t walks_ = 1;            // that have begun
  Work cut_ = 0;                       // taken by the last cut
  Work moved_ = 0;                     // by moves since then
  Ticks best_ = kNever;                // time of the best fusion so far
  Work spent_ = 0;                     // by the slice
};

}  // namespace dfsearch
