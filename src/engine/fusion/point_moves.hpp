#pragma once
// Better fusions and the duals of one point of the search, found slice by slice beside its tree.

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>

#include "engine/duals/column_generation.hpp"
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

/// The duals of some tables, to which it refers.  Any thread may use it.
class PointDuals {
 public:
  explicit PointDuals(const FusionTables& tables);

  /// The best duals that were published; null: none.  They live as long as this does.
  [[nodiscard]] const PartitionDuals* known() const {
    return known_.load(std::memory_order_acquire);
  }

  /// Claims the slice that is due after this work of the tree, and returns its work; 0: none is
  /// due, or another thread has the claim.
  [[nodiscard]] Work claim(Work tree) { return slices_.claim(tree); }
  /// Runs the claimed slice.  Throws Stopped by the deadline of the tables; after that nothing more
  /// is found.
  void run(Work slice);
  /// Publishes the duals that the slice has proved, and gives the claim back.
  void publish();

 private:
  const FusionTables& tables_;
  EffortSlices slices_{Technique::Duals};
  // Belongs to the thread that has the claim.
  std::unique_ptr<ColumnGeneration> search_;  // null: not begun
  std::optional<PartitionDuals> proved_;      // not published yet
  Work spent_ = 0;                            // by the slice
  std::list<PartitionDuals> published_;
  std::atomic<const PartitionDuals*> known_{nullptr};
};

}  // namespace dfsearch
