// Least-maximum allocation of cores.
//
// A partition runs as a pipeline, so its slowest kernel sets the pace.  For a pace of x cycles
// every kernel needs a known least number of cores: the first entry of its Pareto list with at most
// x cycles.  The sum of the needs only falls as x grows; the least x whose sum fits is found by
// bisection over the integers and is therefore exact.  Checked against trying every allocation in
// tests/model/layer/core_allocation_test.cpp.

#include "model/layer/core_allocation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/counts.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kSaturated = std::int64_t{1} << 60;

// Buckets cost more than sorting where there are many more cores than options.
constexpr std::int64_t kMostBuckets = 1 << 14;

std::size_t to_size(std::int64_t count) { return static_cast<std::size_t>(count); }

std::int64_t capped_product(std::int64_t a, std::int64_t b) {
  return std::min(saturating_product(a, b), kSaturated);
}

/// The numbers of units 1..limit at which ceil(extent / (units * width)) falls.
std::vector<std::int64_t> useful_units(std::int64_t extent, std::int64_t width,
                                       std::int64_t limit) {
  std::vector<std::int64_t> units;
  const std::int64_t blocks = ceil_div(extent, width);
  for (std::int64_t u = 1; u <= limit;) {
    units.push_back(u);
    const std::int64_t steps = ceil_div(blocks, u);
    if (steps == 1) break;
    u = ceil_div(blocks, steps - 1);  // the first count with fewer steps
  }
  return units;
}

/// The number of times that a core runs through the extents of a step.
std::int64_t rounds(const Kernel& kernel, const Shard& shard) {
  return capped_product(passes(kernel), shard.steps);
}

/// Cycles times the factor of a kernel that runs slower, or faster, than an array or its lanes.
// docs/model.md (65)
std::int64_t scaled(std::int64_t cycles, double scale) {
  if (scale == 1.0) return cycles;
  const double most = static_cast<double>(kSaturated);
  return static_cast<std::int64_t>(std::min(std::ceil(static_cast<double>(cycles) * scale), most));
}

/// Cycles of a kernel whose arrays keep the operand of the dataflow.  A weight or an input is
/// loaded row by row before the other operand streams past it; an output is not loaded.
std::int64_t systolic_cycles(const Kernel& kernel, const Shard& shard, Dataflow dataflow,
                             const Accelerator& accelerator, CoreGrid grid) {
  const ArrayExtents extents = array_extents(shard.of_step(), dataflow);
  const bool loads = kernel.loads_arrays && dataflow != Dataflow::Output;
  const std::int64_t loaded = loads ? std::min(accelerator.stages, extents.stages) : 0;
  const std::int64_t rows = ceil_div(ceil_div(extents.lanes, accelerator.lanes), grid.lanes);
  const std::int64_t columns = ceil_div(ceil_div(extents.stages, accelerator.stages), grid.stages);
  return capped_product(capped_product(capped_product(rows, columns), extents.streamed + loaded),
                        rounds(kernel, shard));
}

/// Kernels with one list of options, which kernels of one shape share.
struct AlikeKernels {
  const std::vector<CoreOption>* list = nullptr;
  std::int64_t kernels = 0;
};

/// Each list with its number of kernels.  A list may appear more than once, since the search for an
/// equal list looks at the last 16 only: looking farther back would cost more than it saves.
std::vector<AlikeKernels> alike_kernels(std::span<const std::vector<CoreOption>* const> options) {
  constexpr std::ptrdiff_t kMostLooks = 16;
  std::vector<AlikeKernels> alike;
  alike.reserve(options.size());
  for (const auto* list : options) {
    const auto last = alike.rbegin() + std::min(kMostLooks, std::ssize(alike));
    const auto found =
        std::find_if(alike.rbegin(), last, [&](const AlikeKernels& of) { return of.list == list; });
    if (found == last) {
      alike.push_back({.list = list, .kernels = 1});
    } else {
      ++found->kernels;
    }
  }
  return alike;
}

}  // namespace

// docs/model.md (29)
std::int64_t cycles(const Kernel& kernel, const Shard& shard, const Accelerator& accelerator,
                    CoreGrid grid) {
  if (kernel.mode == Mode::Simd) {
    const std::int64_t rows =
        ceil_div(ceil_div(shard.m, accelerator.lanes), grid.lanes);  // = ceil(m / (lanes * LW))
    return scaled(capped_product(capped_product(rows, shard.of_step().n), rounds(kernel, shard)),
                  kernel.cycle_scale);
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Dataflow dataflow : dataflows_of(accelerator)) {
    least = std::min(least, systolic_cycles(kernel, shard, dataflow, accelerator, grid));
  }
  return scaled(least, kernel.cycle_scale);
}

Dataflow dataflow_of(const Kernel& kernel, const Shard& shard, const Accelerator& accelerator,
                     CoreGrid grid) {
  const std::span<const Dataflow> all = dataflows_of(accelerator);
  const auto cost = [&](Dataflow dataflow) {
    return std::pair(systolic_cycles(kernel, shard, dataflow, accelerator, grid),
                     register_words(shard.of_step(), accelerator, dataflow));
  };
  return *std::min_element(all.begin(), all.end(),
                           [&](Dataflow a, Dataflow b) { return cost(a) < cost(b); });
}

std::vector<CoreOption> core_options(const Kernel& kernel, const Shard& shard,
                                     const Accelerator& accelerator) {
  const std::int64_t limit = accelerator.cores;
  std::vector<CoreOption> all;
  const auto add = [&](const ArrayExtents& extents) {
    const auto stages = useful_units(extents.stages, accelerator.stages, limit);
    for (const std::int64_t l : useful_units(extents.lanes, accelerator.lanes, limit)) {
      for (const std::int64_t s : stages) {
        if (l * s > limit) break;
        const CoreGrid grid{.lanes = l, .stages = s};
        all.push_back(
            {.cores = l * s, .cycles = cycles(kernel, shard, accelerator, grid), .grid = grid});
      }
    }
  };
  if (kernel.mode == Mode::Simd) {
    add({.lanes = shard.m});
  } else {
    for (const Dataflow dataflow : dataflows_of(accelerator)) {
      add(array_extents(shard.of_step(), dataflow));
    }
  }
  return pareto_options(std::move(all), limit);
}

std::vector<CoreOption> pareto_options(std::vector<CoreOption>&& all, std::int64_t cores) {
  const auto fewer_cores = [](const CoreOption& a, const CoreOption& b) {
    return a.cores != b.cores ? a.cores < b.cores : a.cycles < b.cycles;
  };
  // If cores are few, `best_of` has the best option of each number of cores; else `all` is sorted.
  std::vector<const CoreOption*> best_of(cores <= kMostBuckets ? to_size(cores) + 1 : 0, nullptr);
  if (best_of.empty()) std::stable_sort(all.begin(), all.end(), fewer_cores);
  std::vector<CoreOption> best;
  const auto add = [&](const CoreOption& option) {
    if (best.empty() || option.cycles < best.back().cycles) best.push_back(option);
  };
  if (best_of.empty()) {
    std::for_each(all.begin(), all.end(), add);
    return best;
  }
  for (const CoreOption& option : all) {
    const CoreOption*& so_far = best_of[to_size(option.cores)];
    if (so_far == nullptr || option.cycles < so_far->cycles) so_far = &option;
  }
  for (const CoreOption* option : best_of) {
    if (option != nullptr) add(*option);
  }
  return best;
}

CoreOptionsCache::List CoreOptionsCache::options(const Kernel& kernel,
                                                 const std::vector<Shard>& shapes,
                                                 const Accelerator& accelerator) {
  const Key key{.mode = kernel.mode,
                .passes = passes(kernel),
                .cycle_scale = kernel.cycle_scale,
                .shapes = shapes};
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = lists_.find(key); found != lists_.end()) return found->second;
  }
  std::vector<CoreOption> all;
  for (const Shard& shape : shapes) {
    const auto some = core_options(kernel, shape, accelerator);
    all.insert(all.end(), some.begin(), some.end());
  }
  auto list = std::make_shared<const std::vector<CoreOption>>(
      shapes.size() == 1 ? std::move(all) : pareto_options(std::move(all), accelerator.cores));
  const std::lock_guard lock(mutex_);
  if (size_ + list->size() <= kMostOptions && lists_.emplace(key, list).second) {
    size_ += list->size();
  }
  return list;
}

const CoreOption* cheapest_within(const std::vector<CoreOption>& options, std::int64_t limit) {
  const auto found = std::partition_point(options.begin(), options.end(),
                                          [&](const CoreOption& o) { return o.cycles > limit; });
  return found == options.end() ? nullptr : &*found;
}

// docs/model.md (30)
std::optional<std::int64_t> least_cycles(std::span<const std::vector<CoreOption>* const> options,
                                         std::int64_t cores) {
  if (static_cast<std::int64_t>(options.size()) > cores) return std::nullopt;
  std::int64_t low = 0;   // no lower pace is possible
  std::int64_t high = 0;  // one core for each kernel reaches this pace
  double spent = 0.0;     // core-cycles with one core for each kernel, the least possible
  const std::vector<AlikeKernels> alike = alike_kernels(options);
  for (const auto& [list, kernels] : alike) {
    low = std::max(low, list->back().cycles);
    high = std::max(high, list->front().cycles);
    spent += static_cast<double>(kernels) * static_cast<double>(list->front().cycles);
  }
  const double mean = spent / static_cast<double>(cores) * (1.0 - 0x1p-30);
  low = std::max(low, static_cast<std::int64_t>(mean));
  // The least pace is usually just above the mean.  It equals the cycles of some option, so both
  // limits move to cycles of options.
  for (std::int64_t step = low / 32 + 1; low < high; step = std::min(2 * step, high)) {
    const std::int64_t pace = std::min(low + step, low + (high - low) / 2);
    std::int64_t used = 0;
    std::int64_t reached = 0;
    std::int64_t next = high;  // the least greater pace at which a kernel needs fewer cores
    for (const auto& [list, kernels] : alike) {
      const CoreOption* option = cheapest_within(*list, pace);
      used += kernels * option->cores;
      reached = std::max(reached, option->cycles);
      if (option != list->data()) next = std::min(next, (option - 1)->cycles);
    }
    if (used <= cores) {
      high = reached;
    } else {
      low = next;
    }
  }
  return high;
}

}  // namespace dfsearch
