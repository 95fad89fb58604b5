// A stage holds no more of the layers than would fit if it could have any part of one, of the
// smaller kind, with the fewest micro-batches in flight and all states as divided as can be.

#include "model/training/memory_floor.hpp"

#include <algorithm>

#include "base/number.hpp"
#include "model/training/memory.hpp"
#include "model/training/schedule.hpp"
#include "model/training/step.hpp"

namespace dfsearch::training {
namespace {

/// The least that one layer needs of each, by ZeRO and by the kind of layer.
struct LeastLayer {
  Bytes weights = Bytes::infinity(), gradients = weights, optimizer = weights;
  Bytes kept = weights, beside = weights;

  void take(const MemoryUse& use) {
    weights = std::min(weights, use.weights);
    gradients = std::min(gradients, use.gradients);
    optimizer = std::min(optimizer, use.optimizer);
    kept = std::min(kept, use.activations);
    beside = std::min(beside, use.working + use.runtime);
  }
};

}  // namespace

bool may_fit(const Task& task, Plan plan, const Profiles& profiles, const LayerOrder& order) {
  if (task.machine.second_memory()) return true;
  const std::int64_t stages = plan.degrees[Role::Pipeline];
  const std::int64_t micro_batches =
      task.global_batch / (plan.degrees.replicas() * plan.micro_batch);
  plan.schedule = Schedule::OneForwardOneBackward;
  plan.chunks = 1;
  plan.offload = {};
  LeastLayer least;
  for (plan.zero = 0; plan.zero <= 3; ++plan.zero) {
    for (const StageContent& one : {StageContent{.layers = 1}, StageContent{.other_layers = 1}}) {
      if (one.layers > order.layers || one.other_layers > order.other_layers) continue;
      // The last stage has one micro-batch in flight.
      least.take(stage_memory(task, plan, profiles, one, stages - 1, micro_batches));
    }
  }
  const Bytes room = task.machine.memory[0].capacity - least.beside;
  const Bytes states = least.weights + least.gradients + least.optimizer;
  double layers = 0.0;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const double alive = in_flight(plan.schedule, 1, micro_batches, stages, stage);
    layers += std::max(0.0, room / (least.kept * alive + states));
  }
  return !(layers < number(order.all()) * kLessRoundings);
}

}  // namespace dfsearch::training
