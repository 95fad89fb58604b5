// The parts of a step with a stack.  Each grows, or stays, if a kernel, an exchange or the host
// takes longer: the work that hides an exchange is part of a maximum with it, so least times of
// groups give a floor of the step (docs/truth.md, sections 3 to 7).

#include <initializer_list>
#include <numeric>

#include "base/counts.hpp"
#include "model/stack/kernel_times.hpp"
#include "model/stack/link_times.hpp"
#include "model/training/step.hpp"

namespace dfsearch::training {
namespace {

using stack::LinkTimes;
using stack::Passes;
using stack::Reach;

/// The group of several roles at once.
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

/// The time where the members are, the least of all places if that is not decided.
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

/// The forward times of a set of modules; all experts contain their activation.
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
  const LinkTimes links(setup);
  const stack::BlockWork& work = block.work;
  const GroupReach tensor_group = together(groups, {Role::Tensor});
  const Seconds tensor_one =
      collective(links, tensor_group, work.tensor_whole.in_base_units(), work.tensor_passes) *
      (1.0 - stack::typical(setup.stack.tensor_overlap));
  const Seconds ring =
      collective(links, together(groups, {Role::Context}), work.ring.in_base_units(), Passes::One);
  Seconds dispatched{};
  bool across_domains = false;
  if (work.dispatched > Bytes{}) {
    const Experts& experts = *task_.model.experts;
    const bool whole = shape_.layout == TensorLayout::WholeExperts;
    const GroupReach group =
        whole ? together(groups, {Role::Tensor, Role::Expert}) : together(groups, {Role::Expert});
    // DeepSeek's models send a token to four domains at most.
    const double node_limit = task_.model.latent ? 4.0 : 0.0;
    dispatched = 2.0 * in_place(group, [&](const Reach& reach) {
                   return links.dispatch(work.dispatched, number(experts.used), node_limit, reach);
                 });
    across_domains = group.inside > 0 ? group.members > group.inside
                                      // Undecided: more is hidden across domains, so this is less.
                                      : group.members > 1;
  }
  const bool hides = across_domains && setup.stack.overlaps_dispatch;
  // All but the first piece of attention hides the next piece's way.
  const double pieces = 1.0 - 1.0 / number(shape_.degrees[Role::Context]);

  struct Direction {
    Seconds kernels{}, again{}, tensor{}, context{}, expert{}, host{};
    [[nodiscard]] Seconds device() const { return kernels + again + tensor + context + expert; }
  };
  Direction forward{.kernels = work.forward.total(),
                    .tensor = tensor_one * work.tensor_forward,
                    .context = positive_part(ring - work.forward.attention * pieces),
                    .host = work.host_forward};
  Direction backward{.kernels = work.backward.total(),
                     .tensor = tensor_one * work.tensor_backward,
                     .context = positive_part(2.0 * ring - work.backward.attention * pieces),
                     .host = work.host_backward};
  const auto exposed = [&](Seconds kernels) {
    if (!hides) return dispatched;
    return std::max(dispatched - kernels * stack::kHidingDispatch,
                    dispatched * (1.0 - stack::kHidingDispatch));
  };
  forward.expert = exposed(forward.kernels);
  backward.expert = exposed(backward.kernels);
  if (recompute == Recompute::Full) {
    backward.again = forward.kernels;
    backward.tensor += forward.tensor;
    backward.context += forward.context;
    backward.expert += dispatched;
    backward.host += work.host_forward;
  } else if (recompute == Recompute::EverySecondProduct) {
    backward.again = (work.forward.products + work.forward.elementwise) * 0.5;
    backward.host += work.host_forward * 0.5;
  } else if (memory::is_listed(recompute)) {
    backward.again = module_times(work, recompute);
    // All experts of a layer are sent for once more.
    if (has(recompute, memory::Module::Experts)) backward.expert += dispatched;
    if (forward.kernels > Seconds{}) {
      backward.host += work.host_forward * (backward.again / forward.kernels);
    }
  }
  const auto side_by_side = [exponent = stack::typical(setup.stack.host_exponent)](Seconds device,
                                                                                   Seconds host) {
    return stack::side_by_side(device, host, exponent);
  };
  const Seconds pass_forward = side_by_side(forward.device(), forward.host) + work.wait;
  const Seconds pass_backward = side_by_side(backward.device(), backward.host) + work.wait;

  // Weights that replicas divide are gathered for each micro-batch beside the kernels.
  Seconds gathered{}, reduced{};
  if (shape_.zero == 3 && shape_.degrees[Role::Pipeline] == 1) {
    const auto exchange = [&](double all, double experts, double bytes) {
      return collective(links, together(groups, {Role::Context, Role::Expert, Role::Data}),
                        all * bytes, Passes::One) +
             collective(links, together(groups, {Role::Context, Role::Data}), experts * bytes,
                        Passes::One);
    };
    gathered = exchange(block.parameters, block.expert_parameters, task_.pass.word.in_base_units());
    reduced = exchange(work.trained_parameters, work.trained_expert_parameters, task_.bytes.sent);
  }
  const double slowed = stack::typical(setup.stack.gather_interference);
  const auto overlapped = [&](Seconds pass, Seconds exchanges) {
    return std::max(pass, exchanges) + exchanges * slowed;
  };
  const Seconds all_forward = overlapped(pass_forward, gathered);
  const Seconds all_backward = overlapped(pass_backward, gathered + reduced);
  return {.pass = {.forward = all_forward, .backward = all_backward},
          .forward_kernels = side_by_side(forward.kernels, forward.host),
          .backward_kernels = side_by_side(backward.kernels + backward.again, backward.host),
          .parts = {.compute = forward.kernels + backward.kernels,
                    .recompute = backward.again,
                    .tensor = forward.tensor + backward.tensor,
                    .context = forward.context + backward.context,
                    .expert = forward.expert + backward.expert,
                    .data = all_forward - pass_forward + (all_backward - pass_backward),
                    .host = pass_forward - forward.device() + (pass_backward - backward.device())}};
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
  const auto add = [&](Part part, const BlockTime& time, double count) {
    const BlockProfile& block = of(profiles_, part);
    all += trained_in(task_, shape_.degrees, block) * count;
    experts += block.work.trained_expert_parameters * count;
    once_per_step.optimizer += time.optimizer * count;
    forward += time.forward_kernels * count;
    backward += time.backward_kernels * count;
  };
  add(Part::Layer, times.layer, number(content.layers));
  add(Part::OtherLayer, times.other_layer, number(content.other_layers));
  if (content.first) add(Part::First, times.first, 1.0);
  if (content.last) add(Part::Last, times.last, 1.0);
  const bool is_one_stage = content.first && content.last;
  once_per_step.host = stack::typical(setup.stack.host_step) * setup.scenario.host;
  const double stages = number(shape_.degrees[Role::Pipeline]);
  once_per_step.filling = stack_hop(groups) * (2.0 * number(shape_.chunks) * (stages - 1.0) *
                                               (1.0 - stack::kExposedHops));
  if (shape_.zero == 3 && is_one_stage) return once_per_step;

  const auto exchange = [&](double bytes, Passes passes) {
    return collective(links, together(groups, {Role::Context, Role::Expert, Role::Data}),
                      all * bytes, passes) +
           collective(links, together(groups, {Role::Context, Role::Data}), experts * bytes,
                      passes);
  };
  using stack::DataOverlap;
  const DataOverlap overlap = setup.stack.data_overlap;
  double hiding = overlap == DataOverlap::DistributedOptimizer ? stack::kHidingPass : 0.0;
  const auto exposed = [&](Seconds exchanges, Seconds pass) {
    return std::max(exchanges - pass * hiding, exchanges * stack::kLeastExposed);
  };
  if (shape_.zero == 0) {
    const Seconds reduced = exchange(task_.bytes.sent, Passes::Two);
    hiding = stack::kHidingPass;
    once_per_step.once = overlap == DataOverlap::Ddp ? exposed(reduced, backward) : reduced;
    return once_per_step;
  }
  // DDP reduces gradients without hooks whole on every replica.
  const bool is_whole = overlap == DataOverlap::Ddp && shape_.zero < 3;
  const Seconds reduced = exchange(task_.bytes.sent, is_whole ? Passes::Two : Passes::One);
  const Seconds gathered = exchange(task_.pass.word.in_base_units(), Passes::One);
  if (shape_.zero == 3) {
    // Once a step where there is a pipeline, beside the passes.
    hiding = 1.0;
    once_per_step.once = (reduced + gathered) * stack::typical(setup.stack.gather_interference);
  }
  once_per_step.once += exposed(reduced, backward) + exposed(gathered, forward);
  return once_per_step;
}

}  // namespace dfsearch::training
