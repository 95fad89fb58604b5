#include "model/training/memory.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/counts.hpp"
#include "model/training/schedule.hpp"
#include "model/training/step.hpp"

namespace dfsearch::training {

namespace {

/// Elements of the weights outside of experts (`all`), and of the weights of experts.
struct Parameters {
  double all = 0.0;
  double of_experts = 0.0;

  /// The bytes on a chip, with `each` bytes for an element.  If they are `divided`, this is the
  /// share of one of the chips that have the same weights.
  [[nodiscard]] Bytes bytes(double each, bool divided, const Task& task,
                            const Degrees& degrees) const {
    if (!divided) return Bytes(each * (all + of_experts));
    return Bytes(each * (all / sharing_chips(task, degrees, false) +
                         of_experts / sharing_chips(task, degrees, true)));
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

/// The largest `amount` of a layer of the stage.
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
    default:
      break;
  }
  return block.input;
}

/// Bytes of a layer that are recomputed for its backward pass.
Bytes made_again(Recompute recompute, const BlockProfile& block) {
  switch (recompute) {
    case Recompute::None:
      return {};
    case Recompute::Selective:
      return block.kept_scores;
    default:
      break;
  }
  return block.kept + block.kept_scores;
}

/// The first memory holds two of the layers that are moved: one on its way, one that is computed.
constexpr double kBuffers = 2.0;

/// The effect of switches of the software that recompute whole layers, or copy layers to the memory
/// of the host.
class SwitchedLayers {
 public:
  /// At the low level, all copied layers leave the device; at the typical level, all except the
  /// layers that are being copied; at the high level none, since no run was measured.
  SwitchedLayers(const Task& task, const Plan& plan, double layers, memory::Recompute recompute,
                 memory::Level level)
      : recompute_(recompute), copies_(level != memory::Level::Low) {
    const stack::Software& software = task.stack->stack.software;
    if (layers > 0.0) {
      again_ = std::min(1.0, number(software.recompute_layers * plan.chunks) / layers);
    }
    if (level != memory::Level::High) {
      copied_ = std::min(1.0, number(software.offload_layers) / number(task.model.layers));
    }
  }
  [[nodiscard]] bool any() const { return again_ > 0.0 || copied_ > 0.0; }

  /// Returns `layer` with its kept bytes averaged over layers that are recomputed, are copied, or
  /// stay as they are.  The stage has `count` layers of this kind.
  [[nodiscard]] memory::LayerMemory mean(memory::LayerMemory layer, double count) const {
    const memory::Amount kept =
        (1.0 - again_) * layer.kept(recompute_) + again_ * layer.kept(Recompute::Full);
    if (copies_) layer.working += std::min(kBuffers, copied_ * count) * kept;
    const memory::Amount stays = (1.0 - copied_) * kept;
    if (recompute_ == Recompute::Full) {
      layer.input = stays.bytes;
    } else if (recompute_ == Recompute::EverySecondProduct) {
      layer.every_second_product = stays;
    } else {
      if (again_ > 0.0) layer.working += layer.all;
      layer.all = stays;
      layer.part = {};
    }
    return layer;
  }

 private:
  const memory::Recompute recompute_;
  const bool copies_;                  ///< layers that are being copied are on the device
  double again_ = 0.0, copied_ = 0.0;  ///< shares of the layers of a stage
};

void move_out(Bytes& part, Bytes buffers, Bytes& second) {
  second += part;
  part = std::min(part, buffers);
}

memory::StepMemory step_memory(const Task& task, const Plan& plan, std::int64_t micro_batches,
                               memory::Level level) {
  const Degrees& degrees = plan.degrees;
  const stack::Stack& stack = task.stack->stack;
  const memory::Loss loss = task.loss(degrees[Role::Tensor]);
  const double replicas = sharing_chips(task, degrees, false);
  Recompute recompute = plan.recompute;
  if (recompute == Recompute::Unknown) {
    recompute = level == memory::Level::High ? Recompute::None : Recompute::Full;
  }
  double groups = expert_ranks(degrees, plan.layout) > 1 ? 1.0 : 0.0;
  for (const Role role : {Role::Tensor, Role::Context, Role::Pipeline}) {
    if (degrees[role] > 1) groups += 1.0;
  }
  if (degrees.replicas() > 1) groups += 1.0;
  return {.figures = figures_of(stack, loss.kind, plan.zero >= 3 && replicas > 1.0, level),
          .facts = {.gathered_layers = stack.memory.gathered_layers,
                    .twice_with_adapters = stack.memory.twice_with_adapters},
          .states = task.states(),
          .gradients = task.changes.gradients.value_or(stack.gradients),
          .loss = loss,
          .lora = task.lora ? &*task.lora : nullptr,
          .recompute = recompute,
          .zero = plan.zero,
          .replicas = replicas,
          .expert_replicas = sharing_chips(task, degrees, true),
          .in_pipeline = degrees[Role::Pipeline] > 1,
          .shares_head = task.model.tied && degrees[Role::Pipeline] == 1,
          .micro_batches = number(micro_batches),
          .groups = groups};
}

}  // namespace

double sharing_chips(const Task& task, const Degrees& degrees, bool of_experts) {
  const std::int64_t chips =
      degrees[Role::Context] * (of_experts ? degrees[Role::Data] : degrees.replicas());
  const std::int64_t group = task.stack ? task.stack->stack.software.shard_group : 0;
  return number(group > 0 ? std::gcd(chips, group) : chips);
}

namespace {

/// Divides the bytes of a chip among the parts of MemoryUse.
MemoryUse use_of(const memory::StageMemory& held, const StageContent& content) {
  using memory::Moment;
  const double layers = number(content.all_layers());
  MemoryUse use;
  use.weights = Bytes(held.weights + held.adapters);
  use.optimizer = Bytes(held.optimizer + held.step);
  use.gradients = Bytes(held.gradients);
  if (held.moment != Moment::Step) {
    const double share =
        held.moment == Moment::FirstLayer ? (layers > 0.0 ? 1.0 / layers : 0.0) : 1.0;
    use.activations = Bytes(held.activations * share);
  }
  use.working = Bytes(held.working);
  use.ends = Bytes(held.loss + held.gathered);
  use.runtime = Bytes(held.resident + held.fragments + held.context);
  // The parts differ from the whole by gradients that are not yet made, by activations that count
  // twice, and by the input of the loss.
  const Bytes rest = Bytes(held.device()) - use.total();
  if (rest < Bytes{}) {
    use.gradients = std::max(use.gradients + rest, Bytes{});  // not below 0 by rounding
  } else {
    use.activations += rest;
  }
  return use;
}

}  // namespace

// docs/truth.md (12), (13), (14), (15)
memory::StageMemory memory_at(const Task& task, const Plan& plan, const Profiles& profiles,
                              const StageContent& content, std::int64_t stage,
                              std::int64_t micro_batches, memory::Level level) {
  const Degrees& degrees = plan.degrees;
  const memory::StepMemory step = step_memory(task, plan, micro_batches, level);
  memory::StageLayers held{
      .first = content.first ? &of(profiles, Part::First).work.memory : nullptr,
      .last = content.last ? &of(profiles, Part::Last).work.memory : nullptr,
      .alive =
          in_flight(plan.schedule, plan.chunks, micro_batches, degrees[Role::Pipeline], stage)};
  const SwitchedLayers switched(task, plan, number(content.all_layers()), step.recompute, level);
  std::array<memory::LayerMemory, std::tuple_size_v<decltype(held.layers)>> means;
  for (std::size_t kind = 0; kind < 2 + profiles.further.size(); ++kind) {
    const double count = number(content.of_kind(kind));
    held.layers[kind] = {&of_kind(profiles, kind).work.memory, count};
    if (!switched.any()) continue;
    means[kind] = switched.mean(*held.layers[kind].layer, count);
    held.layers[kind].layer = &means[kind];
  }
  return memory::stage_memory(step, held);
}

// If the loss is chunked, some libraries keep the logits of all chunks in 16 bits (torchtune).
// Others also compute the head by chunks and run the backward pass of each chunk at once
// (torchtitan's ChunkedCELoss).  The optimizers of PyTorch work with or without temporary values.
LeanOptions lean_options(const Task& task) {
  if (!task.stack) return {};
  return {.head_by_chunks = task.loss(1).kind == memory::LossKind::Chunked,
          .fused_optimizer = !task.changes.step && !task.lora && task.states().step > 0.0};
}

Task with(const LeanOptions& options, Task task) {
  if (options.head_by_chunks) {
    task.changes.loss = task.loss(1);
    task.changes.loss->kind = memory::LossKind::FusedLinear;
  }
  if (options.fused_optimizer) task.changes.step = 0.0;
  return task;
}

MemoryJudgement judgement(const Task& task, const Plan& plan, const Profiles& profiles,
                          const std::vector<StageContent>& stages, std::int64_t micro_batches) {
  MemoryJudgement judgement;
  judgement.visible = task.machine.memory[0].capacity;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    for (const memory::Level level : memory::kLevels) {
      const memory::StageMemory held = memory_at(
          task, plan, profiles, stages[i], static_cast<std::int64_t>(i), micro_batches, level);
      const Bytes needed(held.device());
      if (!(needed > judgement.needed[level])) continue;
      judgement.needed[level] = needed;
      if (level == task.decide) judgement.held = held;
    }
  }
  judgement.verdict = memory::verdict(judgement.needed, judgement.visible);
  if (judgement.verdict != memory::Verdict::Infeasible) return judgement;
  const LeanOptions lean = lean_options(task);
  if (lean.any() && training::judgement(with(lean, task), plan, profiles, stages, micro_batches)
                            .needed[memory::Level::Low] <= judgement.visible) {
    judgement.verdict = memory::Verdict::MayNotFit;
  }
  return judgement;
}

// docs/training.md (2), (4), (5)
MemoryUse stage_memory(const Task& task, const Plan& plan, const Profiles& profiles,
                       const StageContent& content, std::int64_t stage,
                       std::int64_t micro_batches) {
  if (task.stack) {
    return use_of(memory_at(task, plan, profiles, content, stage, micro_batches, task.decide),
                  content);
  }
  const Degrees& degrees = plan.degrees;
  const double word = task.pass.word.in_base_units();
  const Parameters parameters = parameters_of(task, degrees, profiles, content);
  MemoryUse use;
  use.weights = parameters.bytes(word, plan.zero >= 3, task, degrees);
  use.gradients = parameters.bytes(task.bytes.gradient, plan.zero >= 2, task, degrees);
  use.optimizer = parameters.bytes(task.bytes.optimizer, plan.zero >= 1, task, degrees);

  const double alive =
      in_flight(plan.schedule, plan.chunks, micro_batches, degrees[Role::Pipeline], stage);
  const auto kept = [&](const BlockProfile& block) { return kept_of(plan.recompute, block); };
  use.activations = (kept(of(profiles, Part::Layer)) * number(content.layers) +
                     kept(of(profiles, Part::OtherLayer)) * number(content.other_layers)) *
                    alive;
  use.working = largest(profiles, content, [&](const BlockProfile& block) {
    return block.working + made_again(plan.recompute, block);
  });
  if (plan.zero >= 3) {
    use.working += kBuffers * largest(profiles, content, [&](const BlockProfile& block) {
                     return Bytes(word * (block.parameters + block.expert_parameters));
                   });
  }
  if (content.first && task.model.dropout) {
    // The dropout after the embedding has a mask of a byte for each element.
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

// Lower bounds on memory.  They assume that stages may hold fractions of layers, that the fewest
// micro-batches are in flight, and that states are divided among the most chips.

namespace {

/// The number of layers of a kind, and the least bytes that a stage needs for each of them.
struct KindNeed {
  double layers = 0.0, states = 0.0, kept = 0.0;

  [[nodiscard]] double with(double alive) const { return states + kept * alive; }
};

/// False only if no spread of the layers fits into `room` bytes of each stage.  Proof: give each
/// kind of layer a price.  A stage holds layers worth at most `room` times the greatest price of a
/// byte.  If the sum of these limits over the stages is below the price of all layers, some layer
/// does not fit.
bool may_hold(const std::vector<KindNeed>& kinds, double room, const Plan& plan,
              std::int64_t micro_batches) {
  const std::int64_t stages = plan.degrees[Role::Pipeline];
  const auto alive = [&](std::int64_t stage) {
    return in_flight(plan.schedule, 1, micro_batches, stages, stage);
  };
  const auto holds_all = [&](const auto& price) {
    double all = 0.0, held = 0.0;
    for (const KindNeed& kind : kinds) all += kind.layers * price(kind);
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      double most = 0.0;
      for (const KindNeed& kind : kinds) {
        most = std::max(most, price(kind) / kind.with(alive(stage)));
      }
      held += std::max(0.0, room * most);
    }
    return !(held < all * kLessRoundings);
  };
  return holds_all([](const KindNeed&) { return 1.0; }) &&
         holds_all([&](const KindNeed& kind) { return kind.with(alive(0)); }) &&
         holds_all([&](const KindNeed& kind) { return kind.with(alive(stages - 1)); });
}

/// may_hold() for tasks with a stack and several stages; the ends are left out.
bool stages_may_hold(const Task& task, const Plan& plan, const Profiles& profiles,
                     const LayerOrder& order, std::int64_t micro_batches) {
  const memory::StepMemory step = step_memory(task, plan, micro_batches, task.decide);
  const double lost = step.makes_gradients() ? 1.0 : 1.0 + step.figures.fragment;
  double rest = std::numeric_limits<double>::infinity();
  std::vector<KindNeed> kinds;
  for (std::size_t kind = 0; kind < order.kinds(); ++kind) {
    if (order.of_kind(kind) == 0) continue;
    StageContent one;
    one.of_kind(kind) = 1;
    // The last stage has one micro-batch in flight.
    const memory::StageMemory use = memory_at(
        task, plan, profiles, one, plan.degrees[Role::Pipeline] - 1, micro_batches, task.decide);
    // Gradients that are made during the step may not exist at the peak.
    const double held =
        use.weights + use.adapters + use.optimizer + (step.makes_gradients() ? 0.0 : use.gradients);
    const double moment = use.moments[static_cast<std::size_t>(memory::Moment::LastLayer)];
    kinds.push_back({number(order.of_kind(kind)), held, lost * use.activations});
    rest = std::min(rest, moment - held - use.activations);
  }
  const double room = task.machine.memory[0].capacity.in_base_units() - step.figures.resident -
                      step.figures.context - step.figures.group * step.groups - lost * rest;
  return may_hold(kinds, room, plan, micro_batches);
}

bool stack_may_fit(const Task& task, Plan plan, const Profiles& profiles, const LayerOrder& order,
                   std::int64_t micro_batches) {
  const auto& given = task.choices.zeros;
  // Plans with more chunks may recompute more layers, so all layers count as recomputed.
  if (task.stack->stack.software.recompute_layers > 0) plan.recompute = Recompute::Full;
  for (plan.zero = 0; plan.zero <= 3; ++plan.zero) {
    const bool is_shared = sharing_chips(task, plan.degrees, false) > 1.0;
    if (is_shared && !given.empty() &&
        std::find(given.begin(), given.end(), plan.zero) == given.end()) {
      continue;
    }
    if (plan.degrees[Role::Pipeline] == 1) {
      StageContent all = order.content(0, order.all());
      all.first = all.last = true;
      if (fits(task.machine, stage_memory(task, plan, profiles, all, 0, micro_batches)))
        return true;
    } else if (stages_may_hold(task, plan, profiles, order, micro_batches)) {
      return true;
    }
    if (!is_shared) break;
  }
  return false;
}

}  // namespace

bool may_fit(const Task& task, Plan plan, const Profiles& profiles, const LayerOrder& order) {
  if (task.machine.second_memory()) return true;
  const std::int64_t stages = plan.degrees[Role::Pipeline];
  const std::int64_t micro_batches =
      task.global_batch / (plan.degrees.replicas() * plan.micro_batch);
  plan.schedule = Schedule::OneForwardOneBackward;
  plan.chunks = 1;
  plan.offload = {};
  if (task.stack) return stack_may_fit(task, plan, profiles, order, micro_batches);
  Bytes beside = Bytes::infinity();
  std::vector<KindNeed> kinds;
  for (const bool other : {false, true}) {
    const std::int64_t layers = other ? order.other_layers : order.layers;
    if (layers == 0) continue;
    const StageContent one{.layers = other ? 0 : 1, .other_layers = other ? 1 : 0};
    Bytes weights = Bytes::infinity(), gradients = weights, optimizer = weights, kept = weights;
    for (plan.zero = 0; plan.zero <= 3; ++plan.zero) {
      // The last stage has one micro-batch in flight.
      const MemoryUse use = stage_memory(task, plan, profiles, one, stages - 1, micro_batches);
      weights = std::min(weights, use.weights);
      gradients = std::min(gradients, use.gradients);
      optimizer = std::min(optimizer, use.optimizer);
      kept = std::min(kept, use.activations);
      beside = std::min(beside, use.working + use.runtime);
    }
    kinds.push_back(
        {number(layers), (weights + gradients + optimizer).in_base_units(), kept.in_base_units()});
  }
  const Bytes room = task.machine.memory[0].capacity - beside;
  return may_hold(kinds, room.in_base_units(), plan, micro_batches);
}

}  // namespace dfsearch::training
