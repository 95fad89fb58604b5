#include "model/training/stack_run.hpp"

#include <numeric>
#include <utility>

#include "base/divisors.hpp"
#include "base/error.hpp"
#include "base/number.hpp"

namespace dfsearch::training {

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

/// As nanotron does: layer after layer goes to a stage until it has more than its part.
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

}  // namespace

RunTime run_time(const Task& task, const Plan& plan) {
  if (!task.stack) throw InternalError("a run without a stack is timed");
  Task unlimited = task;
  unlimited.machine.memory[0].capacity = Bytes::infinity();
  const std::int64_t stages = plan.degrees[Role::Pipeline];
  const bool by_cost = task.stack->stack.placement == stack::Placement::ByCost;
  if (by_cost && stages > 1 && task.choices.layers.empty()) {
    unlimited.choices.layers = layers_by_cost(task.model, stages);
  }
  const Profiles profiles = stack_profiles(unlimited, plan.degrees, plan.layout, plan.micro_batch);
  const StepModel model(unlimited, plan, profiles, layer_order(task.model));
  const Groups groups(task.machine, plan.network);
  // Plans that were run may have other chunks than those that are searched.
  const auto best = unlimited.choices.layers.empty() && stages > 1
                        ? spread_layers(stages, layer_order(task.model), model.limits(groups))
                        : model.step(groups);
  if (!best) throw InternalError("a run without limits of memory does not fit");
  const StepModel::Detail detail = model.detail(groups, best->layers);
  return {.step = detail.step,
          .parts = detail.parts,
          .memory = detail.memory,
          .fits = detail.memory.total() <= task.machine.memory[0].capacity,
          .layers = best->layers};
}

}  // namespace dfsearch::training
