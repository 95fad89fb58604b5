// A micro-batch passes through the stages, then the replicas add up its gradients.
//
// Chips wait for exchanges among tensor and expert ranks.  A ring sends keys and values while
// attention works on earlier ones.  Gradients are added up during the backward pass of the last
// micro-batch.  A copy to or from the second memory runs while work does not use the first memory.

#include "model/training/step.hpp"

#include <algorithm>
#include <utility>

#include "base/counts.hpp"
#include "model/stack/kernel_times.hpp"

namespace dfsearch::training {
namespace {

/// FLOP of the optimizer for each element.  It reads the gradient, both moments and the master
/// weight, and writes both moments, the master weight and the weight.
constexpr double kOptimizerFlops = 11.0;

constexpr Seconds StepParts::*kStepParts[] = {
    &StepParts::compute, &StepParts::recompute, &StepParts::tensor,  &StepParts::context,
    &StepParts::expert,  &StepParts::pipeline,  &StepParts::offload, &StepParts::bubble,
    &StepParts::data,    &StepParts::optimizer, &StepParts::host};

/// Sets parts below the rounding of a step to zero, since parts may be differences of sums.
StepParts without_residues(StepParts all, Seconds step) {
  constexpr double kResidue = 1e-12;
  for (const auto part : kStepParts) {
    if (all.*part < step * kResidue) all.*part = {};
  }
  return all;
}

}  // namespace

StepParts& StepParts::operator+=(const StepParts& other) {
  for (const auto part : kStepParts) this->*part += other.*part;
  return *this;
}

StepParts StepParts::times(double factor) const {
  StepParts all = *this;
  for (const auto part : kStepParts) all.*part = all.*part * factor;
  return all;
}

StepModel::StepModel(const Task& task, const Plan& shape, const Profiles& profiles,
                     const LayerOrder& order, const Deadline& deadline)
    : task_(task),
      shape_(shape),
      profiles_(profiles),
      order_(order),
      micro_batches_(task.global_batch / (shape.degrees.replicas() * shape.micro_batch)),
      deadline_(deadline) {}

// docs/training.md (10)
BlockTime StepModel::block_time(const BlockProfile& block, const Groups& groups,
                                Recompute recompute, const Offload& offload) const {
  if (task_.stack) return stack_block_time(block, groups, recompute);
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
  // A piece of attention hides the transfer of the next piece, so all pieces but the last hide a
  // transfer.
  const double hidden = 1.0 - 1.0 / number(groups.context.members());
  waits[0].context += positive_part(rings[0].context - block.attention_forward * hidden);
  waits[1].context += positive_part(rings[1].context - block.attention_backward * hidden);

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
  if (task_.machine.second_memory() && offload.any()) {
    const Bytes weights(offload.weights ? task_.pass.word.in_base_units() *
                                              (block.parameters + block.expert_parameters)
                                        : 0.0);
    const Bytes kept =
        recompute == Recompute::Full
            ? block.input
            : block.kept + (recompute == Recompute::None ? block.kept_scores : Bytes{});
    const Bytes activations = offload.activations ? kept : Bytes{};
    const Seconds copy = task_.machine.memory[1].time(weights + activations);
    copied[0] = positive_part(copy - (forward.time - forward.memory));
    copied[1] = positive_part(copy - (backward.time + again.time - backward.memory - again.memory));
  }

  const auto all = [](const Waits& w) { return w.tensor + w.context + w.expert; };
  return {.pass = {.forward = forward.time + all(waits[0]) + copied[0],
                   .backward = backward.time + again.time + all(waits[1]) + copied[1],
                   .weight_gradient = block.weight_gradient.time},
          .forward_kernels = forward.time,
          .backward_kernels = backward.time + again.time,
          .parts = {.compute = forward.time + backward.time,
                    .recompute = again.time,
                    .tensor = waits[0].tensor + waits[1].tensor,
                    .context = waits[0].context + waits[1].context,
                    .expert = waits[0].expert + waits[1].expert,
                    .offload = copied[0] + copied[1]}};
}

OptimizerWork optimizer_work(const Task& task, const Plan& plan, const BlockProfile& block) {
  const double all =
      task.stack ? trained_in(task, plan.degrees, block) : parameters_in(task, plan.degrees, block);
  const double experts = task.lora ? 0.0 : block.expert_parameters;
  const double updated = plan.zero == 0 ? all + experts
                                        : all / sharing_chips(task, plan.degrees, false) +
                                              experts / sharing_chips(task, plan.degrees, true);
  const double moved =
      2.0 * task.bytes.optimizer + task.bytes.gradient + task.pass.word.in_base_units();
  return {.updated = updated,
          .flop = Flops(kOptimizerFlops * updated),
          .moved = Bytes(moved * updated)};
}

// docs/training.md (11)
void StepModel::add_optimizer(const BlockProfile& block, BlockTime& time) const {
  const auto [updated, flop, moved] = optimizer_work(task_, shape_, block);
  if (task_.stack) {
    const stack::Setup& setup = *task_.stack;
    time.optimizer = Bytes(stack::kOptimizerBytes * updated) /
                     (setup.chip.memory * stack::kOptimizerShare) * setup.scenario.elementwise;
    return;
  }
  time.optimizer = task_.machine.vector.time(flop) + task_.machine.memory[0].time(moved);
  if (shape_.offload.optimizer && task_.machine.second_memory()) {
    const Bytes copied(2.0 * task_.bytes.optimizer * updated);
    time.optimizer_copies = positive_part(task_.machine.memory[1].time(copied) - time.optimizer);
  }
}

/// Time of the exchanges of the loss: tensor ranks divide the vocabulary, and exchange maximum and
/// sum.
Seconds StepModel::loss_exchanges(const Groups& groups) const {
  if (task_.model.vocabulary == 0 || task_.stack) return {};
  const double tokens = number(task_.pass.tokens) / number(shape_.degrees[Role::Context]) *
                        number(shape_.micro_batch);
  return kLossExchanges * groups.tensor.time(Exchange::AllReduce, Bytes(kLossBytes * tokens));
}

StepModel::Times StepModel::times(const Groups& groups) const {
  const auto block = [&](const BlockProfile& profile, Recompute recompute, const Offload& offload) {
    BlockTime time = block_time(profile, groups, recompute, offload);
    add_optimizer(profile, time);
    return time;
  };
  const auto layer = [&](Part part) {
    return block(of(profiles_, part), shape_.recompute, shape_.offload);
  };
  // The ends of the model are neither recomputed nor copied.
  const auto end = [&](Part part) { return block(of(profiles_, part), Recompute::None, {}); };
  Times times{.layer = layer(Part::Layer),
              .other_layer = layer(Part::OtherLayer),
              .first = end(Part::First),
              .last = end(Part::Last)};
  for (const BlockProfile& profile : profiles_.further) {
    times.further.push_back(block(profile, shape_.recompute, shape_.offload));
  }
  const Seconds loss = loss_exchanges(groups);
  times.last.pass.forward += loss;
  times.last.parts.tensor += loss;
  times.hops = hops(groups);
  if (task_.stack) times.link = stack_hop(groups) * number(shape_.chunks);
  return times;
}

Seconds StepModel::hops(const Groups& groups) const {
  if (task_.stack) {
    return stack_hop(groups) * (stack::kExposedHops * 2.0 * number(shape_.chunks)) + stack_host();
  }
  const Part handing = order_.layers > 0 ? Part::Layer : Part::OtherLayer;
  return 2.0 * number(shape_.chunks) * groups.pipeline.hop(of(profiles_, handing).input);
}

Pipeline StepModel::pipeline(const Times& times) const {
  PipelineTimes passes{.layer = times.layer.pass,
                       .other_layer = times.other_layer.pass,
                       .first = times.first.pass,
                       .last = times.last.pass,
                       .hops = times.hops,
                       .link = times.link,
                       .further = {}};
  for (const BlockTime& time : times.further) passes.further.push_back(time.pass);
  return {shape_.schedule, shape_.chunks,
          micro_batches_,  shape_.degrees[Role::Pipeline],
          passes,          order_.content(0, order_.all())};
}

StepParts StepModel::stage_parts(const Times& times, const StageContent& content) const {
  StepParts parts = times.layer.parts.times(number(content.layers));
  for (std::size_t kind = 1; kind < times.kinds(); ++kind) {
    parts += times.of_kind(kind).parts.times(number(content.of_kind(kind)));
  }
  if (content.first) parts += times.first.parts;
  if (content.last) parts += times.last.parts;
  const Seconds host = stack_host();
  parts.pipeline += times.hops - host;
  parts.host += host;
  return parts;
}

/// For tasks with a stack, the layers of a stage count as consecutive, since chunks of measured
/// plans may differ by a layer.
std::vector<StageContent> StepModel::contents(const std::vector<std::int64_t>& layers) const {
  return contents_of(layers, task_.stack ? 1 : shape_.chunks, order_);
}

bool StepModel::holds(std::int64_t stage, const StageContent& content) const {
  return fits(task_.machine,
              stage_memory(task_, shape_, profiles_, content, stage, micro_batches_));
}

// docs/training.md (11)
StepModel::OncePerStep StepModel::once_per_step(const Times& times, const Groups& groups,
                                                const StageContent& content) const {
  if (task_.stack) return stack_once_per_step(times, groups, content);
  double all = 0.0, experts = 0.0;
  OncePerStep once_per_step;
  const auto add = [&](Part part, const BlockTime& time, double count) {
    all += parameters_in(task_, shape_.degrees, of(profiles_, part)) * count;
    experts += of(profiles_, part).expert_parameters * count;
    once_per_step.optimizer += time.optimizer * count;
    once_per_step.copies += time.optimizer_copies * count;
  };
  add(Part::Layer, times.layer, number(content.layers));
  add(Part::OtherLayer, times.other_layer, number(content.other_layers));
  if (content.first) add(Part::First, times.first, 1.0);
  if (content.last) add(Part::Last, times.last, 1.0);

  const auto exchange = [&](Exchange kind, double bytes) {
    return groups.replicas.time(kind, Bytes(all * bytes)) +
           groups.expert_replicas.time(kind, Bytes(experts * bytes));
  };
  const double word = task_.pass.word.in_base_units();
  const Seconds reduced =
      exchange(shape_.zero == 0 ? Exchange::AllReduce : Exchange::ReduceScatter, task_.bytes.sent);
  const Seconds gathered = shape_.zero == 0 ? Seconds{} : exchange(Exchange::AllGather, word);
  // The kernels of all layers of the stage except one of the longest hide exchanges.
  const auto hidden = [&](Seconds BlockTime::*kernels) {
    if (!task_.data_overlap) return Seconds{};
    const Seconds plain = content.layers > 0 ? times.layer.*kernels : Seconds{};
    const Seconds of_experts = content.other_layers > 0 ? times.other_layer.*kernels : Seconds{};
    return plain * number(content.layers) + of_experts * number(content.other_layers) -
           std::max(plain, of_experts);
  };
  const Seconds forward = hidden(&BlockTime::forward_kernels);
  const Seconds backward = hidden(&BlockTime::backward_kernels);
  if (shape_.zero <= 1) {
    once_per_step.once = positive_part(reduced - backward) + positive_part(gathered - forward);
  } else if (shape_.zero == 2) {
    once_per_step.each = {.backward = reduced, .backward_hidden = backward};
    once_per_step.once = positive_part(gathered - forward);
  } else {
    once_per_step.each = {.forward = gathered,
                          .forward_hidden = forward,
                          .backward = gathered + reduced,
                          .backward_hidden = backward};
  }
  // The first and the last stage each have the weight of a tied embedding and head.
  if (task_.model.tied && stages() > 1 && (content.first || content.last)) {
    const Bytes half(of(profiles_, Part::Last).head_parameters * task_.bytes.sent / 2.0);
    once_per_step.once += groups.pipeline.hop(half) * 2.0;
  }
  return once_per_step;
}

StageCost StepModel::cost(const Pipeline& pipeline, const OncePerStep& once_per_step,
                          const StageContent& content) {
  const Pipeline::Pace pace = pipeline.pace(content, once_per_step.each);
  return {.forward = pace.forward,
          .backward = pace.backward,
          .after_last_backward = once_per_step.after_last_backward(),
          .single_stage_time =
              pipeline.single_stage_time(content, once_per_step.each, once_per_step.once) +
              once_per_step.after_last_backward()};
}

StageLimits StepModel::limits(const Groups& groups) const {
  const Times times = this->times(groups);
  return {
      .cost =
          [this, times, &groups, pipeline = this->pipeline(times)](const StageContent& content) {
            return cost(pipeline, once_per_step(times, groups, content), content);
          },
      .holds = [this](std::int64_t stage,
                      const StageContent& content) { return holds(stage, content); },
      .deadline = deadline_};
}

// docs/training.md (12)
std::optional<StepModel::Result> StepModel::step(const Groups& groups, Seconds most) const {
  const std::int64_t stages = this->stages();
  const StageLimits limits = this->limits(groups);
  const std::vector<std::int64_t>& given = task_.choices.layers;
  const bool has_chunks = shape_.schedule == Schedule::Interleaved;
  if (given.empty() && stages > 1 && !has_chunks) {
    return spread_layers(stages, order_, limits, most);
  }
  std::optional<Result> best;
  const auto take = [&](const std::vector<std::int64_t>& layers) {
    SpreadCost sum;
    std::int64_t stage = 0;
    for (const StageContent& content : contents(layers)) {
      if (!holds(stage++, content)) return;
      sum.add(limits.cost(content));
    }
    if (sum.step() <= most && (!best || sum.step() < best->step)) {
      best = Result{.layers = layers, .step = sum.step()};
    }
  };
  if (!given.empty() || stages == 1) {
    take(given.empty() ? std::vector<std::int64_t>{order_.all()} : given);
    return best;
  }
  // docs/search.md, section 15
  const Pipeline pipeline = this->pipeline(times(groups));
  const bool several_kinds = !order_.only_kind();
  const auto may_be_less = [&](const StageContent& content) {
    const Seconds floor = pipeline.pace(content, {}).total() * kLessRoundings;
    return floor <= most && (!best || floor < best->step) &&
           (several_kinds || holds(stages - 1, content));
  };
  const auto goes_on = [&](std::int64_t least) {
    deadline_.check();
    for (std::size_t kind = 0; kind < order_.kinds(); ++kind) {
      StageContent content;
      content.of_kind(kind) = least;
      if (order_.of_kind(kind) > 0 && may_be_less(content)) return true;
    }
    return false;
  };
  for_each_chunked(order_.all(), stages, shape_.chunks, goes_on, take);
  return best;
}

std::optional<Seconds> StepModel::floor(const Groups& anywhere, Seconds most) const {
  const auto result = step(anywhere, most * (1.0 / kLessRoundings));
  if (!result) return std::nullopt;
  return result->step * kLessRoundings;
}

Seconds StepModel::average_floor(const Groups& anywhere, Seconds passes) const {
  const double stages = number(shape_.degrees[Role::Pipeline]);
  return (passes / stages + hops(anywhere)) * number(micro_batches_) * kLessRoundings;
}

Seconds StepModel::passes(const Groups& groups) const {
  StepModel model = *this;
  model.any_schedule_ = true;
  Times times = model.times(groups);
  times.hops = times.link = {};
  StageContent all = order_.content(0, order_.all());
  all.first = all.last = true;
  return pipeline(times).passes(all).total();
}

StepModel::Detail StepModel::detail(const Groups& groups,
                                    const std::vector<std::int64_t>& layers) const {
  const Times times = this->times(groups);
  const Pipeline pipeline = this->pipeline(times);
  const std::vector<StageContent> contents = this->contents(layers);
  Detail detail;
  SpreadCost sum;
  std::vector<OncePerStep> per_stage;
  std::vector<StageCost> costs;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto stage = static_cast<std::int64_t>(i);
    const MemoryUse use =
        stage_memory(task_, shape_, profiles_, contents[i], stage, micro_batches_);
    const bool holds = fits(task_.machine, use);
    // A stage that does not fit counts as fuller than stages that fit.
    if (i == 0 || (holds == detail.fits ? use.total() > detail.memory.total() : detail.fits)) {
      detail.memory = use;
      detail.fullest = stage;
      detail.fits = holds;
    }
    per_stage.push_back(once_per_step(times, groups, contents[i]));
    costs.push_back(cost(pipeline, per_stage.back(), contents[i]));
    sum.add(costs.back());
    const auto slowest = static_cast<std::size_t>(detail.slowest);
    if (costs.back().pace() > costs[slowest].pace()) detail.slowest = stage;
  }
  if (task_.stack) {
    detail.judgement = judgement(task_, shape_, profiles_, contents, micro_batches_);
  }
  detail.step = sum.step();
  // The stage that ends last.  A stage ends after the pace of the slowest one, or after its time by
  // itself if that is longer.
  const auto ends = [&](const StageCost& stage) {
    return std::max(sum.pace() + stage.after_last_backward, stage.single_stage_time);
  };
  const auto last = static_cast<std::size_t>(
      std::max_element(costs.begin(), costs.end(),
                       [&](const StageCost& a, const StageCost& b) { return ends(a) < ends(b); }) -
      costs.begin());
  const auto slowest = static_cast<std::size_t>(detail.slowest);
  const double rounds = number(micro_batches_);
  const Seconds until_last_backward = ends(costs[last]) - costs[last].after_last_backward;
  // Not negative by rounding.
  const Seconds waited =
      positive_part(until_last_backward - pipeline.passes(contents[slowest]).total() * rounds);
  detail.parts = stage_parts(times, contents[slowest]).times(rounds);
  const Seconds exposed = std::min(waited, per_stage[slowest].each.exposed() * rounds +
                                               positive_part(until_last_backward - sum.pace()));
  detail.parts.data += exposed;
  detail.parts.bubble = waited - exposed;
  detail.parts.pipeline += per_stage[last].filling;
  detail.parts.host += per_stage[last].host;
  detail.parts.optimizer = per_stage[last].optimizer;
  detail.parts.offload += per_stage[last].copies;
  detail.parts = without_residues(detail.parts, detail.step);
  return detail;
}

}  // namespace dfsearch::training
