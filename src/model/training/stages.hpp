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
/// has the layers of place j * stages + i.  The first `dense` of all layers have no experts.
std::vector<StageContent> contents_of(const std::vector<std::int64_t>& layers, std::int64_t chunks,
                                      std::int64_t dense);

/// What a stage may have and what it takes.
struct StageLimits {
  Seconds layer{};
  Seconds expert_layer{};
  Seconds first{};
  Seconds last{};
  /// Whether a stage can hold that; never again with more layers once it cannot.
  std::function<bool(std::int64_t stage, const StageContent& content)> holds;
};

/// The layers of each stage that make the slowest stage as fast as can be: of such spreads the
/// one that gives the later stages most.  Nothing if no spread fits.
std::optional<std::vector<std::int64_t>> spread_layers(std::int64_t stages, std::int64_t dense,
                                                       std::int64_t expert,
                                                       const StageLimits& limits);

}  // namespace dfsearch::training
