#include "engine/training/nearest_misfit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "base/counts.hpp"
#include "model/training/decisions.hpp"
#include "model/training/evaluate.hpp"
#include "model/training/memory.hpp"
#include "model/training/stages.hpp"
#include "model/training/step.hpp"

// Visits all plans without their networks, since memory does not depend on networks.

namespace dfsearch::training {

namespace {

/// The memory whose use is minimised.
enum class Measure : std::uint8_t { Fuller, First, Second };

/// Layers divided evenly, the later stages with more.
std::vector<std::int64_t> even_layers(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> even(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t i = 0; i < layers % stages; ++i) {
    ++even[static_cast<std::size_t>(stages - 1 - i)];
  }
  return even;
}

/// The use of the fuller memory as a share of its capacity; above 1 the plan does not fit.  For
/// First and Second, the use of that memory, or infinity if the other memory does not suffice.
double share_of(const Machine& machine, const MemoryUse& use, Measure measure) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double first = use.total() / machine.memory[0].capacity;
  double second = 0.0;
  if (use.second > Bytes{}) {
    second = machine.second_memory() ? use.second / machine.memory[1].capacity : kNever;
  }
  switch (measure) {
    case Measure::First:
      return second <= 1.0 ? first : kNever;
    case Measure::Second:
      return first <= 1.0 ? second : kNever;
    case Measure::Fuller:
      break;
  }
  return std::max(first, second);
}

/// The memory of the plans of one shape, which differ by the layers of their stages.
class ShapeMemory {
 public:
  ShapeMemory(const PlanSpace& space, const Plan& shape, const Profiles& profiles, Measure measure,
              const Deadline& deadline)
      : space_(space),
        deadline_(deadline),
        shape_(shape),
        profiles_(profiles),
        measure_(measure),
        micro_batches_(space.task().global_batch / (shape.degrees.replicas() * shape.micro_batch)) {
  }

  struct Fullest {
    Misfit stage;
    double share = 0.0;
  };
  /// The fullest stage, or the first one with a share of at least `enough`.
  [[nodiscard]] Fullest fullest(const std::vector<std::int64_t>& layers,
                                double enough = std::numeric_limits<double>::infinity()) const {
    const std::vector<StageContent> contents =
        contents_of(layers, space_.task().stack ? 1 : shape_.chunks, space_.blocks().order);
    Fullest fullest;
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const auto stage = static_cast<std::int64_t>(i);
      const MemoryUse use = memory(stage, contents[i]);
      const double share = share_of(space_.task().machine, use, measure_);
      if (i > 0 && share <= fullest.share) continue;
      fullest = {.stage = {.stage = stage, .memory = use}, .share = share};
      if (share >= enough) break;
    }
    return fullest;
  }

  /// The layers with which the fullest stage needs the least share, if that is below `below`.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> least(double below) const {
    const std::int64_t stages = shape_.degrees[Role::Pipeline], all = space_.blocks().layers();
    const std::vector<std::int64_t>& given = space_.task().choices.layers;
    std::optional<std::vector<std::int64_t>> best;
    const auto take = [&](const std::vector<std::int64_t>& layers) {
      const double share = fullest(layers, below).share;
      if (share >= below) return;
      below = share;
      best = layers;
    };
    if (!given.empty()) {
      take(given);
    } else if (shape_.schedule == Schedule::Interleaved) {
      const auto goes_on = [&](std::int64_t least) {
        deadline_.check();
        return may_have(least, stages - 1, below);
      };
      for_each_chunked(all, stages, shape_.chunks, goes_on, take);
    } else {
      take(even_layers(all, stages));
      while (stages > 1) {
        const StageLimits limits{.cost = [](const StageContent&) { return StageCost(); },
                                 .holds =
                                     [&](std::int64_t stage, const StageContent& content) {
                                       return share_of(space_.task().machine,
                                                       memory(stage, content), measure_) < below;
                                     }};
        const auto found = spread_layers(stages, space_.blocks().order, limits);
        if (!found) break;
        take(found->layers);
      }
    }
    return best;
  }

 private:
  /// Whether a stage of `layers` layers, neither first nor last, may need a share below `below`.
  [[nodiscard]] bool may_have(std::int64_t layers, std::int64_t stage, double below) const {
    const std::optional<std::size_t> only = space_.blocks().order.only_kind();
    if (!only) return true;
    StageContent content;
    content.of_kind(*only) = layers;
    return share_of(space_.task().machine, memory(stage, content), measure_) < below;
  }
  [[nodiscard]] MemoryUse memory(std::int64_t stage, const StageContent& content) const {
    return stage_memory(space_.task(), shape_, profiles_, content, stage, micro_batches_);
  }

  const PlanSpace& space_;
  const Deadline& deadline_;
  const Plan& shape_;
  const Profiles& profiles_;
  const Measure measure_;
  const std::int64_t micro_batches_;
};

struct LeastNeed {
  Plan plan;
  ShapeMemory::Fullest fullest;
};

std::optional<LeastNeed> least_memory(const PlanSpace& space, LayoutShelf& shelf,
                                      bool first_that_fits, const Deadline& deadline,
                                      Measure measure = Measure::Fuller) {
  // A share of 1 still fits.
  const double at_first =
      first_that_fits ? std::nextafter(1.0, 2.0) : std::numeric_limits<double>::infinity();
  std::optional<LeastNeed> best;
  Task smaller = space.task();
  for (const Degrees& inner : space.inner_degrees()) {
    for (const Degrees& degrees : space.degrees(inner)) {
      for (const TensorLayout layout : space.layouts(degrees, shelf, deadline)) {
        if (space.networks(degrees, layout, deadline).empty()) continue;
        for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
          const Profiles profiles = shelf.profiles(degrees, layout, micro_batch, deadline);
          for (Plan& plan : space.shapes(degrees, micro_batch, layout)) {
            deadline.check();
            const double below = best ? best->fullest.share : at_first;
            smaller.machine.memory[0].capacity =
                space.task().machine.memory[0].capacity * (below / kLessRoundings);
            if (!may_fit(smaller, plan, profiles, space.blocks().order)) continue;
            const ShapeMemory memory(space, plan, profiles, measure, deadline);
            auto layers = memory.least(below);
            if (!layers) continue;
            const auto fullest = memory.fullest(*layers);
            plan.layers = std::move(*layers);
            best = LeastNeed{.plan = std::move(plan), .fullest = fullest};
            if (first_that_fits) return best;
          }
        }
      }
    }
  }
  return best;
}

MemoryJudgement judgement_of(const PlanSpace& space, LayoutShelf& shelf, const Plan& plan,
                             const Deadline& deadline) {
  const Profiles profiles = shelf.profiles(plan.degrees, plan.layout, plan.micro_batch, deadline);
  const std::int64_t micro_batches =
      space.task().global_batch / (plan.degrees.replicas() * plan.micro_batch);
  return judgement(space.task(), plan, profiles, contents_of(plan.layers, 1, space.blocks().order),
                   micro_batches);
}

bool open_degree(Choices& choices, Role role) {
  DegreeChoice& choice = choices.degrees[static_cast<std::size_t>(role)];
  const bool was_given = !choice.values.empty() || choice.least > 1 ||
                         choice.most < std::numeric_limits<std::int64_t>::max();
  choice = {};
  // The other degrees determine the replicas.
  choices.degrees[static_cast<std::size_t>(Role::Data)] = {};
  return was_given;
}

/// A choice that may be given, and a function that opens it and returns whether it was given.
struct Opening {
  std::string_view key;
  std::function<bool(Choices& choices)> open;
  std::optional<Role> role = std::nullopt;
};

std::vector<Opening> openings() {
  std::vector<Opening> all;
  for (const Decision& decision : decisions()) {
    if (decision.open) all.push_back({decision.given.key, decision.open});
  }
  for (const Role role : {Role::Pipeline, Role::Tensor, Role::Context, Role::Expert}) {
    all.push_back({name_of(role),
                   [role](Choices& choices) {
                     if (role == Role::Pipeline) choices.layers.clear();
                     return open_degree(choices, role);
                   },
                   role});
  }
  all.push_back({"micro_batch", [](Choices& c) { return open_lists(c.micro_batches); }});
  all.push_back({"layers", [](Choices& c) { return open_lists(c.layers); }});
  return all;
}

}  // namespace

std::optional<NearestMisfit> nearest_misfit(const PlanSpace& space, LayoutShelf& shelf,
                                            const Deadline& deadline) {
  std::optional<LeastNeed> least = least_memory(space, shelf, false, deadline);
  if (!least) return std::nullopt;
  NearestMisfit nearest{
      .plan = std::move(least->plan), .misfit = least->fullest.stage, .remedies = {}};
  if (space.task().stack) {
    nearest.misfit.judgement = judgement_of(space, shelf, nearest.plan, deadline);
  }
  for (const auto& [key, open, role] : openings()) {
    Task task = space.task();
    if (!open(task.choices)) continue;
    std::optional<FittingPlan> found = fitting_plan(task, deadline);
    if (!found) continue;
    const Choices& given = space.task().choices;
    const std::int64_t replicas = found->plan.degrees.replicas();
    const DegreeChoice& data = given.degrees[static_cast<std::size_t>(Role::Data)];
    nearest.remedies.push_back({.key = key,
                                .role = role,
                                .plan = std::move(found->plan),
                                .needed = found->needed,
                                .with_data = role && !data.allows(replicas),
                                .without_layers = role == Role::Pipeline && !given.layers.empty()});
  }
  return nearest;
}

std::optional<FittingPlan> fitting_plan(const Task& task, const Deadline& deadline) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  std::optional<LeastNeed> found = least_memory(space, shelf, true, deadline);
  if (!found) return std::nullopt;
  return FittingPlan{.plan = std::move(found->plan), .needed = found->fullest.stage.memory.total()};
}

std::optional<LeastMemory> least_of_memory(const Task& task, bool second,
                                           const Deadline& deadline) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  std::optional<LeastNeed> found =
      least_memory(space, shelf, false, deadline, second ? Measure::Second : Measure::First);
  if (!found) return std::nullopt;
  const MemoryUse& use = found->fullest.stage.memory;
  return LeastMemory{.capacity = second ? use.second : use.total(),
                     .with = {.plan = std::move(found->plan), .needed = use.total()}};
}

// Memory does not depend on the network, so plans are examined without their networks and
// multiplied by the number of networks (docs/training.md, section 1).

namespace {

/// Sum of `count` over all degrees, layouts and micro-batches, times the number of networks.
template <class Count>
std::int64_t sum_of(const PlanSpace& space, LayoutShelf& shelf, const Deadline& deadline,
                    const Count& count) {
  std::int64_t sum = 0;
  for (const Degrees& inner : space.inner_degrees()) {
    for (const Degrees& degrees : space.degrees(inner)) {
      deadline.check();
      for (const TensorLayout layout : space.layouts(degrees, shelf, deadline)) {
        std::int64_t shapes = 0;
        for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
          Plan plan;
          plan.degrees = degrees;
          plan.micro_batch = micro_batch;
          plan.layout = layout;
          shapes = saturating_sum(shapes, count(plan));
        }
        if (shapes == 0) continue;
        const auto networks =
            static_cast<std::int64_t>(space.networks(degrees, layout, deadline).size());
        sum = saturating_sum(sum, saturating_product(shapes, networks));
      }
    }
  }
  return sum;
}

}  // namespace

std::int64_t count_candidates(const PlanSpace& space, LayoutShelf& shelf,
                              const Deadline& deadline) {
  return sum_of(space, shelf, deadline, [&](const Plan& plan) {
    return static_cast<std::int64_t>(
        space.shapes(plan.degrees, plan.micro_batch, plan.layout).size());
  });
}

std::int64_t count_feasible(const PlanSpace& space, const PlanRules& rules, LayoutShelf& shelf,
                            const Deadline& deadline) {
  return sum_of(space, shelf, deadline,
                [&](const Plan& plan) { return rules.count_fitting(plan, deadline); });
}

namespace {

template <class Work>
double best_share(const EfficiencyCurve<Work>& curve) {
  double share = curve.steps.empty() ? 1.0 : 0.0;
  for (const auto& step : curve.steps) share = std::max(share, step.share);
  return share;
}

}  // namespace

Task at_best_rates(Task task) {
  const auto level = [](auto& curve) { curve.steps = {{.from = {}, .share = best_share(curve)}}; };
  level(task.machine.matrix.efficiency);
  level(task.machine.vector.efficiency);
  for (MemoryTier& tier : task.machine.memory) level(tier.efficiency);
  return task;
}

Seconds least_step(const Task& task) {
  const Engine& engine = task.machine.matrix;
  const double chips = static_cast<double>(task.machine.chips);
  return model_flops(task) / (engine.peak * (best_share(engine.efficiency) * chips)) *
         kLessRoundings;
}

}  // namespace dfsearch::training
