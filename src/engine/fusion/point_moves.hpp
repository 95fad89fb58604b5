#pragma once
// Better fusions of one point of the search, found slice by slice beside its tree.

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/fusion/move_fusion.hpp"
#include "engine/tree/effort.hpp"

namespace dfsearch {

/// Simulated annealing that starts from the best segments of some tables.  Refers to the tables.
/// Any thread may use it.
class PointMoves {
 public:
  explicit PointMoves(const FusionTables& tables);

  /// Claims the slice that is due once the tree has done the work `tree`, and returns the work of
  /// the slice; 0 if none is due or another thread has the claim.
  [[nodiscard]] Work claim(Work tree) { return slices_.claim(tree); }
  /// Runs the claimed slice; returns a fusion that is better than all before, if it finds one.
  /// Throws Stopped by the deadline of the tables.
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
  std::unique_ptr<MoveSearch> moves_;  // null before the first slice
  std::uint64_t walks_ = 1;            // walks begun so far
  Work cut_ = 0;                       // work of the last cut
  Work moved_ = 0;                     // work of moves since the last cut
  Ticks best_ = kNever;                // time of the best fusion so far
  Work spent_ = 0;                     // work of the slice
};

}  // namespace dfsearch
