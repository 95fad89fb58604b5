#pragma once
// The price of a stage between two borders, with all decisions but the partitions taken.

#include <tbb/enumerable_thread_specific.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/deadline.hpp"
#include "engine/stages/stage_order.hpp"
#include "graph/kernel_set.hpp"
#include "model/clock.hpp"
#include "model/evaluate/partition_cost.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Prices stages.  Refers to its arguments.  Any thread may use it.
class StagePricing {
 public:
  /// The mapping has all decisions but the partitions.
  StagePricing(const Problem& problem, const StageOrder& order, Mapping decided,
               const Deadline& deadline);

  /// Bounds of a stage from sums over its kernels.
  struct Floor {
    Ticks time = 0;  ///< lower bound on its time
    /// The greatest number of samples whose values for the backward pass its memory holds.
    std::int64_t flight = 0;
  };
  /// Bounds of the stage between two borders, where the second contains the first; nothing if it
  /// cannot fit its memory.
  [[nodiscard]] std::optional<Floor> floor(std::size_t from, std::size_t to) const;

  /// The least time of the stage for a sample; kNever if nothing fits.  Throws Stopped.
  [[nodiscard]] Ticks price(std::size_t from, std::size_t to) const;
  /// The partitions of a stage of least time, in order.
  [[nodiscard]] std::vector<KernelSet> partitions(std::size_t from, std::size_t to) const;

  /// The first kernel that does not fit alone in its partition, and the resource that it lacks.
  [[nodiscard]] std::optional<Infeasible> misfit() const;

  [[nodiscard]] const Clock& clock() const { return costs_.clock(); }
  /// Number of samples that pass through a stage in a step.
  [[nodiscard]] std::int64_t samples() const { return samples_; }

 private:
  /// Sums of times of kernels.
  struct Sums {
    Ticks compute = 0;
    Ticks memory = 0;
    Ticks network = 0;
    Ticks loads = 0;
  };
  struct Stage {
    KernelSet kernels;
    std::array<KernelSet, 2> phases;   ///< forward and backward kernels of the stage
    std::array<Ticks, 2> handed_on{};  ///< time to hand on values, forward and backward
    bool loads = false;                ///< its weights are read from memory
    Bytes weights{};
  };
  /// Chains of partitions of one phase of a stage.
  struct Chains {
    std::vector<KernelSet> ideals;
    std::vector<std::vector<Ticks>> best;        ///< by number of partitions and ideal
    std::vector<std::vector<std::size_t>> last;  ///< the ideal before the last partition
  };
  struct OwnParts {
    PartitionParts parts;
    bool fits = false;
  };
  using Evaluated = std::variant<PartitionParts, Infeasible>;
  struct Evaluator {
    Mapping mapping;
    std::unique_ptr<PartitionEvaluator> evaluator;
  };
  struct Shard {
    std::mutex mutex;  // guards the members below
    std::unordered_map<KernelSet, OwnParts, KernelSetHash> known;
  };

  [[nodiscard]] Ticks least_compute(KernelId kernel) const;
  [[nodiscard]] Stage stage(std::size_t from, std::size_t to) const;
  [[nodiscard]] OwnParts own_parts(const KernelSet& partition) const;
  [[nodiscard]] Evaluated evaluated(const KernelSet& partition) const;
  [[nodiscard]] Ticks time(const Stage& stage, const KernelSet& done,
                           const KernelSet& partition) const;
  [[nodiscard]] bool fits_memory(const Stage& stage, const KernelSet& done,
                                 const KernelSet& partition) const;
  [[nodiscard]] Chains chains(const Stage& stage, const KernelSet& kernels) const;
  struct Choice {
    Ticks time = kNever;
    std::array<std::size_t, 2> partitions{};  ///< of each phase
  };
  [[nodiscard]] Choice choose(const Stage& stage, const std::array<Chains, 2>& chains) const;

  const Problem& problem_;
  const DataflowGraph& graph_;
  const StageOrder& order_;
  const Mapping decided_;
  const LayerCosts costs_;
  const Deadline deadline_;
  const std::int64_t stages_;
  const std::int64_t samples_;
  const Bytes stored_;
  std::vector<Sums> of_kernel_;
  std::vector<std::array<Ticks, 2>> handed_on_;  // by border, forward over it and back
  mutable std::array<Shard, 64> parts_;          // by hash: a set of kernels has one cost
  mutable tbb::enumerable_thread_specific<Evaluator> evaluators_;
};

}  // namespace dfsearch
