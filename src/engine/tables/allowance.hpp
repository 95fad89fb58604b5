#pragma once
// What a piece of work may take.

#include <cstddef>

#include "base/deadline.hpp"
#include "base/memory_budget.hpp"
#include "engine/tables/effort.hpp"

namespace dfsearch {

/// Handed down from a solve to all trees and tables that it builds.
struct Allowance {
  Deadline deadline{};
  MemoryBudget* memory = nullptr;     ///< null: no limit, nothing is counted
  EffortCounters* efforts = nullptr;  ///< null: nothing is counted

  /// The same for a part of what a counted call does: that alone counts.
  [[nodiscard]] Allowance uncounted() const { return {.deadline = deadline, .memory = memory}; }
  [[nodiscard]] MemoryCharge charge(std::size_t bytes) const { return {memory, bytes}; }
  /// Whether so many bytes more would be too many.
  [[nodiscard]] bool is_tight(std::size_t more = 0) const {
    return memory != nullptr && memory->is_tight(more);
  }
};

}  // namespace dfsearch
