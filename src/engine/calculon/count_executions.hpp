#pragma once
// The whole space, one execution after the other: how many there are, and why none fits.

#include <cstdint>
#include <optional>

#include "base/deadline.hpp"
#include "engine/calculon/execution_space.hpp"
#include "model/calculon/evaluate.hpp"

namespace dfsearch::calculon {

/// The number of executions to choose from, the greatest integer if there are more.  Throws
/// Stopped when the deadline has passed.
std::int64_t count_candidates(const Task& task, const Deadline& deadline);

/// The number of those that fit: memory does not depend on networks, so each is looked at up to
/// its networks, and these are counted.  Throws Stopped.
std::int64_t count_feasible(const Task& task, const Deadline& deadline);

/// The execution that is the nearest to fitting, and why it does not.
struct NearestMisfit {
  Execution execution;
  Misfit misfit;
};

/// For a task of which nothing fits.  Nothing: there is no candidate at all.  An execution that
/// fits in memory is nearer than any that does not; then the least ratio of what is needed to what
/// is available; then the order of ties.  Throws Stopped.
std::optional<NearestMisfit> nearest_misfit(const Task& task, const Deadline& deadline);

}  // namespace dfsearch::calculon
