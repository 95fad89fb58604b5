#pragma once
// The executions of a task as decisions for the search of steps.

#include <optional>

#include "base/units.hpp"
#include "engine/calculon/execution_space.hpp"
#include "engine/plan/step_rules.hpp"

namespace dfsearch::calculon {

/// Memory is decided before time, networks come last (docs/search.md, section 13).
class ExecutionRules final : public StepRules {
 public:
  /// The decisions that a node has taken.
  enum Level : int {
    kRoot,
    kTensor,    ///< the tensor degree
    kDegrees,   ///< all degrees and the batch
    kSchedule,  ///< micro-batch and chunks
    kShape,     ///< all but networks and the overlap of data ranks; fits in memory
  };

  /// The task must outlive it.
  explicit ExecutionRules(const Task& task) : space_(task) {}

  /// Tensor, pipeline, data; the batch follows from them.
  [[nodiscard]] std::size_t degrees() const override { return 3; }
  void branch(const PlanNode& node, const PlanBranching& branching) const override;
  [[nodiscard]] bool has(const PlanNode& node) const override;
  [[nodiscard]] std::optional<Score> cost(const Decisions& decisions) const override;

 private:
  void branch_root(const PlanNode& node, const PlanBranching& branching) const;
  void branch_tensor(const PlanNode& node, const PlanBranching& branching) const;
  void branch_degrees(const PlanNode& node, const PlanBranching& branching) const;
  void branch_schedule(const PlanNode& node, const PlanBranching& branching) const;
  void branch_shape(const PlanNode& node, const PlanBranching& branching) const;
  [[nodiscard]] bool has(Level level, const Execution& execution) const;
  [[nodiscard]] bool has(const Execution& execution) const;

  const ExecutionSpace space_;
};

}  // namespace dfsearch::calculon
