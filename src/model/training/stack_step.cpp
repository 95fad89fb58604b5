// The parts of a step with a stack.  An exchange and the work that hides it are in one maximum, so
// no part falls if a kernel, an exchange or the host takes longer.  The least times of groups thus
// give a lower bound of the step (docs/truth.md, sections 3 to 7).

#include <bit>
#include <initializer_list>
#include <numeric>

#include "base/counts.hpp"
#include "model/stack/expert_layer.hpp"
#include "model/stack/kernel_times.hpp"
#include "model/stack/link_times.hpp"
#include "model/training/step.hpp"

namespace dfsearch::training {
namespace {

using stack::Constant;
using stack::LinkTimes;
using stack::Passes;
using stack::Reach;

/// The reach of the group of several roles.
GroupReach together(const Groups& groups, std::initializer_list<Role> roles) {
  GroupReach sum;
  for (const Role role : roles) {
    const GroupReach& one = groups.reach[static_cast<std::size_t>(role)];
    sum.members *= one.members;
    sum.inside *= one.inside;
    sum.domain = one.domain;
  }
  return sum;
}

/// The time of a group at its place, or the least time of all places if the place is undecided.
template <class Time>
Seconds in_place(const GroupReach& group, const Time& time) {
  const auto at = [&](std::int64_t inside) {
    return time(Reach{.inside = number(inside), .domains = number(group.members / inside)});
  };
  if (group.members == 1) return time(Reach{});
  if (group.inside > 0) return at(group.inside);
  Seconds least = Seconds::infinity();
  for (const std::int64_t inside : divisors(std::gcd(group.members, group.domain))) {
    least = std::min(least, at(inside));
  }
  return least;
}

Seconds collective(const LinkTimes& links, const GroupReach& group, double bytes, Passes passes) {
  return in_place(
      group, [&](const Reach& reach) { return links.collective(Bytes(bytes), reach, passes); });
}

/// The chips with the same weights outside of experts.
GroupReach replicas(const Groups& groups) {
  return together(groups, {Role::Context, Role::Expert, Role::Data});
}
/// The chips with the same experts.
GroupReach expert_replicas(const Groups& groups) {
  return together(groups, {Role::Context, Role::Data});
}

/// The nearest members of a group, among which states are divided, and the members that have the
/// same part of the states.
struct SharedGroup {
  GroupReach sharing, alike;
};
SharedGroup shared_group(const GroupReach& all, std::int64_t shard_group) {
  SharedGroup two{.sharing = all, .alike = {.domain = all.domain}};
  if (shard_group == 0) return two;
  two.sharing.members = std::gcd(all.members, shard_group);
  two.alike.members = all.members / two.sharing.members;
  if (all.inside > 0) {
    two.sharing.inside = std::gcd(all.inside, shard_group);
    two.alike.inside = all.inside / two.sharing.inside;
  } else {
    two.alike.inside = 0;
  }
  return two;
}

/// Weights are gathered among the replicas that divide them; gradients are also added up among the
/// replicas with the same part.
template <class Time>
Seconds gather_of(const SharedGroup& group, double bytes, const Time& time) {
  return time(group.sharing, bytes, Passes::One);
}
template <class Time>
Seconds reduction_of(const SharedGroup& group, double bytes, const Time& time) {
  return time(group.sharing, bytes, Passes::One) +
         time(group.alike, bytes / number(group.sharing.members), Passes::Two);
}

/// The forward time of a set of modules; Experts includes ExpertActivation.
Seconds module_times(const stack::BlockWork& work, Recompute modules) {
  using memory::Module;
  Seconds sum{};
  for (const auto& [name, module] : memory::words(Module{})) {
    const bool is_within = module == Module::ExpertActivation && has(modules, Module::Experts);
    if (has(modules, module) && !is_within) {
      sum += work.module_forward[static_cast<std::size_t>(module)];
    }
  }
  return sum;
}

}  // namespace

// docs/truth.md (5), (7)
BlockTime StepModel::stack_block_time(const BlockProfile& block, const Groups& groups,
                                      Recompute recompute) const {
  const stack::Setup& setup = *task_.stack;
  const stack::Stack& software = setup.stack;
  const LinkTimes links(setup);
  const stack::BlockWork& work = block.work;
  const GroupReach tensor_group = together(groups, {Role::Tensor});
  const double waited = uses_buffers() ? 1.0 - stack::typical(software.tensor_overlap) : 1.0;
  const auto among_tensor_ranks = [&](Bytes whole, Passes passes) {
    return collective(links, tensor_group, whole.in_base_units(), passes) * waited;
  };
  const Seconds sum = among_tensor_ranks(work.tensor_whole, work.tensor_passes);
  const Seconds gather = among_tensor_ranks(work.tensor_gathered, Passes::One);
  const Seconds ring =
      collective(links, together(groups, {Role::Context}), work.ring.in_base_units(), Passes::One);
  // Scans divide heads, so two all-to-alls exchange all tokens.
  const Seconds shifted = collective(links, together(groups, {Role::Context}),
                                     work.shifted.in_base_units(), Passes::One);
  const stack::Switches switches = setup.switches(task_.model.experts.has_value());
  const Seconds dispatched = 2.0 * dispatch_time(work.dispatched, groups, switches.dispatcher);
  const double hidden = overlaps_experts(switches) ? stack::typical(software.expert_hidden) : 0.0;
  // A piece of attention hides the transfer of the next piece, so all pieces but the last hide a
  // transfer.
  const double pieces = 1.0 - 1.0 / number(shape_.degrees[Role::Context]);

  struct Direction {
    Seconds kernels{}, again{}, tensor{}, context{}, host{}, again_sent{};
    [[nodiscard]] Seconds device() const { return kernels + again + tensor + context; }
  };
  Direction forward{.kernels = work.forward.total(),
                    .tensor = sum * work.tensor_sums + gather * work.tensor_gathers_forward,
                    .context = positive_part(ring - work.forward.attention * pieces) + shifted,
                    .host = work.host.forward};
  Direction backward{
      .kernels = work.backward.total(),
      .tensor = sum * work.tensor_sums + gather * work.tensor_gathers_backward,
      .context = positive_part(2.0 * ring - work.backward.attention * pieces) + shifted,
      .host = work.host.backward};
  // Adds the recomputation of whole layers, with their exchanges; `share` is the share of such
  // layers.
  const auto add_again = [&](double share) {
    backward.again += forward.kernels * share;
    backward.tensor += forward.tensor * share;
    backward.context += forward.context * share;
    backward.again_sent += dispatched * share;
    backward.host += work.host.forward * share;
  };
  if (recompute == Recompute::Full) {
    add_again(1.0);
  } else if (recompute == Recompute::EverySecondProduct) {
    backward.again = (work.forward.products + work.forward.elementwise) * 0.5;
    backward.host += work.host.forward * 0.5;
  } else {
    if (memory::is_listed(recompute)) {
      backward.again = module_times(work, recompute);
      // Tokens are sent to the experts of a layer and back once more.
      if (has(recompute, memory::Module::Experts)) backward.again_sent += dispatched;
      const double modules = std::popcount(static_cast<unsigned>(recompute));
      if (!switches.replays_layers) {
        backward.host += stack::typical(software.module_host) * (modules * setup.scenario.host);
      }
    }
  }
  if (block.work.is_layer && recompute != Recompute::Full) add_again(recomputed_share());
  const auto side_by_side = [exponent = stack::typical(setup.stack.host_exponent)](Seconds device,
                                                                                   Seconds host) {
    return stack::side_by_side(device, host, exponent);
  };
  const Seconds device_forward = stack::with_exchanges(forward.device(), dispatched, hidden);
  const Seconds device_backward =
      stack::with_exchanges(backward.device(), dispatched, hidden) + backward.again_sent;
  const double copied = block.work.is_layer ? copied_factor() : 1.0;
  const Seconds pass_forward = side_by_side(device_forward, forward.host) * copied;
  const Seconds pass_backward = side_by_side(device_backward, backward.host) * copied;

  // Weights that replicas divide are gathered for each micro-batch, while kernels run.
  Seconds gathered{}, reduced{};
  if (shape_.zero == 3 && shape_.degrees[Role::Pipeline] == 1) {
    const auto time = [&](const GroupReach& group, double bytes, Passes passes) {
      return collective(links, group, bytes, passes);
    };
    const SharedGroup all = shared_group(replicas(groups), software.software.shard_group);
    const SharedGroup experts =
        shared_group(expert_replicas(groups), software.software.shard_group);
    const double word = task_.pass.word.in_base_units(), sent = task_.bytes.sent;
    gathered = gather_of(all, block.parameters * word, time) +
               gather_of(experts, block.expert_parameters * word, time);
    reduced = reduction_of(all, work.trained_parameters * sent, time) +
              reduction_of(experts, work.trained_expert_parameters * sent, time);
  }
  const double slowed = stack::typical(setup.stack.gather_interference);
  const auto overlapped = [&](Seconds pass, Seconds exchanges) {
    return std::max(pass, exchanges) + exchanges * slowed;
  };
  const Seconds all_forward = overlapped(pass_forward, gathered);
  const Seconds all_backward = overlapped(pass_backward, gathered + reduced);
  return {
      .pass = {.forward = all_forward, .backward = all_backward},
      .forward_kernels = side_by_side(forward.kernels, forward.host),
      .backward_kernels = side_by_side(backward.kernels + backward.again, backward.host),
      .parts = {.compute = forward.kernels + backward.kernels,
                .recompute = backward.again,
                .tensor = forward.tensor + backward.tensor,
                .context = forward.context + backward.context,
                .expert = device_forward - forward.device() + (device_backward - backward.device()),
                .data = all_forward - pass_forward + (all_backward - pass_backward),
                .host = pass_forward - device_forward + (pass_backward - device_backward)}};
}

/// Whether kernels of tensor ranks exchange data while they multiply.
bool StepModel::uses_buffers() const {
  const stack::Setup& setup = *task_.stack;
  const bool has_them = !task_.model.experts && setup.bits() != stack::Bits::Four;
  return setup.stack.software.user_buffers.value_or(has_them);
}

/// The combined 1F1B of Megatron Core needs a second chunk of the stage for the other pass.
bool StepModel::overlaps_experts(const stack::Switches& switches) const {
  return switches.expert_overlap &&
         (any_schedule_ || shape_.degrees[Role::Pipeline] == 1 || shape_.chunks > 1);
}

/// The share of the layers of a chunk that are recomputed whole; the least share of all pipelines
/// if the pipeline is undecided.
// docs/truth.md (23)
double StepModel::recomputed_share() const {
  const double chunks =
      any_schedule_ ? 1.0 : number(shape_.degrees[Role::Pipeline]) * number(shape_.chunks);
  const double layers = number(task_.stack->stack.software.recompute_layers);
  return std::min(1.0, layers * chunks / number(task_.model.layers));
}

/// Copies to the memory of the host slow the passes of a layer down: with copies of all layers,
/// passes took 1.6 to 2 % longer in measurements.
double StepModel::copied_factor() const {
  constexpr double kSlowed = 0.018;
  const double layers = number(task_.stack->stack.software.offload_layers);
  return 1.0 + kSlowed * std::min(1.0, layers / number(task_.model.layers));
}

/// The time to send the tokens of a chip to experts, or back; at the fastest place if places are
/// undecided.
Seconds StepModel::dispatch_time(Bytes sent, const Groups& groups,
                                 stack::Dispatcher dispatcher) const {
  if (!(sent > Bytes{})) return {};
  const bool whole = shape_.layout == TensorLayout::WholeExperts;
  const GroupReach group =
      whole ? together(groups, {Role::Tensor, Role::Expert}) : together(groups, {Role::Expert});
  const Experts& experts = *task_.model.experts;
  const std::int64_t width = experts.latent > 0 ? experts.latent : task_.model.hidden;
  const stack::SentTokens tokens{.all = sent,
                                 .row = Bytes(stack::kWord * number(width)),
                                 .used = number(experts.used),
                                 // DeepSeek's models send a token to four domains at most.
                                 .node_limit = task_.model.latent ? 4.0 : 0.0};
  return in_place(group, [&](const Reach& reach) {
    return LinkTimes(*task_.stack).dispatch(tokens, reach, dispatcher);
  });
}

Seconds StepModel::stack_hop(const Groups& groups) const {
  if (shape_.degrees[Role::Pipeline] == 1) return {};
  const double rows = number(task_.pass.tokens) * number(shape_.micro_batch) /
                      number(shape_.degrees[Role::Context]);
  const Bytes message = task_.pass.word * (rows * number(task_.model.hidden));
  return in_place(together(groups, {Role::Pipeline}), [&](const Reach& reach) {
    return LinkTimes(*task_.stack)
        .hop(message, reach.domains > 1.0, number(shape_.degrees[Role::Tensor]));
  });
}

// docs/truth.md (8)
Seconds StepModel::stack_host() const {
  if (!task_.stack) return {};
  return stack::typical(task_.stack->stack.host_micro_batch) * task_.stack->scenario.host;
}

StepModel::OncePerStep StepModel::stack_once_per_step(const Times& times, const Groups& groups,
                                                      const StageContent& content) const {
  const stack::Setup& setup = *task_.stack;
  const LinkTimes links(setup);
  double all = 0.0, experts = 0.0;
  OncePerStep once_per_step;
  Seconds forward{}, backward{};
  PassTime layers;
  const auto add = [&](const BlockProfile& block, const BlockTime& time, double count) {
    all += trained_in(task_, shape_.degrees, block) * count;
    experts += block.work.trained_expert_parameters * count;
    once_per_step.optimizer += time.optimizer * count;
    forward += time.forward_kernels * count;
    backward += time.backward_kernels * count;
    if (!block.work.is_layer) return;
    layers.forward += time.pass.forward * count;
    layers.backward += time.pass.backward * count;
  };
  for (std::size_t kind = 0; kind < times.kinds(); ++kind) {
    add(dfsearch::training::of_kind(profiles_, kind), times.of_kind(kind),
        number(content.of_kind(kind)));
  }
  if (content.first) add(of(profiles_, Part::First), times.first, 1.0);
  if (content.last) add(of(profiles_, Part::Last), times.last, 1.0);
  const bool is_one_stage = content.first && content.last;
  once_per_step.host = stack::typical(setup.stack.host_step) * setup.scenario.host;
  const double stages = number(shape_.degrees[Role::Pipeline]);
  once_per_step.filling = stack_hop(groups) * (2.0 * number(shape_.chunks) * (stages - 1.0) *
                                               (1.0 - stack::kExposedHops));
  if (shape_.zero == 3 && is_one_stage) return once_per_step;

  using stack::DataOverlap;
  const DataOverlap overlap = setup.stack.data_overlap;
  if (overlap == DataOverlap::DistributedOptimizer && (shape_.zero == 1 || shape_.zero == 2)) {
    once_per_step.once = bucketed_exchanges(groups, all, experts, layers);
    return once_per_step;
  }
  const auto time = [&](const GroupReach& group, double bytes, Passes passes) {
    return collective(links, group, bytes, passes);
  };
  const double sent = task_.bytes.sent, word = task_.pass.word.in_base_units();
  const Seconds summed_whole = time(replicas(groups), all * sent, Passes::Two) +
                               time(expert_replicas(groups), experts * sent, Passes::Two);
  const Constant<double>& least = setup.stack.exposed;
  const double least_exposed = least.empty() ? stack::kLeastExposed : stack::typical(least);
  double hiding = 0.0;
  const auto exposed = [&](Seconds exchanges, Seconds pass) {
    return stack::exposed_beside(exchanges, pass, hiding, least_exposed);
  };
  if (shape_.zero == 0) {
    hiding = stack::typical(setup.stack.data_hidden);
    once_per_step.once =
        overlap == DataOverlap::Ddp ? exposed(summed_whole, backward) : summed_whole;
    return once_per_step;
  }
  // DDP with divided states has no hooks: every replica reduces whole gradients.
  const bool is_whole = overlap == DataOverlap::Ddp && shape_.zero < 3;
  const SharedGroup dense = shared_group(replicas(groups), setup.stack.software.shard_group);
  const SharedGroup of_experts =
      shared_group(expert_replicas(groups), setup.stack.software.shard_group);
  const Seconds reduced = is_whole ? summed_whole
                                   : reduction_of(dense, all * sent, time) +
                                         reduction_of(of_experts, experts * sent, time);
  const Seconds gathered =
      gather_of(dense, all * word, time) + gather_of(of_experts, experts * word, time);
  if (shape_.zero == 3) {
    // In a pipeline, weights are gathered and gradients reduced once a step, while passes run.
    hiding = 1.0;
    once_per_step.once = (reduced + gathered) * stack::typical(setup.stack.gather_interference);
  }
  once_per_step.once += exposed(reduced, backward) + exposed(gathered, forward);
  return once_per_step;
}

/// Elements of a stage with an even part of the layers and with the head.  The number of buckets
/// follows from them, so it is the same for all stages.
// docs/truth.md (21)
StepModel::StageElements StepModel::mean_elements() const {
  const double stages = number(shape_.degrees[Role::Pipeline]);
  StageElements sum;
  const auto add = [&](const BlockProfile& block, double count) {
    sum.shared += trained_in(task_, shape_.degrees, block) * count;
    sum.experts += block.work.trained_expert_parameters * count;
  };
  for (std::size_t kind = 0; kind < order_.kinds(); ++kind) {
    add(dfsearch::training::of_kind(profiles_, kind), number(order_.of_kind(kind)) / stages);
  }
  add(of(profiles_, Part::Last), 1.0);
  if (stages == 1.0) add(of(profiles_, Part::First), 1.0);
  return sum;
}

/// The exchanges of a distributed optimizer.  Gradients are reduced bucket by bucket during the
/// last backward pass, and weights are gathered during the first forward pass.  Nothing hides the
/// last bucket of gradients and the first bucket of weights.
// docs/truth.md (21)
Seconds StepModel::bucketed_exchanges(const Groups& groups, double all, double experts,
                                      const PassTime& layers) const {
  constexpr double kTensorsOfLayer = 9.0;
  const stack::Setup& setup = *task_.stack;
  const LinkTimes links(setup);
  const std::int64_t shard_group = setup.stack.software.shard_group;
  const SharedGroup dense = shared_group(replicas(groups), shard_group);
  const SharedGroup of_experts = shared_group(expert_replicas(groups), shard_group);
  const StageElements mean = mean_elements();
  const double size =
      std::max(stack::typical(setup.stack.bucket),
               stack::typical(setup.stack.bucket_of_rank) * number(replicas(groups).members));
  const auto buckets = [&](double elements) { return std::max(1.0, elements / size); };
  const auto ring = [&](double of_mean) {
    return [&, of_mean](const GroupReach& group, double bytes, Passes passes) {
      return in_place(group, [&](const Reach& reach) {
        return links.ring(Bytes(bytes), reach, passes, buckets(of_mean));
      });
    };
  };
  const Constant<double>& given = setup.stack.exposed;
  const double least = std::max(1.0 / buckets(mean.shared + mean.experts),
                                given.empty() ? 0.0 : stack::typical(given));
  const auto exposed = [&](Seconds exchanges, Seconds pass) {
    return stack::exposed_beside(exchanges, pass, stack::typical(setup.stack.data_hidden), least);
  };
  const double sent = task_.bytes.sent, word = task_.pass.word.in_base_units();
  const Seconds reduced = exposed(reduction_of(dense, all * sent, ring(mean.shared)) +
                                      reduction_of(of_experts, experts * sent, ring(mean.experts)),
                                  layers.backward);
  using stack::ParameterExchange;
  if (setup.stack.software.parameter_exchange == ParameterExchange::AllGather) {
    return reduced + exposed(gather_of(dense, all * word, ring(mean.shared)) +
                                 gather_of(of_experts, experts * word, ring(mean.experts)),
                             layers.forward);
  }
  // Each owner broadcasts the weights that it has updated, one after the other, while all chips
  // wait.
  const double tensors = kTensorsOfLayer * number(task_.model.layers);
  const auto broadcast = [&](const SharedGroup& group, double elements) {
    return in_place(group.sharing, [&](const Reach& reach) {
      return links.broadcasts(Bytes(elements * word), reach, std::min(reach.members(), tensors));
    });
  };
  return reduced + broadcast(dense, all) + broadcast(of_experts, experts);
}

}  // namespace dfsearch::training
