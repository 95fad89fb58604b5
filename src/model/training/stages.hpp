#pragma once
// How the layers of a model are spread over the stages of a pipeline (docs/training.md,
// section 4).

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "model/training/memory.hpp"

namespace dfsearch::training {

/// What each stage has if they have so many layers each, with chunks in turn: chunk j of stage i
/// has the layers of place j * stages + i.
std::vector<StageContent> contents_of(const std::vector<std::int64_t>& layers, std::int64_t chunks,
                                      const LayerOrder& order);

/// What a stage adds to a step.
struct StageCost {
  Seconds forward{}, backward{};  ///< if it sets the pace: of each way, or of both in the first
  Seconds tail{};                 ///< behind whichever stage sets the pace
  Seconds alone{};                ///< with all that it waits for itself

  [[nodiscard]] Seconds pace() const { return forward + backward; }
};

/// The step of some stages: the greatest pace of each way and the greatest tail, or what a stage
/// takes alone.
class SpreadCost {
 public:
  void add(const StageCost& stage);
  [[nodiscard]] Seconds pace() const { return most_.pace(); }
  [[nodiscard]] Seconds step() const;

 private:
  StageCost most_;
};

/// What a stage may have and what it takes.  None of both is less with a layer more.
struct StageLimits {
  std::function<StageCost(const StageContent& content)> cost;
  /// Whether a stage can hold that; never again with more layers once it cannot.
  std::function<bool(std::int64_t stage, const StageContent& content)> holds;
};

/// Layers of each stage, and the step with them.
struct Spread {
  std::vector<std::int64_t> layers;
  Seconds step{};
};

/// The spread of the least step, exactly, if that is at most `most`: nothing if none that fits is.
/// Of spreads alike in pace and tail the one that gives the later stages most.
/// docs/search.md, section 15
std::optional<Spread> spread_layers(std::int64_t stages, const LayerOrder& order,
                                    const StageLimits& limits, Seconds most = Seconds::infinity());

}  // namespace dfsearch::training
