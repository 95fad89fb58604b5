// The fusion of a layer depends only on the degrees that divide a sample, the layout and the
// micro-batch.  So plans share the searches for fusions, each a mapping problem of one chip.

#include "engine/training/layer_times.hpp"

#include "engine/solve.hpp"

namespace dfsearch::training {
namespace {

/// Index of a profile: 1 for a schedule in which weight gradients wait, else 0.
std::size_t waits(Schedule schedule) { return schedule == Schedule::ZeroBubble ? 1 : 0; }

/// Nothing if no mapping is faster than kernels one by one.
std::optional<Mapping> least_mapping(const FusedPart& part, FusedKind kind,
                                     const Deadline& deadline) {
  const SearchResult result = solve(part.passes[static_cast<std::size_t>(kind)].problem,
                                    {.limits = {.deadline = deadline}, .deterministic = true});
  if (result.stopped_by != StopReason::None) throw Stopped();
  const bool is_faster =
      result.cost && result.cost->layer_time * part.samples < one_by_one(part, kind).time;
  return is_faster ? result.mapping : std::nullopt;
}

}  // namespace

LayerTimes::Entry& LayerTimes::entry(Part part, const Degrees& degrees, TensorLayout layout,
                                     std::int64_t micro_batch, const Deadline& deadline) {
  Entry& entry = [&]() -> auto& {
    const std::lock_guard lock(mutex_);
    return entries_[{part, degrees[Role::Tensor], degrees[Role::Context], degrees[Role::Expert],
                     layout, micro_batch}];
  }
  ();
  const std::lock_guard lock(entry.making);
  if (!entry.part) {
    entry.part = std::make_unique<FusedPart>(
        fused_part(task_, *blocks_[part], shelf_.layouts(part, degrees, layout, deadline), degrees,
                   micro_batch));
    entry.floor = {fused_floor(*entry.part, Schedule::OneForwardOneBackward),
                   fused_floor(*entry.part, Schedule::ZeroBubble)};
  }
  return entry;
}

void LayerTimes::search(Entry& entry, Schedule schedule, Others others, const Deadline& deadline) {
  for (const FusedKind kind : kFusedKinds) {
    const auto i = static_cast<std::size_t>(kind);
    if (entry.part->passes[i].is_empty() || !has(schedule, kind)) continue;
    std::unique_lock lock(entry.searching[i], std::defer_lock);
    if (others == Others::Await) {
      lock.lock();
    } else if (!lock.try_lock()) {
      continue;
    }
    if (entry.is_searched[i]) continue;
    entry.fusion[i] = least_mapping(*entry.part, kind, deadline);
    entry.is_searched[i] = true;
    searched_.fetch_add(1, std::memory_order_relaxed);
  }
}

template <class ProfileOf>
Profiles LayerTimes::profiles(const Plan& plan, const Deadline& deadline,
                              const ProfileOf& profile_of) {
  if (task_.style == Style::KernelByKernel) {
    return shelf_.profiles(plan.degrees, plan.layout, plan.micro_batch, deadline);
  }
  Profiles profiles;
  for (const Part part : kParts) {
    if (!blocks_[part]) continue;
    profiles[static_cast<std::size_t>(part)] =
        profile_of(entry(part, plan.degrees, plan.layout, plan.micro_batch, deadline));
  }
  return profiles;
}

Profiles LayerTimes::floor(const Plan& plan, const Deadline& deadline) {
  return profiles(plan, deadline,
                  [&](const Entry& entry) { return entry.floor[waits(plan.schedule)]; });
}

Profiles LayerTimes::least(const Plan& plan, const Deadline& deadline) {
  const auto search_then = [&](Others others, const auto& profile_of) {
    return profiles(plan, deadline, [&](Entry& entry) {
      search(entry, plan.schedule, others, deadline);
      return profile_of(entry);
    });
  };
  // First searches all passes that no other thread is searching, then waits for the others.
  search_then(Others::Skip, [](const Entry&) { return BlockProfile{}; });
  return search_then(Others::Await, [&](Entry& entry) {
    const std::lock_guard lock(entry.making);
    std::optional<BlockProfile>& least = entry.least[waits(plan.schedule)];
    if (!least) least = fused(*entry.part, entry.fusion, plan.schedule);
    return *least;
  });
}

Fusions LayerTimes::fusions(const Plan& plan, const Deadline& deadline) {
  Fusions fusions;
  if (task_.style == Style::KernelByKernel) return fusions;
  for (const Part part : kParts) {
    if (!blocks_[part]) continue;
    Entry& found = entry(part, plan.degrees, plan.layout, plan.micro_batch, deadline);
    search(found, plan.schedule, Others::Await, deadline);
    for (const FusedKind kind : kFusedKinds) {
      const auto i = static_cast<std::size_t>(kind);
      if (has(plan.schedule, kind)) fusions[static_cast<std::size_t>(part)][i] = found.fusion[i];
    }
  }
  return fusions;
}

}  // namespace dfsearch::training
