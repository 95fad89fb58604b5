#pragma once
// How the layers of a model are spread over the stages of a pipeline (docs/training.md,
// section 4).

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "model/training/memory.hpp"

namespace dfsearch::training {

/// The division of stages into chunks of equally many slots.  Each layer takes a slot.  The
/// embedding may take a slot in the first chunk of the first stage, and the loss a slot in the last
/// chunk of the last stage.
struct ChunkSlots {
  bool embedding = false;  ///< whether the embedding takes a slot
  bool loss = false;
  bool own_ends = false;  ///< the first or last stage has another number of layers
};

/// The slots of stages with these numbers of layers; nothing if the stages cannot be divided into
/// equal chunks.  All stages must have equal numbers of slots, unless only layers take slots: then
/// the first and the last stage may have numbers of their own.
std::optional<ChunkSlots> chunk_slots(const std::vector<std::int64_t>& layers, std::int64_t chunks);

/// Whether some division of `layers` layers among the stages has chunks.
bool have_chunks(std::int64_t layers, std::int64_t stages, std::int64_t chunks);

/// Calls `take` with the layers of the stages of each pipeline that `chunk_slots` divides into
/// `chunks` chunks.  Pipelines come in ascending order of the slots of their fullest stage.  Before
/// each number of slots, `goes_on` is called with the least number of layers that the fullest stage
/// then has; if it returns false, the enumeration ends.
void for_each_chunked(std::int64_t layers, std::int64_t stages, std::int64_t chunks,
                      const std::function<bool(std::int64_t least)>& goes_on,
                      const std::function<void(const std::vector<std::int64_t>& layers)>& take);

/// The content of each stage for these numbers of layers, with chunks in turn: chunk j of stage i
/// has the layers of place j * stages + i.  Chunks have equal numbers of slots (see ChunkSlots).
std::vector<StageContent> contents_of(const std::vector<std::int64_t>& layers, std::int64_t chunks,
                                      const LayerOrder& order);

/// The times that a stage adds to a step.
struct StageCost {
  Seconds forward{}, backward{};  ///< pace of each direction, or their sum in `forward`
  Seconds after_last_backward{};  ///< added to the pace, whatever stage sets it
  Seconds single_stage_time{};    ///< time of the stage by itself, with all exposed exchanges

  [[nodiscard]] Seconds pace() const { return forward + backward; }
};

/// The step of the stages that were added: the sum of the greatest pace of each direction and the
/// greatest time after the last backward pass, or the greatest time of a single stage if that is
/// longer.
class SpreadCost {
 public:
  void add(const StageCost& stage);
  [[nodiscard]] Seconds pace() const { return most_.pace(); }
  [[nodiscard]] Seconds step() const;

 private:
  StageCost most_;
};

/// The costs of stages, which never fall when a layer is added, and what each stage can hold.
struct StageLimits {
  std::function<StageCost(const StageContent& content)> cost;
  /// Whether a stage can hold the content; if not, it cannot hold more layers, either.
  std::function<bool(std::int64_t stage, const StageContent& content)> holds;
  Deadline deadline{};
};

/// A value for each content of a stage.  If few contents are possible, all are in a table.  If
/// there are many, as for layers of several kinds, the contents that were looked up are in a map.
template <class Value>
class ByContent {
  struct HashOfContent {
    std::size_t operator()(const StageContent& stage) const {
      std::size_t hash = (stage.first ? 2U : 0U) + (stage.last ? 1U : 0U);
      for (std::size_t kind = 0; kind < kMostForms; ++kind) {
        hash = hash * 0x9e3779b97f4a7c15ULL + static_cast<std::size_t>(stage.of_kind(kind));
      }
      return hash;
    }
  };

 public:
  explicit ByContent(const LayerOrder& order) : layers_(order.layers), others_(order.other_layers) {
    if (order.mixed) return;
    constexpr std::int64_t kMostInTable = 1 << 16;
    const std::int64_t contents = 4 * (layers_ + 1) * (others_ + 1);
    if (contents <= kMostInTable) table_.resize(static_cast<std::size_t>(contents));
  }

  Value& operator[](const StageContent& stage) {
    if (table_.empty()) return map_[stage];
    const std::int64_t ends = (stage.first ? 2 : 0) + (stage.last ? 1 : 0);
    const std::int64_t place =
        (ends * (layers_ + 1) + stage.layers) * (others_ + 1) + stage.other_layers;
    return table_[static_cast<std::size_t>(place)];
  }

 private:
  std::int64_t layers_, others_;
  std::vector<Value> table_;
  std::unordered_map<StageContent, Value, HashOfContent> map_;
};

struct Spread {
  std::vector<std::int64_t> layers;
  Seconds step{};
};

/// The spread of exactly the least step; nothing if no spread that fits has a step of at most
/// `most`.  Among spreads of equal pace and equal time after the last backward pass, it is the one
/// with the most layers in the later stages.  Throws Stopped.
/// docs/search.md, section 15
std::optional<Spread> spread_layers(std::int64_t stages, const LayerOrder& order,
                                    const StageLimits& limits, Seconds most = Seconds::infinity());

/// The stages with the times of a scenario, and the step of the best plan for this scenario.
struct SpreadScenario {
  StageLimits limits;  ///< memory is the same in all scenarios
  Seconds best{};
};

struct RobustSpread {
  std::vector<std::int64_t> layers;
  double ratio = 0.0;  ///< greatest ratio of the step to `best`, over all scenarios
};

/// The spread of exactly the least ratio; nothing if no spread that fits has a ratio of at most
/// `most`.  Which of several equal spreads is returned does not depend on `most`.  If layers are
/// `given`, no other division is tried; stages of several chunks are divided as by
/// for_each_chunked().  Throws Stopped after the deadline of the limits.
std::optional<RobustSpread> spread_robustly(std::int64_t stages, const LayerOrder& order,
                                            const std::vector<SpreadScenario>& scenarios,
                                            double most,
                                            const std::vector<std::int64_t>& given = {},
                                            std::int64_t chunks = 1);

}  // namespace dfsearch::training
