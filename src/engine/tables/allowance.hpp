#pragma once
// Limits on the resources of a piece of work.

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

  /// Equal limits for a part of a counted call, whose work the call counts already.
  [[nodiscard]] Allowance uncounted() const { return {.deadline = deadline, .memory = memory}; }
  [[nodiscard]] MemoryCharge charge(std::size_t bytes) const { return {memory, bytes}; }
  /// Whether `more` bytes would exceed the limit.
  [[nodiscard]] bool is_tight(std::size_t more = 0) const {
    return memory != nullptr && memory->is_tight(more);
  }
};

}  // namespace dfsearch
