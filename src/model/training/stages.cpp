// The slowest stage as fast as can be, by trying the paces that matter.
//
// At a given pace each stage, from the first on, takes as many layers as the pace and its memory
// let it: whoever goes further leaves the rest with less, and less never takes longer nor more
// room.  If layers are left over, nothing changes until the pace lets some stage take one more;
// the least such pace is the next to try.  Stages that only memory stops do not count.  At the
// pace found the spread is made from the last stage on: the first one holds most micro-batches.

#include "model/training/stages.hpp"

#include "base/number.hpp"

#include <algorithm>

namespace dfsearch::training {
namespace {

class Spread {
 public:
  Spread(std::int64_t stages, std::int64_t dense, std::int64_t expert, const StageLimits& limits)
      : stages_(stages),
        dense_(dense),
        layers_(dense + expert),
        limits_(limits),
        asked_(static_cast<std::size_t>(stages)) {}

  std::optional<std::vector<std::int64_t>> run() {
    Seconds pace{};
    for (std::int64_t stage = 0; stage < stages_; ++stage) {
      const StageContent empty = content(stage, 0, 0);
      if (!holds(stage, empty)) return std::nullopt;
      pace = std::max(pace, time(empty));
    }
    for (;;) {
      Seconds next = Seconds::infinity();
      if (reaches_end(pace, next)) return from_the_last(pace);
      if (next == Seconds::infinity()) return std::nullopt;
      pace = next;
    }
  }

 private:
  /// What a stage is known to hold, and what not.
  struct Asked {
    StageContent held{.layers = -1, .expert_layers = -1};
    std::optional<StageContent> too_much;
  };

  static bool is_within(const StageContent& a, const StageContent& b) {
    return a.layers <= b.layers && a.expert_layers <= b.expert_layers;
  }

  /// Every pace asks again for what the ones before asked: who holds some layers holds fewer.
  bool holds(std::int64_t stage, const StageContent& content) {
    Asked& asked = asked_[static_cast<std::size_t>(stage)];
    if (is_within(content, asked.held)) return true;
    if (asked.too_much && is_within(*asked.too_much, content)) return false;
    const bool holds = limits_.holds(stage, content);
    if (holds) {
      asked.held = content;
    } else {
      asked.too_much = content;
    }
    return holds;
  }

  /// Of the layers from `begin` to before `end`.
  [[nodiscard]] StageContent content(std::int64_t stage, std::int64_t begin,
                                     std::int64_t end) const {
    const std::int64_t plain = std::clamp<std::int64_t>(dense_ - begin, 0, end - begin);
    return {.layers = plain,
            .expert_layers = end - begin - plain,
            .first = stage == 0,
            .last = stage == stages_ - 1};
  }

  [[nodiscard]] Seconds time(const StageContent& stage) const {
    return limits_.layer * number(stage.layers) +
           limits_.expert_layer * number(stage.expert_layers) +
           (stage.first ? limits_.first : Seconds{}) + (stage.last ? limits_.last : Seconds{});
  }

  bool reaches_end(Seconds pace, Seconds& next) {
    std::int64_t begin = 0;
    for (std::int64_t stage = 0; stage < stages_; ++stage) {
      std::int64_t end = begin;
      while (end < layers_) {
        const StageContent more = content(stage, begin, end + 1);
        if (!holds(stage, more)) break;
        if (time(more) > pace) {
          next = std::min(next, time(more));
          break;
        }
        ++end;
      }
      begin = end;
    }
    return begin == layers_;
  }

  [[nodiscard]] std::vector<std::int64_t> from_the_last(Seconds pace) {
    std::vector<std::int64_t> layers(static_cast<std::size_t>(stages_), 0);
    std::int64_t end = layers_;
    for (std::int64_t stage = stages_ - 1; stage >= 0; --stage) {
      std::int64_t begin = end;
      while (begin > 0) {
        const StageContent more = content(stage, begin - 1, end);
        if (time(more) > pace || !holds(stage, more)) break;
        --begin;
      }
      layers[static_cast<std::size_t>(stage)] = end - begin;
      end = begin;
    }
    return layers;
  }

  const std::int64_t stages_, dense_, layers_;
  const StageLimits& limits_;
  std::vector<Asked> asked_;  // by stage
};

}  // namespace

std::vector<StageContent> contents_of(const std::vector<std::int64_t>& layers, std::int64_t chunks,
                                      std::int64_t dense) {
  std::vector<StageContent> contents(layers.size());
  std::int64_t begin = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
      const std::int64_t count = layers[stage] / chunks;
      const std::int64_t plain = std::clamp<std::int64_t>(dense - begin, 0, count);
      contents[stage].layers += plain;
      contents[stage].expert_layers += count - plain;
      begin += count;
    }
  }
  contents.front().first = true;
  contents.back().last = true;
  return contents;
}

std::optional<std::vector<std::int64_t>> spread_layers(std::int64_t stages, std::int64_t dense,
                                                       std::int64_t expert,
                                                       const StageLimits& limits) {
  return Spread(stages, dense, expert, limits).run();
}

}  // namespace dfsearch::training
