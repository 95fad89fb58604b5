#pragma once
// A lower bound on the value of deployments with any numbers of replicas, from the least that each
// side adds: (25) of docs/serving.md.

#include <cstdint>
#include <utility>

#include "engine/serving/deployment_space.hpp"

namespace dfsearch::serving {

/// Lower bounds on the contribution of one side.  A side that aggregates has no other side.
struct SideBound {
  double spent = 0.0;      ///< chips, dollars or joules for a request a second
  double weight = 0.0;     ///< chips or dollars an hour of one replica
  double first = 0.0;      ///< seconds of the time to the first token
  double tpot = 0.0;       ///< seconds for each token after it
  double fullness = 0.0;   ///< share of the memory
  std::int64_t chips = 0;  ///< of one replica
};

/// Lower bounds for a task.  Immutable; any thread may use it.  Refers to the task.
class QuickBound {
 public:
  QuickBound(const Task& task, const Means& means, Objective objective)
      : task_(task), means_(means), objective_(objective) {}

  /// The side of a box that decodes.
  [[nodiscard]] SideBound decoding(const DeploymentBox& box) const;
  [[nodiscard]] SideBound prefilling(const Structure& structure, const Prefilling& first,
                                     const Prefilling& best) const;
  [[nodiscard]] std::pair<SideBound, SideBound> sides(const DeploymentBox& box) const;
  /// The value of deployments of two sides in pools of `there` chips.  It never falls if a member
  /// of a side rises.
  [[nodiscard]] double value(const SideBound& decode, const SideBound& prefill, double there) const;
  /// The numbers of replicas of two sides whose value may be at most `most`.
  [[nodiscard]] CountWindow window(const SideBound& decode, const SideBound& prefill,
                                   double most) const;
  /// The chips of the pools of two sides; `prefill` is null for Aggregated.
  [[nodiscard]] double chips_there(const Structure& decode, const Structure* prefill) const;

 private:
  [[nodiscard]] double weight(const Pool& pool, double chips) const;
  [[nodiscard]] double spent(const Pool& pool, double chip_seconds, const EnergyWork& work) const;
  [[nodiscard]] bool counts_dollars() const {
    return objective_ == Objective::Cost ||
           (objective_ == Objective::Front && task_.front == FrontAxis::Cost);
  }

  const Task& task_;
  const Means& means_;
  const Objective objective_;
};

}  // namespace dfsearch::serving
