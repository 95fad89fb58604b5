#pragma once
// The plans that the choices of a task allow (docs/training.md, section 1).

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "model/scope.hpp"
#include "model/training/block.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/plan.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// The domains of all decisions, one after the other, within the choices of the task.  Lists are in
/// the order of ties.  Any thread may call it; refers to the task.
class PlanSpace {
 public:
  explicit PlanSpace(const Task& task);

  [[nodiscard]] const Task& task() const { return task_; }
  [[nodiscard]] const Blocks& blocks() const { return blocks_; }

  /// Degrees of the roles that divide a sample or the experts; the other two are 1.
  [[nodiscard]] std::vector<Degrees> inner_degrees() const;
  /// Degrees of all roles, all chips used.
  [[nodiscard]] std::vector<Degrees> degrees(const Degrees& inner) const;
  [[nodiscard]] std::vector<std::int64_t> micro_batches(const Degrees& degrees) const;
  /// Throws Stopped.
  [[nodiscard]] std::vector<TensorLayout> layouts(const Degrees& degrees, LayoutShelf& shelf,
                                                  const Deadline& deadline = {}) const;
  /// A layout that is found without the Pareto front; nothing if the choices allow none.
  [[nodiscard]] std::optional<TensorLayout> first_layout(const Degrees& degrees) const;
  [[nodiscard]] std::vector<Plan> shapes(const Degrees& degrees, std::int64_t micro_batch,
                                         TensorLayout layout) const;
  /// The ways to divide the dimensions of the network among the roles, for plans of a layout.
  [[nodiscard]] std::vector<std::vector<Division>> networks(const Degrees& degrees,
                                                            TensorLayout layout = {},
                                                            const Deadline& deadline = {}) const;

 private:
  /// The layouts of training libraries: plain, with sequence parallelism, and with sequence
  /// parallelism and whole experts.
  [[nodiscard]] std::vector<TensorLayout> stack_layouts(const Degrees& degrees) const;

  /// Placements on a dimension that is a mesh; cached.
  [[nodiscard]] std::vector<Division> placed(std::size_t dimension, const Degrees& degrees) const;

  const Task& task_;
  const Blocks blocks_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::size_t, Degrees>, std::vector<Division>> placed_;  // by mutex_
};

/// The decisions that are fixed before the search, so that proofs hold only within them
/// (docs/training.md, section 2).  Without a stack, layouts of tensor ranks are on the front,
/// unless the task gives the layout or has a framework, and layouts of context and expert ranks are
/// those that send least.  With a stack, layouts are those of libraries; and recomputation is fixed
/// if it is given as unknown, or if it is open and the stack has no full recomputation.
Scope scope_of(const PlanSpace& space);

}  // namespace dfsearch::training
