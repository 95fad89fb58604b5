// All plans but for their networks, which no memory depends on.

#include "engine/training/nearest_misfit.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "model/training/memory.hpp"
#include "model/training/stages.hpp"

namespace dfsearch::training {
namespace {

/// As even as can be, the later stages with more.
std::vector<std::int64_t> even_layers(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> even(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t i = 0; i < layers % stages; ++i) {
    ++even[static_cast<std::size_t>(stages - 1 - i)];
  }
  return even;
}

struct Fullest {
  Misfit stage;
  bool fits = true;
};

/// The stage that holds most, of those that do not fit if there are such.
Fullest fullest_stage(const PlanSpace& space, const Plan& plan, const Profiles& profiles) {
  const Task& task = space.task();
  const std::int64_t micro_batches =
      task.global_batch / (plan.degrees.replicas() * plan.micro_batch);
  const std::vector<StageContent> contents =
      contents_of(plan.layers, plan.chunks, space.blocks().dense_layers);
  Fullest fullest;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto stage = static_cast<std::int64_t>(i);
    const MemoryUse use = stage_memory(task, plan, profiles, contents[i], stage, micro_batches);
    const bool holds = fits(task.machine, use);
    const bool holds_more = use.total() > fullest.stage.memory.total();
    if (i == 0 || (holds == fullest.fits ? holds_more : fullest.fits)) {
      fullest = {.stage = {.stage = stage, .memory = use}, .fits = holds};
    }
  }
  return fullest;
}

struct Found {
  Plan plan;
  Fullest fullest;
};

/// Of all plans the one that needs least, or the first that fits where that is enough.
std::optional<Found> least_memory(const PlanSpace& space, LayoutShelf& shelf, bool first_that_fits,
                                  const Deadline& deadline) {
  std::optional<Found> best;
  for (const Degrees& inner : space.inner_degrees()) {
    for (const Degrees& degrees : space.degrees(inner)) {
      if (space.networks(degrees).empty()) continue;
      for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
        for (const TensorLayout layout : space.layouts(degrees, shelf, deadline)) {
          const Profiles profiles = shelf.profiles(degrees, layout, micro_batch, deadline);
          for (Plan& plan : space.shapes(degrees, micro_batch, layout)) {
            deadline.check();
            plan.layers = space.task().choices.layers;
            if (plan.layers.empty()) {
              plan.layers = even_layers(space.blocks().layers(), degrees[Role::Pipeline]);
            }
            const Fullest fullest = fullest_stage(space, plan, profiles);
            if (best && fullest.stage.memory.total() >= best->fullest.stage.memory.total())
              continue;
            best = Found{.plan = std::move(plan), .fullest = fullest};
            if (first_that_fits && fullest.fits) return best;
          }
        }
      }
    }
  }
  return best;
}

/// The choices with one of them left open; nothing if it is open already.
std::optional<Choices> without(Choices choices, Remedy::Kind kind) {
  const auto open_degree = [&](Role role) {
    DegreeChoice& choice = choices.degrees[static_cast<std::size_t>(role)];
    const bool was_given = !choice.values.empty() || choice.least > 1 ||
                           choice.most < std::numeric_limits<std::int64_t>::max();
    choice = {};
    // The replicas are what the other degrees leave.
    choices.degrees[static_cast<std::size_t>(Role::Data)] = {};
    choices.network.clear();
    return was_given;
  };
  const auto open = [](auto& list) {
    const bool was_given = !list.empty();
    list.clear();
    return was_given;
  };
  bool was_given = false;
  switch (kind) {
    case Remedy::Kind::Recompute:
      was_given = open(choices.recomputes);
      break;
    case Remedy::Kind::Zero:
      was_given = open(choices.zeros);
      break;
    case Remedy::Kind::Offload:
      was_given = choices.offload.has_value();
      choices.offload.reset();
      break;
    case Remedy::Kind::Pipeline:
      was_given = open_degree(Role::Pipeline);
      choices.layers.clear();
      break;
    case Remedy::Kind::Tensor:
      was_given = open_degree(Role::Tensor);
      break;
    case Remedy::Kind::Context:
      was_given = open_degree(Role::Context);
      break;
    case Remedy::Kind::Expert:
      was_given = open_degree(Role::Expert);
      break;
    case Remedy::Kind::Layers:
      was_given = open(choices.layers);
      break;
    case Remedy::Kind::MicroBatch:
      was_given = open(choices.micro_batches);
      break;
    case Remedy::Kind::Schedule:
      was_given = open(choices.schedules);
      was_given = open(choices.chunks) || was_given;
      break;
  }
  if (!was_given) return std::nullopt;
  return choices;
}

constexpr std::array kRemedies = {
    Remedy::Kind::Recompute, Remedy::Kind::Zero,    Remedy::Kind::Offload, Remedy::Kind::Pipeline,
    Remedy::Kind::Tensor,    Remedy::Kind::Context, Remedy::Kind::Expert,  Remedy::Kind::MicroBatch,
    Remedy::Kind::Layers,    Remedy::Kind::Schedule};

}  // namespace

std::optional<NearestMisfit> nearest_misfit(const PlanSpace& space, LayoutShelf& shelf,
                                            const Deadline& deadline) {
  std::optional<Found> least = least_memory(space, shelf, false, deadline);
  if (!least) return std::nullopt;
  NearestMisfit nearest{
      .plan = std::move(least->plan), .misfit = least->fullest.stage, .remedies = {}};
  for (const Remedy::Kind kind : kRemedies) {
    std::optional<Choices> choices = without(space.task().choices, kind);
    if (!choices) continue;
    Task task = space.task();
    task.choices = std::move(*choices);
    const PlanSpace wider(task);
    LayoutShelf of_wider(task, wider.blocks());
    std::optional<Found> found = least_memory(wider, of_wider, true, deadline);
    if (!found || !found->fullest.fits) continue;
    nearest.remedies.push_back({.kind = kind,
                                .plan = std::move(found->plan),
                                .needed = found->fullest.stage.memory.total()});
  }
  return nearest;
}

}  // namespace dfsearch::training
