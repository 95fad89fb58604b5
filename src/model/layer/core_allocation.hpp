#pragma once
// How the cores of a chip are divided among the kernels of a partition when no
// utilization is given (docs/model.md, section 6).

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <vector>

#include "model/layer/conversion_cache.hpp"
#include "model/layer/level_traffic.hpp"
#include "model/layer/shard.hpp"
#include "model/mapping.hpp"

namespace dfsearch {

/// The cycles that one tile takes on a grid of lanes x stages cores, with the dataflow of the
/// accelerator or the best dataflow.  SIMD kernels use the lanes only.  The count saturates far
/// below overflow.
std::int64_t cycles(const Kernel& kernel, const Shard& shard, const Accelerator& accelerator,
                    CoreGrid grid);

/// The dataflow with which a systolic kernel takes the fewest cycles; ties go to the fewest words
/// between array and registers.
Dataflow dataflow_of(const Kernel& kernel, const Shard& shard, const Accelerator& accelerator,
                     CoreGrid grid);

/// One way to run a kernel.
struct CoreOption {
  std::int64_t cores = 1;
  std::int64_t cycles = 0;
  CoreGrid grid;
};

/// The ways to run a kernel that no other way beats in both cores and cycles: cores ascend, up to
/// `accelerator.cores`, and cycles strictly descend.  The list is never empty.
std::vector<CoreOption> core_options(const Kernel& kernel, const Shard& shard,
                                     const Accelerator& accelerator);

/// Returns the options of at most `cores` cores that no other option beats, in the order of
/// core_options(); of equal options it keeps the first.
std::vector<CoreOption> pareto_options(std::vector<CoreOption>&& all, std::int64_t cores);

/// Lists of options by kernel and shapes, which layers that differ in other decisions share.  Any
/// thread may use it; a full cache keeps its lists and adds no list.
class CoreOptionsCache {
 public:
  using List = std::shared_ptr<const std::vector<CoreOption>>;

  /// The Pareto front of the options of the kernel in all of the shapes.
  List options(const Kernel& kernel, const std::vector<Shard>& shapes,
               const Accelerator& accelerator);

  /// Further results that layers on the same machine share.
  LevelTrafficCache levels;
  ConversionCache conversions;

 private:
  struct Key {
    Mode mode;
    std::int64_t passes;
    double cycle_scale;
    std::vector<Shard> shapes;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static constexpr std::size_t kMostOptions = 2'000'000;  // some 60 megabytes

  std::shared_mutex mutex_;
  std::map<Key, List> lists_;  // guarded by mutex_
  std::size_t size_ = 0;       // options in all lists; guarded by mutex_
};

/// The least cycles that all the kernels can reach together with `cores` cores,
/// or nothing when there are more kernels than cores.  `options` has one list
/// per kernel.
std::optional<std::int64_t> least_cycles(std::span<const std::vector<CoreOption>* const> options,
                                         std::int64_t cores);

/// The option of fewest cores that takes at most `limit` cycles; nullptr if there is none.
const CoreOption* cheapest_within(const std::vector<CoreOption>& options, std::int64_t limit);

}  // namespace dfsearch
