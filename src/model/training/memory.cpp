#include "model/training/memory.hpp"

#include <algorithm>

#include "base/counts.hpp"
#include "model/training/schedule.hpp"
#include "model/training/step.hpp"

namespace dfsearch::training {

namespace {

/// Elements of weights: on all replicas, and of experts.
struct Parameters {
  double all = 0.0;
  double of_experts = 0.0;

  /// `each` bytes for each element, divided among the chips that share it or not.
  [[nodiscard]] Bytes bytes(double each, bool divided, const Degrees& degrees) const {
    if (!divided) return Bytes(each * (all + of_experts));
    return Bytes(each *
                 (all / sharing_chips(degrees, false) + of_experts / sharing_chips(degrees, true)));
  }
};

Parameters parameters_of(const Task& task, const Degrees& degrees, const Profiles& profiles,
                         const StageContent& content) {
  Parameters sum;
  const auto add = [&](Part part, double times) {
    const BlockProfile& block = of(profiles, part);
    sum.all += parameters_in(task, degrees, block) * times;
    sum.of_experts += block.expert_parameters * times;
  };
  add(Part::Layer, number(content.layers));
  add(Part::OtherLayer, number(content.other_layers));
  if (content.first) add(Part::First, 1.0);
  if (content.last) add(Part::Last, 1.0);
  return sum;
}

/// The largest of something among the layers that a stage has.
template <class Amount>
Bytes largest(const Profiles& profiles, const StageContent& content, const Amount& amount) {
  Bytes most{};
  if (content.layers > 0) most = std::max(most, amount(of(profiles, Part::Layer)));
  if (content.other_layers > 0) most = std::max(most, amount(of(profiles, Part::OtherLayer)));
  return most;
}

/// Bytes that a layer keeps of each micro-batch in flight.
Bytes kept_of(Recompute recompute, const BlockProfile& block) {
  switch (recompute) {
    case Recompute::None:
      return block.kept + block.kept_scores;
    case Recompute::Selective:
      return block.kept;
    case Recompute::EverySecondProduct:
      return block.input + (block.kept + block.kept_scores) * 0.5;
    case Recompute::Full:
      break;
  }
  return block.input;
}

/// Further bytes of a layer during its backward pass.
Bytes made_again(Recompute recompute, const BlockProfile& block) {
  switch (recompute) {
    case Recompute::None:
      return {};
    case Recompute::Selective:
      return block.kept_scores;
    case Recompute::EverySecondProduct:
    case Recompute::Full:
      break;
  }
  return block.kept + block.kept_scores;
}

/// Two layers' worth stays in the first memory: one being moved and one being computed.
constexpr double kBuffers = 2.0;

void move_out(Bytes& part, Bytes buffers, Bytes& second) {
  second += part;
  part = std::min(part, buffers);
}

}  // namespace

double sharing_chips(const Degrees& degrees, bool of_experts) {
  return number(degrees[Role::Context]) *
         number(of_experts ? degrees[Role::Data] : degrees.replicas());
}

// docs/truth.md (12)
double gradient_bytes(const Task& task, int zero) {
  if (!task.stack) return task.bytes.gradient;
  constexpr double kBufferBytes = 2.0;
  constexpr StateBytes kUsual;
  constexpr double kUsualStates = stack::kWord + kUsual.gradient + kUsual.optimizer;
  return task.bytes.gradient + (stack::typical(task.stack->stack.state_bytes) - kUsualStates) +
         (zero >= 1 ? kBufferBytes : 0.0);
}

// docs/training.md (2), (4), (5)
MemoryUse stage_memory(const Task& task, const Plan& plan, const Profiles& profiles,
                       const StageContent& content, std::int64_t stage,
                       std::int64_t micro_batches) {
  const Degrees& degrees = plan.degrees;
  const double word = task.pass.word.in_base_units();
  const Parameters parameters = parameters_of(task, degrees, profiles, content);
  MemoryUse use;
  // Where a pipeline gathers weights once a step, all of them and of their gradients stay.
  const bool is_whole = task.stack && degrees[Role::Pipeline] > 1;
  use.weights = parameters.bytes(word, plan.zero >= 3 && !is_whole, degrees);
  use.gradients =
      parameters.bytes(gradient_bytes(task, plan.zero), plan.zero >= 2 && !is_whole, degrees);
  use.optimizer = parameters.bytes(task.bytes.optimizer, plan.zero >= 1, degrees);
  if (task.stack) {
    use.runtime =
        stack::typical(task.stack->stack.reserved) + stack::typical(task.stack->stack.context);
  }

  const double alive =
      in_flight(plan.schedule, plan.chunks, micro_batches, degrees[Role::Pipeline], stage);
  const auto kept = [&](const BlockProfile& block) { return kept_of(plan.recompute, block); };
  use.activations = (kept(of(profiles, Part::Layer)) * number(content.layers) +
                     kept(of(profiles, Part::OtherLayer)) * number(content.other_layers)) *
                    alive;
  use.working = largest(profiles, content, [&](const BlockProfile& block) {
    return block.working + made_again(plan.recompute, block);
  });
  if (plan.zero >= 3 && !is_whole) {
    use.working += kBuffers * largest(profiles, content, [&](const BlockProfile& block) {
                     return Bytes(word * (block.parameters + block.expert_parameters));
                   });
  }
  if (content.first && task.model.dropout) {
    // A byte for each element that the embedding drops or does not.
    const Part layer = content.layers > 0 ? Part::Layer : Part::OtherLayer;
    use.ends += of(profiles, layer).input * (alive / word);
  }
  if (content.last) use.ends += of(profiles, Part::Last).kept;

  const auto two_layers = [&](const auto& amount) {
    return kBuffers * largest(profiles, content, amount);
  };
  const auto states = [&](double each) {
    return two_layers([&](const BlockProfile& block) {
      return Bytes(each * (block.parameters + block.expert_parameters));
    });
  };
  if (plan.offload.weights) move_out(use.weights, states(word), use.second);
  if (plan.offload.optimizer) move_out(use.optimizer, states(task.bytes.optimizer), use.second);
  if (plan.offload.activations) move_out(use.activations, two_layers(kept), use.second);
  return use;
}

bool fits(const Machine& machine, const MemoryUse& use) {
  const Bytes second = machine.second_memory() ? machine.memory[1].capacity : Bytes{};
  return use.total() <= machine.memory[0].capacity && use.second <= second;
}

// A stage holds no more of the layers than would fit if it could have any part of one, of the
// smaller kind, with the fewest micro-batches in flight and all states as divided as can be.

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
