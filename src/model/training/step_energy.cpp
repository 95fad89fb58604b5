// The work of a plan is a sum over its chips, micro-batches and layers.  It does not depend on the
// stage of a layer or on the place of a group, whose members send the same bytes in any place.  So
// the network and the spread of the layers change only the time, and the least time of a shape
// gives its least energy.

#include "model/training/step_energy.hpp"

#include <algorithm>
#include <cmath>

#include "base/counts.hpp"
#include "model/training/evaluate.hpp"
#include "model/training/layouts.hpp"
#include "model/training/step.hpp"

namespace dfsearch::training {
namespace {

/// Exceeds the roundings of a cube root and of a sum.
constexpr double kMoreRoundings = 1.0 + 0x1p-36;

EnergyWork done(const EnergyRates& rates, Math math, Flops flop, Bytes moved, Bytes sent = {}) {
  return {flop * rates.of(math), moved * rates.memory, sent * rates.link};
}

/// Bytes that a member sends in an exchange of a value of the group.
Bytes sent(Exchange exchange, Bytes whole, std::int64_t members) {
  if (members == 1) return {};
  return Bytes(sent_elements({.exchange = exchange, .elements = whole.in_base_units()}, members));
}

/// The format of linear layers with a stack.
Math math_of(stack::Bits bits) {
  return bits == stack::Bits::Four    ? Math::Fp4
         : bits == stack::Bits::Eight ? Math::Fp8
                                      : Math::Bf16;
}

}  // namespace

/// Work of a block without a stack: kernels, recomputation and exchanges.
EnergyWork StepModel::block_work(const BlockProfile& block, Recompute recompute) const {
  const EnergyRates& rates = task_.machine.energy;
  WorkTime all = block.forward;
  all += block.input_gradient;
  all += block.weight_gradient;
  if (recompute == Recompute::Selective) all += block.scoring;
  if (recompute == Recompute::Full) all += block.forward;
  Bytes bytes{};
  for (const BlockExchange& exchange : block.exchanges) {
    const bool again = recompute == Recompute::Full && exchange.phase == Phase::Forward;
    const Bytes once = sent(exchange.exchange, exchange.whole, shape_.degrees[exchange.role]);
    bytes += once * (again ? 2.0 : 1.0);
  }
  const Math math = math_of_word(task_.pass.word, MathLibrary::Torch, task_.machine.peaks);
  return done(rates, math, all.flop, all.moved, bytes);
}

/// The operations that a backward pass repeats.
stack::Operations StepModel::recomputed(const stack::BlockWork& work, Recompute recompute) const {
  const stack::Operations& forward = work.forward.all;
  if (recompute == Recompute::Full) return forward;
  stack::Operations again;
  if (recompute == Recompute::EverySecondProduct) {
    again = forward.times(0.5);
    again += work.forward.attending.times(-0.5);
  } else if (memory::is_listed(recompute)) {
    using memory::Module;
    for (const auto& [name, module] : memory::words(Module{})) {
      const bool within = module == Module::ExpertActivation && has(recompute, Module::Experts);
      if (!has(recompute, module) || within) continue;
      again += work.module_operations[static_cast<std::size_t>(module)];
    }
  }
  if (work.is_layer) again += forward.times(recomputed_share());
  return again;
}

EnergyWork StepModel::stack_block_work(const BlockProfile& block, Recompute recompute) const {
  const EnergyRates& rates = task_.machine.energy;
  const stack::BlockWork& work = block.work;
  stack::Operations all = work.forward.all;
  all += work.backward.all;
  // Exchanges of the forward pass that the backward pass repeats.
  double again = 0.0, dispatched_again = 0.0;
  if (recompute != Recompute::None || recomputed_share() > 0.0) {
    all += recomputed(work, recompute);
    again = recompute == Recompute::Full ? 1.0 : work.is_layer ? recomputed_share() : 0.0;
    dispatched_again =
        again +
        (memory::is_listed(recompute) && has(recompute, memory::Module::Experts) ? 1.0 : 0.0);
  }
  const auto part = [](std::int64_t members) { return 1.0 - 1.0 / number(members); };
  const Degrees& degrees = shape_.degrees;
  const double sums = work.tensor_passes == stack::Passes::Two ? 2.0 : 1.0;
  const double wholes = sums * work.tensor_sums * (2.0 + again);
  // The backward pass gathers gradients of outputs, and inputs once more.
  const double gathers = work.tensor_gathers_forward * (3.0 + again);
  const Bytes bytes =
      (work.tensor_whole * wholes + work.tensor_gathered * gathers) * part(degrees[Role::Tensor]) +
      (work.ring * (3.0 + again) + work.shifted * (2.0 + again)) * part(degrees[Role::Context]) +
      work.dispatched * (2.0 * (2.0 + dispatched_again)) *
          part(expert_ranks(degrees, shape_.layout));
  EnergyWork sum =
      done(rates, math_of(task_.stack->bits()), Flops(all.low), Bytes(all.moved), bytes);
  sum.math += Flops(all.others) * rates.of(Math::Bf16);
  return sum;
}

/// The exchanges of replicas in a step, of gradients and weights: `all` elements of a chip, and
/// `experts` among the replicas of experts.
EnergyWork StepModel::replica_work(double all, double experts) const {
  const Degrees& degrees = shape_.degrees;
  const std::int64_t alike = degrees[Role::Context] * degrees[Role::Data];
  const bool for_each = shape_.zero == 3 && (!task_.stack || stages() == 1);
  const double batches = number(micro_batches_);
  const double reductions = for_each || (shape_.zero == 2 && !task_.stack) ? batches : 1.0;
  const double gathers = shape_.zero == 0 ? 0.0 : for_each ? 2.0 * batches : 1.0;
  const double word = task_.pass.word.in_base_units();
  const auto reduction = shape_.zero == 0 ? Exchange::AllReduce : Exchange::ReduceScatter;
  Bytes bytes{};
  for (const auto& [elements, members] :
       {std::pair(all, alike * degrees[Role::Expert]), std::pair(experts, alike)}) {
    bytes += sent(reduction, Bytes(elements * task_.bytes.sent), members) * reductions +
             sent(Exchange::AllGather, Bytes(elements * word), members) * gathers;
  }
  return done(task_.machine.energy, Math::Fp32, {}, {}, bytes);
}

// docs/energy.md (6)
EnergyWork StepModel::work(bool least) const {
  const EnergyRates& rates = task_.machine.energy;
  if (!rates.stated()) return {};
  EnergyWork passes, once;
  double all = 0.0, experts = 0.0;
  const auto add = [&](const BlockProfile& block, bool is_layer, std::int64_t layers) {
    const double count = number(layers);
    if (count == 0.0) return;
    const Recompute recompute = least || !is_layer ? Recompute::None : shape_.recompute;
    passes = passes + count * (task_.stack ? stack_block_work(block, recompute)
                                           : block_work(block, recompute));
    if (least) return;
    const OptimizerWork update = optimizer_work(task_, shape_, block);
    const Bytes moved = task_.stack ? Bytes(stack::kOptimizerBytes * update.updated) : update.moved;
    once = once + count * done(rates, Math::Fp32, update.flop, moved);
    all += count * (task_.stack ? trained_in(task_, shape_.degrees, block)
                                : parameters_in(task_, shape_.degrees, block));
    experts +=
        count * (task_.stack ? block.work.trained_expert_parameters : block.expert_parameters);
  };
  for (std::size_t kind = 0; kind < order_.kinds(); ++kind) {
    add(dfsearch::training::of_kind(profiles_, kind), true, order_.of_kind(kind));
  }
  add(of(profiles_, Part::First), false, 1);
  add(of(profiles_, Part::Last), false, 1);
  if (!least) {
    once = once + replica_work(all, experts);
    if (task_.model.tied && stages() > 1) {
      // Two stages have the weight, and each sends two halves.
      const double head = of(profiles_, Part::Last).head_parameters;
      once.links += Bytes(2.0 * head * task_.bytes.sent) * rates.link;
    }
    // Each chunk sends its output to the next chunk, and gets a gradient back.
    const double rows =
        number(task_.pass.tokens * shape_.micro_batch) / number(shape_.degrees[Role::Context]);
    const Part handing = order_.layers > 0 ? Part::Layer : Part::OtherLayer;
    const Bytes message = task_.stack ? task_.pass.word * (rows * number(task_.model.hidden))
                                      : of(profiles_, handing).input;
    const double borders = number(shape_.chunks * stages() - 1);
    passes.links += message * (2.0 * borders) * rates.link;
    if (!task_.stack && task_.model.vocabulary > 0) {
      passes.links +=
          kLossExchanges *
          sent(Exchange::AllReduce, Bytes(kLossBytes * rows), shape_.degrees[Role::Tensor]) *
          rates.link;
    }
  }
  const double chips = number(task_.machine.chips) / number(stages());
  return (chips * number(micro_batches_)) * passes + chips * once;
}

Score objective_value(const Task& task, Seconds step, const EnergyWork& work) {
  if (task.objective == Objective::StepTime) return Score(step.in_base_units());
  const Energy energy = energy_of(task.machine.energy, number(task.machine.chips), step, work);
  return task.objective == Objective::Edp ? Score(energy.product())
                                          : Score(energy.sum().in_base_units());
}

Score objective_floor(const Task& task, Seconds least_step, const EnergyWork& least_work) {
  const Score value = objective_value(task, least_step, least_work);
  return task.objective == Objective::StepTime ? value : value * (1.0 / kMoreRoundings);
}

// Let A be the static power of all chips, L their power between idle and cap, W the work and T the
// time at the full clock.  If T >= W / L, the clock is full and E = A T + W; otherwise the time is
// T^(2/3) (W/L)^(1/3) and E = T^(2/3) (A (W/L)^(1/3) + W^(1/3) L^(2/3)).
// docs/energy.md (7)
Seconds longest_step(const Task& task, const EnergyWork& work, Score most) {
  if (task.objective == Objective::StepTime || !(most < Score::infinity())) {
    return Seconds(most.in_base_units());
  }
  // If the work is nearly the whole value, a rounding changes the difference much.
  const double limit = most.in_base_units() * kMoreRoundings;
  const EnergyRates& rates = task.machine.energy;
  const double chips = number(task.machine.chips);
  const double a = chips * (rates.idle + rates.host).in_base_units();
  const double l = chips * (rates.cap - rates.idle).in_base_units();
  const double w = work.sum().in_base_units();
  const bool edp = task.objective == Objective::Edp;
  const double full = l < HUGE_VAL ? w / l : 0.0;
  double longest;
  if (limit >= (edp ? full : 1.0) * (a * full + w)) {
    longest = edp ? 2.0 * limit / (w + std::sqrt(w * w + 4.0 * a * limit)) : (limit - w) / a;
  } else if (w > limit && !(l < HUGE_VAL)) {
    return {};  // every step needs more energy
  } else {
    const double slower = std::cbrt(w / l);
    const double energy = a * slower + std::cbrt(w * l * l);
    longest = edp ? std::pow(limit / (energy * slower), 0.75) : std::pow(limit / energy, 1.5);
  }
  return Seconds(std::isnan(longest) ? HUGE_VAL : longest * kMoreRoundings);
}

}  // namespace dfsearch::training
