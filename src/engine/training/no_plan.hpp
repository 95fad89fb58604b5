#pragma once
// Why a task has no plan at all, whatever memory holds.

#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "engine/training/plan_space.hpp"

namespace dfsearch::training {

struct NoPlan {
  /// Keys without whose values, each alone left out, there are plans.
  std::vector<std::string> pins;
  /// All that keeps the framework from the plan that it lacks least of; only if there are plans
  /// without a framework.
  std::vector<std::string_view> lacks;
  /// The framework lacks nothing of some plan, but its ranks are numbered in another order.
  bool other_ranks = false;
};

/// Throws Stopped.
NoPlan why_no_plan(const Task& task, const Deadline& deadline);

}  // namespace dfsearch::training
