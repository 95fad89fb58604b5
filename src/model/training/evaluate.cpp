#include "model/training/evaluate.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/counts.hpp"
#include "base/error.hpp"
#include "model/machine/price_power.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/schedule.hpp"
#include "model/training/stages.hpp"
#include "model/training/step_energy.hpp"

namespace dfsearch::training {

namespace {

void check(bool is_so, const char* what) {
  if (!is_so) throw InternalError(std::string("a plan of training steps: ") + what);
}

}  // namespace

bool is_placed(const Division& division) {
  const auto& order = division.order;
  return std::all_of(kRoles.begin(), kRoles.end(), [&](Role role) {
    return std::count(order.begin(), order.end(), role) == (division[role] > 1 ? 1 : 0);
  });
}

namespace {

void check_form(const Task& task, const Blocks& blocks, const Plan& plan) {
  const Degrees& degrees = plan.degrees;
  std::int64_t chips = 1;
  for (const Role role : kRoles) {
    chips *= degrees[role];
    std::int64_t divided = 1;
    for (const Degrees& dimension : plan.network) divided *= dimension[role];
    check(divided == degrees[role], "the network does not have its degrees");
  }
  for (std::size_t d = 0; d < plan.network.size() && d < task.machine.network.size(); ++d) {
    const bool placed = !task.machine.network[d].mesh || is_placed(plan.network[d]);
    check(placed, "a mesh does not have all roles");
  }
  check(chips == task.machine.chips, "the degrees are not those of the chips");
  check(plan.network.size() == task.machine.network.size(), "a dimension is missing");
  check(task.global_batch % (degrees.replicas() * plan.micro_batch) == 0,
        "the micro-batches do not divide the batch");
  check(static_cast<std::int64_t>(plan.layers.size()) == degrees[Role::Pipeline] &&
            std::accumulate(plan.layers.begin(), plan.layers.end(), std::int64_t{0}) ==
                blocks.layers(),
        "the layers of the stages are not those of the model");
  const std::int64_t micro_batches = task.global_batch / (degrees.replicas() * plan.micro_batch);
  check(is_possible(plan.schedule, plan.chunks, micro_batches, plan.layers),
        "its schedule does not have such stages, chunks and micro-batches");
}

}  // namespace

Profiles profiles_of(const Task& task, const Blocks& blocks, const Plan& plan,
                     const Fusions& fusions) {
  LayoutShelf shelf(task, blocks);
  if (task.style == Style::KernelByKernel) {
    return shelf.profiles(plan.degrees, plan.layout, plan.micro_batch);
  }
  Profiles profiles;
  for (const Part part : kParts) {
    if (!blocks[part]) continue;
    profiles[static_cast<std::size_t>(part)] =
        fused(fused_part(task, *blocks[part], shelf.layouts(part, plan.degrees, plan.layout),
                         plan.degrees, plan.micro_batch),
              fusions[static_cast<std::size_t>(part)], plan.schedule);
  }
  return profiles;
}

Flops model_flops(const Task& task) {
  const ModelCounts counts = count(task.model, task.pass.tokens, task.pass.word);
  Flops token =
      task.pass.causal ? counts.causal_training_flop_per_token : counts.training_flop_per_token;
  // Frozen weights have no gradients: a third of the products of linear layers.
  if (task.lora) token = token - Flops(2.0 * static_cast<double>(counts.matmul_parameters));
  return token * static_cast<double>(task.pass.tokens) * static_cast<double>(task.global_batch);
}

std::variant<Cost, Misfit> evaluate(const Task& task, const Blocks& blocks, const Plan& plan,
                                    const Fusions& fusions) {
  check_form(task, blocks, plan);
  const Profiles profiles = profiles_of(task, blocks, plan, fusions);
  const StepModel model(task, plan, profiles, blocks.order);
  const StepModel::Detail detail = model.detail(Groups(task.machine, plan.network), plan.layers);
  if (!detail.fits) {
    return Misfit{.stage = detail.fullest, .memory = detail.memory, .judgement = detail.judgement};
  }
  const FlopsPerSecond peak = task.machine.matrix.peak * static_cast<double>(task.machine.chips);
  const double tokens =
      static_cast<double>(task.pass.tokens) * static_cast<double>(task.global_batch);
  const FlopsPerSecond achieved = model_flops(task) / detail.step;
  Cost cost{.step_time = detail.step,
            .parts = detail.parts,
            .memory = detail.memory,
            .judgement = detail.judgement,
            .fullest = detail.fullest,
            .slowest = detail.slowest,
            .micro_batches = model.micro_batches(),
            .utilization = achieved / peak,
            .tokens_per_second = tokens / detail.step.in_base_units(),
            .price = system_price(task.machine),
            .power = system_power(task.machine)};
  if (cost.price > Dollars{}) cost.cost_efficiency = achieved / cost.price;
  if (cost.power > Watts{}) cost.power_efficiency = achieved / cost.power;
  const EnergyWork work = model.work();
  cost.objective = objective_value(task, detail.step, work);
  const EnergyRates& rates = task.machine.energy;
  if (rates.stated()) {
    cost.energy = energy_of(rates, static_cast<double>(task.machine.chips), detail.step, work);
  }
  return cost;
}

std::vector<NetworkDimension> network_of(const stack::MeasuredChip& chip, std::int64_t chips) {
  std::int64_t inside = 1;
  for (const std::int64_t part : divisors(chips)) {
    if (part <= chip.domain) inside = std::max(inside, part);
  }
  NetworkDimension domain{.topology = Topology::Switch, .bandwidth = chip.bus.back()};
  domain.degree = inside;
  NetworkDimension beyond{.topology = Topology::Switch, .bandwidth = chip.nic};
  beyond.degree = chips / inside;
  return {domain, beyond};
}

std::optional<std::vector<Division>> usual_network(const Machine& machine, const Degrees& degrees) {
  std::vector<Division> network(machine.network.size());
  Degrees left = degrees;
  for (std::size_t d = 0; d < network.size(); ++d) {
    std::int64_t open = *machine.network[d].degree;
    for (const Role role : kRoles) {
      const std::int64_t part = std::gcd(open, left[role]);
      network[d][role] = part;
      left[role] /= part;
      open /= part;
    }
    if (open > 1) return std::nullopt;
  }
  return left == Degrees() ? std::optional(std::move(network)) : std::nullopt;
}

namespace {

/// Spreads layers as nanotron does: a stage gets layers until it has more than its share.
std::vector<std::int64_t> layers_by_cost(const Transformer& model, std::int64_t stages) {
  const double hidden = number(model.hidden);
  const double layer = hidden * (4.0 * number(model.heads * model.head_dim) +
                                 number(model.mlp_matrices() * model.mlp));
  const double part =
      (number(model.layers) * layer + number(model.vocabulary) * hidden) / number(stages);
  std::vector<std::int64_t> layers(static_cast<std::size_t>(stages));
  std::size_t stage = 0;
  for (std::int64_t i = 1; i <= model.layers; ++i) {
    ++layers[stage];
    const bool is_full = number(i) * layer > part * number(static_cast<std::int64_t>(stage) + 1);
    if (is_full && stage + 1 < layers.size()) ++stage;
  }
  return layers;
}

/// Divides layers as Megatron-LM does: evenly or, if that is impossible, with embedding and loss as
/// layers of the first and the last stage (--account-for-embedding-in-pipeline-split and -loss-).
std::vector<std::int64_t> layers_by_slots(std::int64_t layers, std::int64_t stages,
                                          std::int64_t chunks) {
  std::int64_t ends = 2;
  for (const std::int64_t slots : {stages * chunks, stages}) {
    const auto divides = [&](std::int64_t more) { return (layers + more) % slots == 0; };
    if (divides(0) || divides(2) || divides(1)) {
      ends = divides(0) ? 0 : divides(2) ? 2 : 1;
      break;
    }
  }
  const std::int64_t all = layers + ends;
  std::vector<std::int64_t> slots(static_cast<std::size_t>(stages), all / stages);
  // The remaining slots go to the stages after the first one.
  for (std::int64_t i = 0; i < all % stages; ++i)
    ++slots[static_cast<std::size_t>(i + 1) % slots.size()];
  if (ends == 2) --slots.front();
  if (ends > 0) --slots.back();
  return slots;
}

}  // namespace

namespace {

/// Layers divided evenly; the first stages get the remaining layers.
std::vector<std::int64_t> even_layers(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> even(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t i = 0; i < layers % stages; ++i) ++even[static_cast<std::size_t>(i)];
  return even;
}

}  // namespace

RunTime run_time(const Task& task, const Plan& plan) {
  if (!task.stack) throw InternalError("a run without a stack is timed");
  Task unlimited = task;
  unlimited.machine.memory[0].capacity = Bytes::infinity();
  const std::int64_t stages = plan.degrees[Role::Pipeline];
  const bool by_cost = task.stack->stack.placement == stack::Placement::ByCost;
  const bool are_given = !task.choices.layers.empty() || stages == 1;
  if (by_cost && !are_given) unlimited.choices.layers = layers_by_cost(task.model, stages);
  const std::vector<std::int64_t> given = unlimited.choices.layers;
  // A stack with a distributed optimizer is Megatron's, which divides layers by slots.
  const bool by_slots = task.stack->stack.data_overlap == stack::DataOverlap::DistributedOptimizer;
  if (by_slots && given.empty() && !are_given && task.model.layers >= stages) {
    unlimited.choices.layers = layers_by_slots(task.model.layers, stages, plan.chunks);
  }
  const Profiles profiles = stack_profiles(unlimited, plan.degrees, plan.layout, plan.micro_batch);
  const StepModel model(unlimited, plan, profiles, layer_order(task.model));
  const Groups groups(task.machine, plan.network);
  // Measured plans may have numbers of chunks that are not searched.
  const auto best = unlimited.choices.layers.empty() && stages > 1
                        ? spread_layers(stages, layer_order(task.model), model.limits(groups))
                        : model.step(groups);
  if (!best) throw InternalError("a run without limits of memory does not fit");
  const StepModel::Detail detail = model.detail(groups, best->layers);
  // The best spread gives the times.  The given spread, or by default the even one, gives the
  // memory.
  const std::vector<std::int64_t> usual = even_layers(task.model.layers, stages);
  const StepModel::Detail usual_detail = model.detail(groups, given.empty() ? usual : given);
  const Bytes visible = task.machine.memory[0].capacity;
  MemoryJudgement judgement = *usual_detail.judgement;
  judgement.visible = visible;
  judgement.verdict = memory::verdict(judgement.needed, visible);
  std::vector<memory::ByLevel<memory::StageMemory>> held;
  for (const StageContent& content :
       contents_of(given.empty() ? usual : given, 1, layer_order(task.model))) {
    const std::int64_t stage = std::ssize(held);
    held.emplace_back();
    for (const memory::Level level : memory::kLevels) {
      held.back()[level] =
          memory_at(unlimited, plan, profiles, content, stage, model.micro_batches(), level);
    }
  }
  return {.step = detail.step,
          .parts = detail.parts,
          .memory = usual_detail.memory,
          .fits = usual_detail.memory.total() <= visible,
          .judgement = judgement,
          .stages = std::move(held),
          .layers = best->layers};
}

}  // namespace dfsearch::training
