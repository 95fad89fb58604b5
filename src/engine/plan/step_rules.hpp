#pragma once
// The interface between the search for a whole step and its equations.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "engine/tree/search_problem.hpp"

namespace dfsearch {

/// The decisions of a step as numbers, in the order in which they are taken: each is a value or the
/// index of a value in its domain.  Among equal costs the lexicographically least list wins.
using Decisions = std::vector<std::int64_t>;

/// A step with its decisions up to a level.
struct PlanNode {
  int level = 0;  ///< 0: no decision is taken
  Decisions taken;
  Score bound{};
  std::vector<Score> below;  ///< bounds of the children if they are known, else empty
};

/// A whole step that fits.
struct PlanSolution {
  Decisions decisions;
  Score cost{};
};

/// Whether these decisions begin with one of the excluded lists of degrees.
inline bool excludes(std::span<const Decisions> excluded, const Decisions& decisions) {
  return std::any_of(excluded.begin(), excluded.end(), [&](const Decisions& degrees) {
    return degrees.size() <= decisions.size() &&
           std::equal(degrees.begin(), degrees.end(), decisions.begin());
  });
}

/// State of the search that the rules read, and the receiver of the children of a node.
struct PlanBranching {
  Expansion<PlanNode, PlanSolution>& into;
  const Deadline& deadline;
  /// Degrees whose steps are no solutions.
  std::span<const Decisions> excluded;

  [[nodiscard]] bool excludes(const Decisions& decisions) const {
    return dfsearch::excludes(excluded, decisions);
  }
};

/// The equations of a step: its decisions, level by level, and a floor for each node.  All
/// functions are const and called by many threads at once.
class StepRules {
 public:
  virtual ~StepRules() = default;

  [[nodiscard]] virtual PlanNode root() const { return {}; }
  /// The number of decisions that are degrees of the parallelism; they come first.
  [[nodiscard]] virtual std::size_t degrees() const = 0;
  /// Emits the children of a node, each with a bound that is no less than the bound of the node, or
  /// solutions.  Throws Stopped when the deadline has passed.
  virtual void branch(const PlanNode& node, const PlanBranching& branching) const = 0;
  /// Whether the tree contains a node that comes from a file; bounds are not compared.
  [[nodiscard]] virtual bool has(const PlanNode& node) const = 0;
  /// The cost of all decisions together; nothing if there is no such step or if it does not fit.
  [[nodiscard]] virtual std::optional<Score> cost(const Decisions& decisions) const = 0;
  /// Among steps of equal cost the least tie wins, then the order of decisions.
  [[nodiscard]] virtual Score tie(const Decisions&) const { return {}; }

  /// Number of steps, counted without their last decisions, whose memory was computed so far.
  [[nodiscard]] std::int64_t measured() const { return measured_.load(std::memory_order_relaxed); }
  /// Number of steps whose time was computed so far.
  [[nodiscard]] std::int64_t evaluated() const {
    return evaluated_.load(std::memory_order_relaxed);
  }

 protected:
  // Relaxed: they are read when the search is over.
  mutable std::atomic<std::int64_t> measured_{0};
  mutable std::atomic<std::int64_t> evaluated_{0};
};

}  // namespace dfsearch
