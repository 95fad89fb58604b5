#pragma once
// Times of the parts of a task for the search of plans.  Kernels run one by one have the times of
// their profile; fused kernels have a bound at once, and their least time by a search of mappings
// on demand.

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/deadline.hpp"
#include "model/training/block.hpp"
#include "model/training/fused_part.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/plan.hpp"
#include "model/training/profile.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// Any thread may call it.  Refers to the task, the blocks and the shelf.  All functions throw
/// Stopped.
class LayerTimes {
 public:
  LayerTimes(const Task& task, const Blocks& blocks, LayoutShelf& shelf)
      : task_(task), blocks_(blocks), shelf_(shelf) {}

  /// Lower bounds on the times of any fusion in each pass of a plan with these decisions; layers,
  /// network and decisions that only memory depends on are ignored.  For a plan without a schedule
  /// the bound covers all passes together under any schedule.  Exact where kernels run one by one.
  Profiles floor(const Plan& plan, const Deadline& deadline);
  Profiles least(const Plan& plan, const Deadline& deadline);
  /// The fusion of least time for each part of a plan.  Of equal fusions it is the first in the
  /// order of mappings.  It is empty where kernels run one by one.
  Fusions fusions(const Plan& plan, const Deadline& deadline);

  /// Number of passes of parts whose fusion was searched so far.
  [[nodiscard]] std::int64_t searched() const { return searched_; }

 private:
  struct Key {
    Part part;
    std::int64_t tensor, context, expert;
    TensorLayout layout;
    std::int64_t micro_batch;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    std::mutex making;
    // Guarded by `making`; written once.
    std::unique_ptr<const FusedPart> part;
    std::array<BlockProfile, 2> floor;                 ///< second: with gradients that wait
    std::array<std::optional<BlockProfile>, 2> least;  ///< second: with gradients that wait
    // The fusion of each pass, guarded by a mutex of its own; written once.
    std::array<std::mutex, kFusedKinds.size()> searching;
    std::array<bool, kFusedKinds.size()> is_searched{};
    PartFusion fusion;
  };
  Entry& entry(Part part, const Degrees& degrees, TensorLayout layout, std::int64_t micro_batch,
               const Deadline& deadline);
  /// Whether to wait for passes that another thread is searching.
  enum class Others : std::uint8_t { Skip, Await };
  void search(Entry& entry, Schedule schedule, Others others, const Deadline& deadline);
  /// The profiles of the parts that the model has, each computed by `profile_of` from its entry.
  template <class ProfileOf>
  Profiles profiles(const Plan& plan, const Deadline& deadline, const ProfileOf& profile_of);

  const Task& task_;
  const Blocks& blocks_;
  LayoutShelf& shelf_;
  std::mutex mutex_;
  std::map<Key, Entry> entries_;  // guarded by mutex_; references to entries stay valid
  std::atomic<std::int64_t> searched_{0};
};

}  // namespace dfsearch::training
