// A micro-batch passes through the stages, the replicas add up what it leaves.
//
// Exchanges among tensor and expert ranks are waited for; a ring of keys and values runs beside
// the attention that works on the ones before, and gradients are added up while the last
// micro-batch goes back through the layers behind.  A copy to or from the second memory runs
// beside what does not need the first one.

#include "model/training/step.hpp"

#include <algorithm>
#include <utility>

#include "base/number.hpp"
#include "model/training/stages.hpp"

namespace dfsearch::training {
namespace {

Seconds beyond(Seconds time, Seconds hidden) { return std::max(Seconds{}, time - hidden); }

/// FLOP and bytes for an element that the optimizer updates: gradient, both moments and master
/// weight are read, the last three and the weight written.
constexpr double kOptimizerFlops = 11.0;

/// The loss makes two numbers for each token, a maximum and a sum, of 32 bits each.
constexpr double kLossBytes = 4.0;
constexpr double kLossExchanges = 2.0;

}  // namespace

StepParts& StepParts::operator+=(const StepParts& other) {
  compute += other.compute;
  recompute += other.recompute;
  tensor += other.tensor;
  context += other.context;
  expert += other.expert;
  pipeline += other.pipeline;
  offload += other.offload;
  bubble += other.bubble;
  data += other.data;
  optimizer += other.optimizer;
  return *this;
}

StepParts StepParts::times(double factor) const {
  return {.compute = compute * factor,
          .recompute = recompute * factor,
          .tensor = tensor * factor,
          .context = context * factor,
          .expert = expert * factor,
          .pipeline = pipeline * factor,
          .offload = offload * factor,
          .bubble = bubble * factor,
          .data = data * factor,
          .optimizer = optimizer * factor};
}

StepModel::StepModel(const Task& task, const Plan& shape, const Profiles& profiles,
                     std::int64_t dense_layers, std::int64_t expert_layers)
    : task_(task),
      shape_(shape),
      profiles_(profiles),
      dense_layers_(dense_layers),
      expert_layers_(expert_layers),
      micro_batches_(task.global_batch / (shape.degrees.replicas() * shape.micro_batch)) {}

// docs/training.md (10)
BlockTime StepModel::block_time(const BlockProfile& block, const Groups& groups,
                                Recompute recompute, const Offload& offload) const {
  struct Waits {
    Seconds tensor{}, context{}, expert{};
  };
  Waits waits[2], rings[2];  // by phase
  for (const BlockExchange& exchange : block.exchanges) {
    const auto phase = static_cast<std::size_t>(exchange.phase == Phase::Backward);
    Waits& sum = exchange.behind_attention ? rings[phase] : waits[phase];
    if (exchange.role == Role::Tensor) {
      sum.tensor += groups.tensor.time(exchange.exchange, exchange.whole);
    } else if (exchange.role == Role::Context) {
      sum.context += groups.context.time(exchange.exchange, exchange.whole);
    } else {
      sum.expert += groups.expert.time(exchange.exchange, exchange.whole);
    }
  }
  // All but the first piece of attention hides the next piece's way.
  const double hidden = 1.0 - 1.0 / number(groups.context.members());
  waits[0].context += beyond(rings[0].context, block.attention_forward * hidden);
  waits[1].context += beyond(rings[1].context, block.attention_backward * hidden);

  WorkTime again;
  if (recompute == Recompute::Selective) again = block.scoring;
  if (recompute == Recompute::Full) {
    again = block.forward;
    waits[1].tensor += waits[0].tensor;
    waits[1].context += waits[0].context;
    waits[1].expert += waits[0].expert;
  }
  const WorkTime& forward = block.forward;
  WorkTime backward = block.input_gradient;
  backward += block.weight_gradient;

  Seconds copied[2];
  if (task_.machine.second && offload.any()) {
    const Bytes weights(offload.weights ? task_.pass.word.in_base_units() *
                                              (block.parameters + block.expert_parameters)
                                        : 0.0);
    const Bytes kept =
        recompute == Recompute::Full
            ? block.input
            : block.kept + (recompute == Recompute::None ? block.kept_scores : Bytes{});
    const Bytes activations = offload.activations ? kept : Bytes{};
    const Seconds copy = task_.machine.second->time(weights + activations);
    copied[0] = beyond(copy, forward.time - forward.memory);
    copied[1] = beyond(copy, backward.time + again.time - backward.memory - again.memory);
  }

  const auto all = [](const Waits& w) { return w.tensor + w.context + w.expert; };
  return {.forward = forward.time + all(waits[0]) + copied[0],
          .backward = backward.time + again.time + all(waits[1]) + copied[1],
          .weight_gradient = block.weight_gradient.time,
          .forward_kernels = forward.time,
          .backward_kernels = backward.time + again.time,
          .parts = {.compute = forward.time + backward.time,
                    .recompute = again.time,
                    .tensor = waits[0].tensor + waits[1].tensor,
                    .context = waits[0].context + waits[1].context,
                    .expert = waits[0].expert + waits[1].expert,
                    .offload = copied[0] + copied[1]}};
}

/// Each tensor rank has a part of the vocabulary: they agree on the maximum and the sum.
Seconds StepModel::loss_exchanges(const Groups& groups) const {
  if (task_.model.vocabulary == 0) return {};
  const double tokens = number(task_.pass.tokens) / number(shape_.degrees[Role::Context]) *
                        number(shape_.micro_batch);
  return kLossExchanges * groups.tensor.time(Exchange::AllReduce, Bytes(kLossBytes * tokens));
}

StepModel::Times StepModel::times(const Groups& groups) const {
  const auto layer = [&](Part part) {
    return block_time(of(profiles_, part), groups, shape_.recompute, shape_.offload);
  };
  // The ends are never computed again, nor copied.
  const auto end = [&](Part part) {
    return block_time(of(profiles_, part), groups, Recompute::None, {});
  };
  Times times{.layer = layer(Part::Layer),
              .expert_layer = layer(Part::ExpertLayer),
              .first = end(Part::First),
              .last = end(Part::Last)};
  const Seconds loss = loss_exchanges(groups);
  times.last.forward += loss;
  times.last.parts.tensor += loss;
  times.hops = hops(groups);
  return times;
}

Seconds StepModel::hops(const Groups& groups) const {
  const Part handing = dense_layers_ > 0 ? Part::Layer : Part::ExpertLayer;
  return 2.0 * number(shape_.chunks) * groups.pipeline.hop(of(profiles_, handing).input);
}

StageTime StepModel::stage_time(const Times& times, const StageContent& content) const {
  StageTime time{.total = times.hops, .forward = times.hops * 0.5, .waited = times.hops};
  const auto add = [&time](const BlockTime& block, std::int64_t count) {
    time.total += block.total() * number(count);
    time.forward += block.forward * number(count);
    time.waited += beyond(block.total(), 2.0 * block.weight_gradient) * number(count);
  };
  add(times.layer, content.layers);
  add(times.expert_layer, content.expert_layers);
  const Seconds layers = time.total;
  if (content.first) add(times.first, 1);
  if (content.last) add(times.last, 1);
  time.ends = time.total - layers;
  return time;
}

StepParts StepModel::stage_parts(const Times& times, const StageContent& content) const {
  StepParts parts = times.layer.parts.times(number(content.layers));
  parts += times.expert_layer.parts.times(number(content.expert_layers));
  if (content.first) parts += times.first.parts;
  if (content.last) parts += times.last.parts;
  parts.pipeline += times.hops;
  return parts;
}

bool StepModel::holds(std::int64_t stage, const StageContent& content) const {
  return fits(task_.machine,
              stage_memory(task_, shape_, profiles_, content, stage, micro_batches_));
}

std::optional<std::vector<std::int64_t>> StepModel::spread(const Times& times) const {
  const std::int64_t stages = shape_.degrees[Role::Pipeline];
  std::vector<std::int64_t> layers = task_.choices.layers;
  if (layers.empty() && shape_.schedule != Schedule::Interleaved) {
    const StageLimits limits{.layer = times.layer.total(),
                             .expert_layer = times.expert_layer.total(),
                             .first = times.first.total(),
                             .last = times.last.total(),
                             .holds = [this](std::int64_t stage, const StageContent& content) {
                               return holds(stage, content);
                             }};
    return spread_layers(stages, dense_layers_, expert_layers_, limits);
  }
  if (layers.empty()) {
    layers.assign(static_cast<std::size_t>(stages), (dense_layers_ + expert_layers_) / stages);
  }
  const std::vector<StageContent> contents = contents_of(layers, shape_.chunks, dense_layers_);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    if (!holds(static_cast<std::int64_t>(i), contents[i])) return std::nullopt;
  }
  return layers;
}

Seconds StepModel::pipeline(const Times& times, const std::vector<StageContent>& contents,
                            Schedule schedule) const {
  std::vector<StageTime> stages;
  stages.reserve(contents.size());
  for (const StageContent& content : contents) stages.push_back(stage_time(times, content));
  return pipeline_time(schedule, shape_.chunks, micro_batches_, stages);
}

// docs/training.md (11)
StepModel::Tail StepModel::tail(const Times& times, const Groups& groups,
                                const StageContent& content) const {
  double all = 0.0, experts = 0.0;
  const auto add = [&](Part part, std::int64_t count) {
    all += of(profiles_, part).parameters * number(count);
    experts += of(profiles_, part).expert_parameters * number(count);
  };
  add(Part::Layer, content.layers);
  add(Part::ExpertLayer, content.expert_layers);
  if (content.first) add(Part::First, 1);
  if (content.last) add(Part::Last, 1);

  const auto exchange = [&](Exchange kind, double bytes) {
    return groups.replicas.time(kind, Bytes(all * bytes)) +
           groups.expert_replicas.time(kind, Bytes(experts * bytes));
  };
  const double word = task_.pass.word.in_base_units();
  const Seconds reduced =
      exchange(shape_.zero == 0 ? Exchange::AllReduce : Exchange::ReduceScatter, task_.bytes.sent);
  const Seconds gathered = shape_.zero == 0 ? Seconds{} : exchange(Exchange::AllGather, word);
  // Behind the work of the other layers of the stage, which leaves the links alone.
  const double count = number(std::max<std::int64_t>(content.all_layers(), 1));
  const double hidden = task_.data_overlap ? (count - 1.0) / count : 0.0;
  const auto layers = [&](Seconds BlockTime::*part) {
    return times.layer.*part * number(content.layers) +
           times.expert_layer.*part * number(content.expert_layers);
  };
  const Seconds forward = layers(&BlockTime::forward_kernels) * hidden;
  const Seconds backward = layers(&BlockTime::backward_kernels) * hidden;
  const double rounds = number(micro_batches_);
  Tail tail;
  if (shape_.zero <= 1) {
    tail.data = beyond(reduced, backward) + beyond(gathered, forward);
  } else if (shape_.zero == 2) {
    tail.data = rounds * beyond(reduced, backward) + beyond(gathered, forward);
  } else {
    tail.data = rounds * (beyond(gathered, forward) + beyond(gathered + reduced, backward));
  }

  const double updated = shape_.zero == 0 ? all + experts
                                          : all / sharing_chips(shape_.degrees, false) +
                                                experts / sharing_chips(shape_.degrees, true);
  const double moved = 2.0 * task_.bytes.optimizer + task_.bytes.gradient + word;
  tail.optimizer = task_.machine.vector.time(Flops(kOptimizerFlops * updated)) +
                   task_.machine.memory.time(Bytes(moved * updated));
  if (shape_.offload.optimizer && task_.machine.second) {
    tail.offload = beyond(task_.machine.second->time(Bytes(2.0 * task_.bytes.optimizer * updated)),
                          tail.optimizer);
  }
  return tail;
}

// docs/training.md (12)
std::optional<StepModel::Result> StepModel::step(const Groups& groups) const {
  const Times times = this->times(groups);
  auto layers = spread(times);
  if (!layers) return std::nullopt;
  const std::vector<StageContent> contents = contents_of(*layers, shape_.chunks, dense_layers_);
  Seconds last{};
  for (const StageContent& content : contents) {
    last = std::max(last, tail(times, groups, content).total());
  }
  return Result{.step = pipeline(times, contents, shape_.schedule) + last,
                .layers = std::move(*layers)};
}

std::optional<Seconds> StepModel::floor(const Groups& anywhere) const {
  const Times times = this->times(anywhere);
  const auto layers = spread(times);
  if (!layers) return std::nullopt;
  // Another spread may suit both ways of GPipe better than the one of least pace, but none 1F1B.
  const Schedule schedule =
      shape_.schedule == Schedule::GPipe ? Schedule::OneForwardOneBackward : shape_.schedule;
  return pipeline(times, contents_of(*layers, shape_.chunks, dense_layers_), schedule) *
         kLessRoundings;
}

Seconds StepModel::average_floor(const Groups& anywhere, Seconds passes) const {
  const double stages = number(shape_.degrees[Role::Pipeline]);
  return (passes / stages + hops(anywhere)) * number(micro_batches_) * kLessRoundings;
}

Seconds StepModel::passes(const Groups& groups) const {
  Times times = this->times(groups);
  times.hops = {};
  const StageContent all{
      .layers = dense_layers_, .expert_layers = expert_layers_, .first = true, .last = true};
  return stage_time(times, all).total;
}

StepModel::Detail StepModel::detail(const Groups& groups,
                                    const std::vector<std::int64_t>& layers) const {
  const Times times = this->times(groups);
  const std::vector<StageContent> contents = contents_of(layers, shape_.chunks, dense_layers_);
  Detail detail;
  Tail last;
  Seconds slowest{};
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto stage = static_cast<std::int64_t>(i);
    const MemoryUse use =
        stage_memory(task_, shape_, profiles_, contents[i], stage, micro_batches_);
    if (i == 0 || use.total() > detail.memory.total()) {
      detail.memory = use;
      detail.fullest = stage;
    }
    if (const Seconds time = stage_time(times, contents[i]).total; time > slowest) {
      slowest = time;
      detail.slowest = stage;
    }
    if (const Tail tail = this->tail(times, groups, contents[i]); tail.total() > last.total()) {
      last = tail;
    }
  }
  const double rounds = number(micro_batches_);
  const Seconds pipeline = this->pipeline(times, contents, shape_.schedule);
  detail.step = pipeline + last.total();
  detail.parts =
      stage_parts(times, contents[static_cast<std::size_t>(detail.slowest)]).times(rounds);
  detail.parts.bubble = pipeline - slowest * rounds;
  detail.parts.data = last.data;
  detail.parts.optimizer = last.optimizer;
  detail.parts.offload += last.offload;
  return detail;
}

}  // namespace dfsearch::training
