#include "engine/training/plan_space.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/counts.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "model/training/decisions.hpp"
#include "model/training/framework.hpp"
#include "model/training/groups.hpp"
#include "model/training/memory.hpp"
#include "model/training/schedule.hpp"

namespace dfsearch::training {

namespace {

// Some milliseconds.
constexpr std::int64_t kDivisionsBetweenChecks = 10'000;

/// Enumerates the divisions of the network, dimension after dimension, role after role.
class NetworkEnumeration {
 public:
  /// Returns the ways to place a division on a mesh.
  using Placed = std::function<std::vector<Division>(std::size_t d, const Degrees& degrees)>;

  NetworkEnumeration(const Task& task, const Degrees& degrees, Placed placed,
                     const Deadline& deadline)
      : task_(task),
        left_(degrees),
        placed_(std::move(placed)),
        deadline_(deadline, kDivisionsBetweenChecks) {}

  std::vector<std::vector<Division>> run() {
    for (const NetworkDimension& dimension : task_.machine.network) {
      divisors_.push_back(divisors(*dimension.degree));
    }
    network_.assign(task_.machine.network.size(), Division());
    next(0);
    return std::move(found_);
  }

 private:
  void divide(std::size_t d, std::size_t r, std::int64_t degree) {
    deadline_.check();
    if (r == kRoles.size()) {
      if (degree > 1) return;
      if (!task_.machine.network[d].mesh) return next(d + 1);
      const Division unplaced = network_[d];
      for (Division& division : placed_(d, unplaced)) {
        network_[d] = std::move(division);
        next(d + 1);
      }
      network_[d] = unplaced;
      return;
    }
    const Role role = kRoles[r];
    const auto& pins = task_.choices.network;
    const bool closed = d < pins.size() && pins[d] && *pins[d] != role;
    const std::int64_t most = closed ? 1 : std::gcd(degree, left_[role]);
    // The last role takes the remaining degree of the dimension.
    const std::int64_t least = r + 1 == kRoles.size() ? degree : 1;
    for (const std::int64_t part : divisors_[d]) {
      if (part < least || most % part != 0) continue;
      network_[d][role] = part;
      left_[role] /= part;
      divide(d, r + 1, degree / part);
      left_[role] *= part;
    }
    network_[d][role] = 1;
  }

  void next(std::size_t d) {
    if (d == network_.size()) {  // also reached at once, if one chip has no network
      if (left_ == Degrees()) found_.push_back(network_);
      return;
    }
    divide(d, 0, *task_.machine.network[d].degree);
  }

  const Task& task_;
  Degrees left_;
  const Placed placed_;
  PacedDeadline deadline_;
  std::vector<std::vector<std::int64_t>> divisors_;  // of the degree of each dimension
  std::vector<Division> network_;
  std::vector<std::vector<Division>> found_;
};

}  // namespace

PlanSpace::PlanSpace(const Task& task) : task_(task), blocks_(blocks_of(task)) {}

std::vector<Degrees> PlanSpace::inner_degrees() const {
  const auto& choice = task_.choices.degrees;
  const auto may = [&](Role role, std::int64_t degree) {
    return choice[static_cast<std::size_t>(role)].allows(degree);
  };
  std::vector<Degrees> found;
  Degrees degrees;
  const MixedLayers* const mixed = task_.model.mixed.get();
  const std::int64_t heads = mixed ? task_.machine.chips : task_.model.heads;
  for (const std::int64_t tensor : divisors(std::gcd(task_.machine.chips, heads))) {
    degrees[Role::Tensor] = tensor;
    const std::int64_t left = task_.machine.chips / tensor;
    for (const std::int64_t context : divisors(std::gcd(left, task_.pass.tokens))) {
      degrees[Role::Context] = context;
      if (mixed && !mixed->misfit(tensor, context, Runner::Training).empty()) continue;
      const std::int64_t experts = task_.model.experts ? task_.model.experts->count : 1;
      for (const std::int64_t expert : divisors(std::gcd(left / context, experts))) {
        degrees[Role::Expert] = expert;
        if (may(Role::Tensor, tensor) && may(Role::Context, context) &&
            task_.allows_experts(degrees)) {
          found.push_back(degrees);
        }
      }
    }
  }
  return found;
}

std::vector<Degrees> PlanSpace::degrees(const Degrees& inner) const {
  const auto& choice = task_.choices.degrees;
  const std::int64_t left =
      task_.machine.chips / (inner[Role::Tensor] * inner[Role::Context] * inner[Role::Expert]);
  const bool is_split = !task_.model.mixed || task_.model.mixed->unsplit().empty();
  std::vector<Degrees> found;
  for (const std::int64_t data : divisors(left)) {
    Degrees degrees = inner;
    degrees[Role::Data] = data;
    degrees[Role::Pipeline] = left / data;
    const bool divides_batch = task_.global_batch % degrees.replicas() == 0;
    const auto& layers = task_.choices.layers;
    const bool has_stages =
        (layers.empty() || static_cast<std::int64_t>(layers.size()) == degrees[Role::Pipeline]) &&
        (degrees[Role::Pipeline] == 1 || is_split);
    if (divides_batch && has_stages && degrees[Role::Pipeline] <= blocks_.layers() &&
        choice[static_cast<std::size_t>(Role::Data)].allows(degrees.replicas()) &&
        choice[static_cast<std::size_t>(Role::Pipeline)].allows(degrees[Role::Pipeline]) &&
        (!task_.framework ||
         unsupported_features(*task_.framework, task_.facts(), degrees).empty())) {
      found.push_back(degrees);
    }
  }
  return found;
}

std::vector<std::int64_t> PlanSpace::micro_batches(const Degrees& degrees) const {
  return within(divisors(task_.global_batch / degrees.replicas()), task_.choices.micro_batches);
}

std::vector<TensorLayout> PlanSpace::layouts(const Degrees& degrees, LayoutShelf& shelf,
                                             const Deadline& deadline) const {
  if (degrees[Role::Tensor] == 1) return {TensorLayout::LeastSent};
  const std::vector<TensorLayout>& chosen = task_.choices.layouts;
  if (task_.stack) {
    std::vector<TensorLayout> layouts = within(stack_layouts(degrees), chosen);
    std::erase_if(layouts, [&](TensorLayout each) { return !task_.allows_experts(degrees, each); });
    return layouts;
  }
  const bool is_named =
      task_.framework ||
      (!chosen.empty() && std::none_of(chosen.begin(), chosen.end(), place_in_front));
  if (is_named) return within({TensorLayout::LeastSent, TensorLayout::LeastKept}, chosen);
  return within(shelf.tensor_layouts(degrees, deadline), chosen);
}

std::vector<TensorLayout> PlanSpace::stack_layouts(const Degrees& degrees) const {
  std::vector<TensorLayout> layouts{TensorLayout::LeastSent, TensorLayout::LeastKept};
  if (task_.may_have_whole_experts(degrees)) layouts.push_back(TensorLayout::WholeExperts);
  return layouts;
}

std::optional<TensorLayout> PlanSpace::first_layout(const Degrees& degrees) const {
  if (degrees[Role::Tensor] == 1) return TensorLayout::LeastSent;
  if (!task_.allows_experts(degrees, TensorLayout::LeastSent)) return std::nullopt;
  const std::vector<TensorLayout> named =
      within({TensorLayout::LeastKept, TensorLayout::LeastSent}, task_.choices.layouts);
  if (named.empty()) return std::nullopt;
  return named.front();
}

std::vector<Plan> PlanSpace::shapes(const Degrees& degrees, std::int64_t micro_batch,
                                    TensorLayout layout) const {
  const ModelFacts facts = task_.facts();
  std::vector<Plan> found;
  Plan plan;
  plan.degrees = degrees;
  plan.micro_batch = micro_batch;
  plan.layout = layout;
  const auto decide = [&](const auto& next, std::size_t i) -> void {
    if (i == decisions().size()) {
      if (!task_.framework || unsupported_features(*task_.framework, facts, plan).empty())
        found.push_back(plan);
      return;
    }
    const Decision& decision = decisions()[i];
    if (!decision.values) return next(next, i + 1);
    for (const std::int64_t value : decision.values({task_, plan, blocks_.layers()})) {
      decision.set(plan, value);
      next(next, i + 1);
    }
  };
  decide(decide, 0);
  return found;
}

std::vector<std::vector<Division>> PlanSpace::networks(const Degrees& degrees, TensorLayout layout,
                                                       const Deadline& deadline) const {
  std::vector<std::vector<Division>> found;
  if (const auto& given = task_.choices.divisions; !given.empty()) {
    Degrees left = degrees;
    for (const Division& division : given) {
      for (const Role role : kRoles) {
        left[role] = left[role] % division[role] == 0 ? left[role] / division[role] : 0;
      }
    }
    if (left == Degrees()) found.push_back(given);
    return found;
  }
  const auto placed = [this](std::size_t d, const Degrees& of) { return this->placed(d, of); };
  found = NetworkEnumeration(task_, degrees, placed, deadline).run();
  if (task_.framework) {
    std::erase_if(
        found, [&](const auto& network) { return !can_number(*task_.framework, network, layout); });
  }
  return found;
}

std::vector<Division> PlanSpace::placed(std::size_t dimension, const Degrees& degrees) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = placed_.find({dimension, degrees});
    if (found != placed_.end()) return found->second;
  }
  std::vector<Division> divisions =
      unbeaten_divisions(*task_.machine.network[dimension].mesh, degrees);
  const std::lock_guard lock(mutex_);
  placed_.try_emplace({dimension, degrees}, divisions);
  return divisions;
}

namespace {

constexpr FixedBeforehand kTensorLayouts{
    .name = "layout: on the front of bytes sent and kept",
    .proved_for = "tensor layouts on the front of bytes sent and kept",
    .untried = "other layouts among tensor ranks",
    .searched_by = "",
};
constexpr FixedBeforehand kLibraryLayouts{
    .name = "layout: those of training libraries",
    .proved_for = "tensor layouts as training libraries have them",
    .untried = "other layouts among tensor ranks",
    .searched_by = "",
};
constexpr FixedBeforehand kPartsAgain{
    .name = "recompute: no whole layers",
    .proved_for = "no recomputation of whole layers",
    .untried = "full recomputation",
    .searched_by = "execution.stack.recompute",
};
constexpr FixedBeforehand kUnknownRecompute{
    .name = "recompute: unknown, timed as none",
    .proved_for = "an unknown recomputation, timed as none",
    .untried = "known recomputations",
    .searched_by = "",
};
constexpr FixedBeforehand kTokenLayouts{
    .name = "layouts of context and expert ranks: least_sent",
    .proved_for = "context and expert layouts that send least",
    .untried = "other layouts among context and expert ranks",
    .searched_by = "",
};

}  // namespace

Scope scope_of(const PlanSpace& space) {
  const std::vector<Degrees> inner = space.inner_degrees();
  const auto splits = [&](Role role) {
    return std::any_of(inner.begin(), inner.end(),
                       [&](const Degrees& degrees) { return degrees[role] > 1; });
  };
  Scope scope;
  if (space.task().stack) {
    if (splits(Role::Tensor)) scope.push_back(kLibraryLayouts);
    const std::vector<Recompute>& given = space.task().choices.recomputes;
    if (given.empty() && !space.task().stack->stack.computes_again(Recompute::Full)) {
      scope.push_back(kPartsAgain);
    }
    if (std::count(given.begin(), given.end(), Recompute::Unknown) > 0) {
      scope.push_back(kUnknownRecompute);
    }
    return scope;
  }
  const bool any_layout = space.task().choices.layouts.empty() && !space.task().framework;
  if (any_layout && splits(Role::Tensor)) scope.push_back(kTensorLayouts);
  if (splits(Role::Context) || splits(Role::Expert)) scope.push_back(kTokenLayouts);
  return scope;
}

}  // namespace dfsearch::training
