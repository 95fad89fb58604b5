#pragma once
// The duals of one point of the search, found slice by slice beside its tree.

#include <atomic>
#include <list>
#include <memory>
#include <optional>

#include "engine/duals/column_generation.hpp"
#include "engine/tree/effort.hpp"

namespace dfsearch {

/// The duals of some tables.  Refers to the tables.  Any thread may use it.
class PointDuals {
 public:
  explicit PointDuals(const FusionTables& tables);

  /// The best duals that were published; null if there are none.  They live as long as this object.
  [[nodiscard]] const PartitionDuals* known() const {
    return known_.load(std::memory_order_acquire);
  }

  /// Claims the slice that is due once the tree has done the work `tree`, and returns the work of
  /// the slice; 0 if none is due or another thread has the claim.
  [[nodiscard]] Work claim(Work tree) { return slices_.claim(tree); }
  /// Runs the claimed slice.  Throws Stopped by the deadline of the tables; after that no slice is
  /// due any more.
  void run(Work slice);
  /// Publishes the duals that the slice has proved, and gives the claim back.
  void publish();

 private:
  const FusionTables& tables_;
  EffortSlices slices_{Technique::Duals};
  // Belongs to the thread that has the claim.
  std::unique_ptr<ColumnGeneration> search_;  // null before it begins and after it ends
  std::optional<PartitionDuals> proved_;      // not published yet
  Work spent_ = 0;                            // work of the slice
  std::list<PartitionDuals> published_;
  std::atomic<const PartitionDuals*> known_{nullptr};
};

}  // namespace dfsearch
