#pragma once
// The time of a step from the profiles of its parts (docs/training.md, section 5).

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "model/training/groups.hpp"
#include "model/training/memory.hpp"
#include "model/training/plan.hpp"
#include "model/training/profile.hpp"
#include "model/training/schedule.hpp"
#include "model/training/stages.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// A sum times this factor is a lower bound of the same sum in any other order, since the factor
/// takes off more than 2^12 roundings.
inline constexpr double kLessRoundings = 1.0 - 0x1p-40;

/// The loss makes two numbers for each token, a maximum and a sum, of 32 bits each.
inline constexpr double kLossBytes = 4.0;
inline constexpr double kLossExchanges = 2.0;

/// The parts of the time of a step, on the slowest stage.
struct StepParts {
  Seconds compute{};    ///< kernels, memory included
  Seconds recompute{};  ///< kernels that run again
  /// Exposed exchanges among tensor, context and expert ranks.
  Seconds tensor{};
  Seconds context{};
  Seconds expert{};
  Seconds pipeline{};  ///< messages between stages
  Seconds offload{};   ///< exposed copies from and to the second memory
  Seconds bubble{};
  Seconds data{};  ///< gradients added up, weights gathered
  Seconds optimizer{};
  Seconds host{};  ///< with a stack: chips waiting for the host that issues kernels

  StepParts& operator+=(const StepParts& other);
  [[nodiscard]] StepParts times(double factor) const;
};

/// The time of one micro-batch in a block, and the times of the optimizer for its weights.
struct BlockTime {
  PassTime pass;
  Seconds forward_kernels{};  ///< work of each pass that uses no links
  Seconds backward_kernels{};
  Seconds optimizer{};
  Seconds optimizer_copies{};  ///< exposed copies from and to the second memory
  StepParts parts;             ///< parts of both passes
};

/// The work of a chip's optimizer for a block in a step, without a stack.
struct OptimizerWork {
  double updated = 0.0;  ///< elements
  Flops flop{};
  Bytes moved{};  ///< to and from memory
};
OptimizerWork optimizer_work(const Task& task, const Plan& plan, const BlockProfile& block);

/// The step of a plan, before its network and the layers of its stages are known.
class StepModel {
 public:
  /// `shape` has everything but `layers` and `network`.  Refers to the task and the profiles.
  /// Spreading the layers throws Stopped after the deadline.
  StepModel(const Task& task, const Plan& shape, const Profiles& profiles, const LayerOrder& order,
            const Deadline& deadline = {});

  using Result = Spread;
  /// The step in a network, with the layers that the task gives or otherwise their best spread;
  /// nothing if no such spread fits in memory, or if the step exceeds `most`.
  [[nodiscard]] std::optional<Result> step(const Groups& groups,
                                           Seconds most = Seconds::infinity()) const;
  /// A lower bound on the step in any network with these degrees; `anywhere` must be
  /// `Groups::anywhere` of these.  Nothing if no spread fits in memory, or if the bound exceeds
  /// `most`.  See docs/search.md, section 15.
  [[nodiscard]] std::optional<Seconds> floor(const Groups& anywhere,
                                             Seconds most = Seconds::infinity()) const;
  /// Limits and costs of the stages in a network.  Refers to the model and the groups.
  [[nodiscard]] StageLimits limits(const Groups& groups) const;
  /// A lower bound on the step for all schedules, numbers of chunks, and uses of memory: the time
  /// of the average stage.  `passes` must be the result of passes() for the same groups.
  [[nodiscard]] Seconds average_floor(const Groups& anywhere, Seconds passes) const;
  /// The time of a micro-batch in all layers and both ends together.  It depends only on the
  /// degrees that divide a sample or the experts.
  [[nodiscard]] Seconds passes(const Groups& groups) const;

  /// The step with given layers: its time and parts, and the memory of the fullest stage.
  struct Detail {
    Seconds step{};
    StepParts parts;
    MemoryUse memory;
    std::int64_t fullest = 0;  ///< the fullest stage; a stage that does not fit comes first
    bool fits = true;          ///< whether every stage fits
    std::optional<MemoryJudgement> judgement;  ///< with a stack
    std::int64_t slowest = 0;                  ///< the stage that sets the pace
  };
  [[nodiscard]] Detail detail(const Groups& groups, const std::vector<std::int64_t>& layers) const;
  /// Energy of the operations of all chips in a step at the full clock, which is the same for any
  /// network and any layers of the stages; 0 if the machine states no energies.  If `least`, only
  /// the passes count, without recomputation: a lower bound for all plans with these degrees,
  /// micro-batch and layout.
  /// docs/energy.md (6)
  [[nodiscard]] EnergyWork work(bool least = false) const;
  [[nodiscard]] std::int64_t micro_batches() const { return micro_batches_; }
  [[nodiscard]] std::int64_t stages() const { return shape_.degrees[Role::Pipeline]; }

 private:
  using Times = TimesOf<BlockTime>;
  [[nodiscard]] Times times(const Groups& groups) const;
  /// The time of a block, with this recomputation and these copies.
  [[nodiscard]] BlockTime block_time(const BlockProfile& block, const Groups& groups,
                                     Recompute recompute, const Offload& offload) const;
  void add_optimizer(const BlockProfile& block, BlockTime& time) const;
  /// The time that a stage waits for messages of other stages, for each micro-batch.
  [[nodiscard]] Seconds hops(const Groups& groups) const;
  [[nodiscard]] Seconds loss_exchanges(const Groups& groups) const;
  [[nodiscard]] Pipeline pipeline(const Times& times) const;
  [[nodiscard]] StepParts stage_parts(const Times& times, const StageContent& content) const;
  /// The exchanges and times of a stage in addition to its passes.
  struct OncePerStep {
    OverlappedExchanges each;  ///< exchanges of each micro-batch
    Seconds once{};            ///< exposed exchanges, once a step
    Seconds optimizer{};
    Seconds copies{};   ///< copies of the states of the optimizer
    Seconds filling{};  ///< with a stack: hops as the pipeline fills
    Seconds host{};     ///< with a stack: once a step

    [[nodiscard]] Seconds after_last_backward() const {
      return optimizer + copies + filling + host;
    }
  };
  [[nodiscard]] OncePerStep once_per_step(const Times& times, const Groups& groups,
                                          const StageContent& content) const;
  // The work of a chip for a micro-batch in a block, and in `replica_work` for a step.
  [[nodiscard]] EnergyWork block_work(const BlockProfile& block, Recompute recompute) const;
  [[nodiscard]] EnergyWork stack_block_work(const BlockProfile& block, Recompute recompute) const;
  [[nodiscard]] EnergyWork replica_work(double all, double experts) const;
  [[nodiscard]] stack::Operations recomputed(const stack::BlockWork& work,
                                             Recompute recompute) const;
  // For tasks with a stack, docs/truth.md.
  [[nodiscard]] BlockTime stack_block_time(const BlockProfile& block, const Groups& groups,
                                           Recompute recompute) const;
  [[nodiscard]] bool uses_buffers() const;
  [[nodiscard]] bool overlaps_experts(const stack::Switches& switches) const;
  [[nodiscard]] double recomputed_share() const;
  [[nodiscard]] double copied_factor() const;
  [[nodiscard]] Seconds dispatch_time(Bytes sent, const Groups& groups,
                                      stack::Dispatcher dispatcher) const;
  struct StageElements {
    double shared = 0.0, experts = 0.0;  ///< trained elements, outside and in experts
  };
  [[nodiscard]] StageElements mean_elements() const;
  [[nodiscard]] Seconds bucketed_exchanges(const Groups& groups, double all, double experts,
                                           const PassTime& layers) const;
  [[nodiscard]] Seconds stack_hop(const Groups& groups) const;
  [[nodiscard]] Seconds stack_host() const;
  [[nodiscard]] OncePerStep stack_once_per_step(const Times& times, const Groups& groups,
                                                const StageContent& content) const;
  [[nodiscard]] static StageCost cost(const Pipeline& pipeline, const OncePerStep& once_per_step,
                                      const StageContent& content);
  [[nodiscard]] std::vector<StageContent> contents(const std::vector<std::int64_t>& layers) const;
  [[nodiscard]] bool holds(std::int64_t stage, const StageContent& content) const;

  const Task& task_;
  const Plan shape_;
  const Profiles& profiles_;
  const LayerOrder order_;
  const std::int64_t micro_batches_;
  const Deadline deadline_;
  /// Whether times of blocks are the least over all pipelines, schedules and chunks.
  bool any_schedule_ = false;
};

}  // namespace dfsearch::training
