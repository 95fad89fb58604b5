#pragma once
// The plans of a task as decisions for the search of steps.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "engine/plan/step_rules.hpp"
#include "engine/training/layer_times.hpp"
#include "engine/training/plan_decisions.hpp"
#include "engine/training/plan_space.hpp"
#include "model/training/evaluate.hpp"
#include "model/training/layout_shelf.hpp"

namespace dfsearch::training {

/// Memory is decided before time, networks come last (docs/search.md, section 15).
class PlanRules final : public StepRules {
 public:
  /// The decisions that a node has taken.
  enum Level : int {
    kRoot,
    kTensor,      ///< the tensor degree
    kInner,       ///< degrees within a sample and of experts; `below` as at kMicroBatch, or empty
    kMicroBatch,  ///< all degrees and the micro-batch; PlanNode::below has the bound of each layout
    kLayout,      ///< also the layout of values over the tensor ranks
    kShape,       ///< all but layers and network; some spread of the layers fits in memory
  };

  /// Refers to the space and the shelf.
  PlanRules(const PlanSpace& space, LayoutShelf& shelf);

  /// Any thread may call it.
  [[nodiscard]] LayerTimes& times() const { return *times_; }

  [[nodiscard]] PlanNode root() const override;
  [[nodiscard]] std::size_t degrees() const override { return kRoles.size(); }
  void branch(const PlanNode& node, const PlanBranching& branching) const override;
  [[nodiscard]] bool has(const PlanNode& node) const override;
  [[nodiscard]] std::optional<Score> cost(const Decisions& decisions) const override;
  /// The cost of all decisions together; nothing if there is no such plan or if it does not fit.
  [[nodiscard]] std::optional<Cost> evaluated_cost(const Decisions& decisions) const;
  /// The number of shapes with the degrees, micro-batch and layout of a plan that fit in memory
  /// with some spread of the layers.  Throws Stopped.
  [[nodiscard]] std::int64_t count_fitting(const Plan& plan, const Deadline& deadline) const;

 private:
  [[nodiscard]] Score least_value() const;
  [[nodiscard]] bool has(Level level, const Plan& plan) const;
  [[nodiscard]] bool has(const Plan& plan) const;
  void branch_root(const PlanNode& node, const PlanBranching& branching) const;
  void branch_tensor(const PlanNode& node, const PlanBranching& branching) const;
  [[nodiscard]] std::vector<Score> inner_floors(const Degrees& inner,
                                                const Deadline& deadline) const;
  void branch_inner(const PlanNode& node, const PlanBranching& branching) const;
  void branch_shape(const PlanNode& node, const PlanBranching& branching) const;
  [[nodiscard]] std::vector<PlanNode> layouts_of(const PlanNode& node,
                                                 const Deadline& deadline) const;
  [[nodiscard]] std::vector<PlanNode> shapes_of(const PlanNode& node, Score most,
                                                const Deadline& deadline) const;
  void seed(const PlanBranching& branching) const;
  void dive(std::vector<PlanNode> nodes, const PlanBranching& branching) const;

  const PlanSpace& space_;
  LayoutShelf& shelf_;
  std::unique_ptr<LayerTimes> times_;
  const Task at_best_;  ///< the task with every kernel at the best rate of its engine and memory
  std::unique_ptr<LayerTimes> best_times_;
};

}  // namespace dfsearch::training
