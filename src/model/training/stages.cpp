#include "model/training/stages.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/counts.hpp"

// Finds the spread of the least step.  A step is the greater of two times: a sum of three maxima
// over the stages, and a fourth maximum.
//
// To minimise one maximum, a pace is tried: each stage, from the first on, takes as many layers as
// the pace and the limits allow.  A stage with more layers leaves fewer layers to the later stages,
// and fewer layers never cost more time or memory.  If layers are left over, nothing changes until
// the pace allows some stage one more layer, so the least such pace is tried next.  At the final
// pace, the stages are filled from the last one on, since the first stage holds the most
// micro-batches.
//
// To minimise a sum of maxima, let A be the least sum of all maxima but the last, among the
// remaining spreads.  In a better spread the last maximum must be below the best sum so far less A.
// Each stage gets this limit, and A is computed again, until no spread is within the limits.
// docs/search.md, section 15, has the proof.

namespace dfsearch::training {

// Chunks follow Megatron-LM (core: get_num_layers_to_build): embedding and loss count as layers
// with --account-for-embedding-in-pipeline-split and --account-for-loss-in-pipeline-split, or the
// first and the last stage have numbers of layers of their own with
// --decoder-first-pipeline-num-layers and -last-. Virtual stages divide the layers of each rank.
// tests/model/training/chunked_stages_test.cpp compares this with an enumeration.

namespace {

constexpr std::array<std::pair<bool, bool>, 3> kSlotsOfEnds = {
    {{false, true}, {true, false}, {true, true}}};

}  // namespace

std::optional<ChunkSlots> chunk_slots(const std::vector<std::int64_t>& layers,
                                      std::int64_t chunks) {
  if (layers.size() < 2) return std::nullopt;
  const auto are_alike = [&](std::int64_t first, std::int64_t last) {
    return first == last && std::all_of(layers.begin() + 1, layers.end() - 1,
                                        [&](std::int64_t each) { return each == first; });
  };
  const auto divides = [&](std::int64_t each) { return each >= chunks && each % chunks == 0; };
  const bool alike_between = std::all_of(layers.begin() + 1, layers.end() - 1,
                                         [&](std::int64_t each) { return each == layers[1]; });
  if (alike_between && std::all_of(layers.begin(), layers.end(), divides)) {
    return ChunkSlots{.own_ends = !are_alike(layers.front(), layers.back())};
  }
  for (const auto& [embedding, loss] : kSlotsOfEnds) {
    const std::int64_t first = layers.front() + (embedding ? 1 : 0);
    if (divides(first) && are_alike(first, layers.back() + (loss ? 1 : 0))) {
      return ChunkSlots{.embedding = embedding, .loss = loss};
    }
  }
  return std::nullopt;
}

bool have_chunks(std::int64_t layers, std::int64_t stages, std::int64_t chunks) {
  const std::int64_t each = stages * chunks;
  return stages > 1 && ((layers >= each && layers % chunks == 0) || (layers + 1) % each == 0 ||
                        (layers + 2) % each == 0);
}

void for_each_chunked(std::int64_t layers, std::int64_t stages, std::int64_t chunks,
                      const std::function<bool(std::int64_t least)>& goes_on,
                      const std::function<void(const std::vector<std::int64_t>& layers)>& take) {
  if (!have_chunks(layers, stages, chunks)) return;
  std::vector<std::int64_t> stage_layers(static_cast<std::size_t>(stages));
  const auto pass = [&](std::int64_t first, std::int64_t between, std::int64_t last) {
    std::fill(stage_layers.begin(), stage_layers.end(), between);
    stage_layers.front() = first;
    stage_layers.back() = last;
    take(stage_layers);
  };
  const bool own_ends = layers % chunks == 0;
  const std::int64_t inner = stages - 2;
  const std::int64_t average = (layers + stages - 1) / stages;
  std::int64_t most = (average + chunks - 1) / chunks * chunks;
  // The most slots that the fullest stage can have.  If all stages have equal numbers of slots,
  // this is the average number of layers, rounded up to a multiple of the chunks.  If the ends have
  // numbers of their own, every other stage keeps one layer for each chunk, and the fullest stage
  // may have the rest.
  const std::int64_t end = std::max(most, own_ends ? layers - (stages - 1) * chunks : 0);
  for (; most <= end; most += chunks) {
    if (!goes_on(std::max(most - 1, average))) return;
    for (const auto& [embedding, loss] : kSlotsOfEnds) {
      const std::int64_t first = most - (embedding ? 1 : 0), last = most - (loss ? 1 : 0);
      if (first + inner * most + last == layers) pass(first, most, last);
    }
    if (!own_ends) continue;
    for (std::int64_t between = inner > 0 ? chunks : most; between <= most; between += chunks) {
      const std::int64_t ends = layers - inner * between;
      // Divisions with more layers on the last stage come first.  If the stages between have fewer
      // than `most` layers, one of the ends has `most`, so only two divisions are tried.
      std::int64_t first = std::max(chunks, ends - most);
      const std::int64_t last_first = std::min(most, ends - chunks);
      const std::int64_t step =
          inner > 0 && between == most ? chunks : std::max(last_first - first, chunks);
      for (; first <= last_first; first += step) {
        if (std::max({first, ends - first, inner > 0 ? between : 0}) == most) {
          pass(first, between, ends - first);
        }
      }
    }
  }
}

namespace {

using Term = Seconds StageCost::*;
constexpr std::array<Term, 3> kTerms = {&StageCost::forward, &StageCost::backward,
                                        &StageCost::after_last_backward};

constexpr std::int64_t kStagesBetweenLooks = 1'000;  // about a millisecond

class SpreadSearch {
 public:
  SpreadSearch(std::int64_t stages, const LayerOrder& order, const StageLimits& limits)
      : stages_(stages),
        layers_(order.all()),
        order_(order),
        limits_(limits),
        asked_(static_cast<std::size_t>(stages)),
        deadline_(limits.deadline, kStagesBetweenLooks),
        known_(order) {}

  std::optional<Spread> run(Seconds most) {
    // The step may equal `most`, so the limit is the next larger number.
    Seconds below(std::nextafter(most.in_base_units(), std::numeric_limits<double>::infinity()));
    std::optional<Spread> best;
    for (;;) {
      bounds_.assign(1, {.term = &StageCost::single_stage_time, .low = {}, .below = below});
      std::optional<Sum> found = least_sum(kTerms.size(), below);
      if (!found) return best;
      SpreadCost cost;
      for (const StageContent& stage : contents_of(found->layers, 1, order_)) {
        cost.add(known(stage));
      }
      const bool is_least = cost.step() == found->value;
      if (cost.step() < below) {
        below = cost.step();
        best = Spread{.layers = std::move(found->layers), .step = below};
      }
      // The least sum is attained: no stage takes longer by itself.
      if (is_least) return best;
    }
  }

 private:
  /// Known contents that a stage can and cannot hold.
  struct ProbedContent {
    StageContent held{.layers = -1, .other_layers = -1};
    std::optional<StageContent> too_much;
  };
  /// A bound on a term of every stage: `low` plus the term must be less than `below`.
  struct Bound {
    Term term;
    Seconds low, below;
  };
  struct Sum {
    std::vector<std::int64_t> layers;
    Seconds value{};
  };

  /// The least sum of the maxima of the first `terms` terms within the bounds, if it is less than
  /// `below`.
  std::optional<Sum> least_sum(std::size_t terms, Seconds below) {
    if (terms == 1) return least_pace(below);
    const Term last = kTerms[terms - 1];
    std::optional<Sum> best;
    Seconds low{};
    for (;;) {
      bounds_.push_back({.term = last, .low = low, .below = below});
      std::optional<Sum> found = least_sum(terms - 1, below);
      bounds_.pop_back();
      if (!found) return best;
      low = found->value;
      found->value += most(found->layers, last);
      if (found->value < below) {
        below = found->value;
        best = std::move(found);
      }
    }
  }

  [[nodiscard]] Seconds most(const std::vector<std::int64_t>& layers, Term term) {
    Seconds most{};
    for (const StageContent& stage : contents_of(layers, 1, order_)) {
      most = std::max(most, known(stage).*term);
    }
    return most;
  }

  std::optional<Sum> least_pace(Seconds below) {
    Seconds pace = of_a_full_stage();
    for (std::int64_t stage = 0; stage < stages_; ++stage) {
      const StageContent empty = content(stage, 0, 0);
      if (!may_have(stage, empty)) return std::nullopt;
      pace = std::max(pace, known(empty).forward);
    }
    while (pace < below) {
      Seconds next = Seconds::infinity();
      if (reaches_end(pace, next)) return Sum{.layers = from_the_last(pace), .value = pace};
      pace = next;
    }
    return std::nullopt;
  }

  /// The least time of a stage with the average number of layers, rounded up; some stage has at
  /// least this number.
  Seconds of_a_full_stage() {
    const std::int64_t count = (layers_ + stages_ - 1) / stages_;
    Seconds least = Seconds::infinity();
    const std::int64_t cuts = order_.mixed              ? layers_
                              : order_.every > 0        ? order_.every - 1
                              : order_.other_layers > 0 ? order_.layers
                                                        : 0;
    for (std::int64_t begin = 0; begin <= std::min(cuts, layers_ - count); ++begin) {
      StageContent full = order_.content(begin, begin + count);
      full.first = full.last = stages_ == 1;
      least = std::min(least, known(full).forward);
    }
    return least;
  }

  static bool is_within(const StageContent& a, const StageContent& b) {
    for (std::size_t kind = 0; kind < kMostForms; ++kind) {
      if (a.of_kind(kind) > b.of_kind(kind)) return false;
    }
    return true;
  }

  /// Whether the stage can hold the content.  A stage that can hold some layers can hold fewer, so
  /// answers are kept and reused; each pace repeats many checks of the paces before.
  bool holds(std::int64_t stage, const StageContent& content) {
    ProbedContent& asked = asked_[static_cast<std::size_t>(stage)];
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

  bool may_have(std::int64_t stage, const StageContent& content) {
    const StageCost& cost = known(content);
    for (const Bound& bound : bounds_) {
      if (!(bound.low + cost.*bound.term < bound.below)) return false;
    }
    return holds(stage, content);
  }

  const StageCost& known(const StageContent& stage) {
    deadline_.check();
    std::optional<StageCost>& cost = known_[stage];
    if (!cost) cost = limits_.cost(stage);
    return *cost;
  }

  /// The content of a stage with the layers in [begin, end).
  [[nodiscard]] StageContent content(std::int64_t stage, std::int64_t begin,
                                     std::int64_t end) const {
    StageContent content = order_.content(begin, end);
    content.first = stage == 0;
    content.last = stage == stages_ - 1;
    return content;
  }

  /// The greatest number of layers, up to `left`, that a stage may have at a pace.  A stage with
  /// `count` layers has the content `content_of(count)`.  The search begins at `guess`.  `next` is
  /// lowered to the pace that would allow one more layer, if this pace is less.
  template <class Content>
  std::int64_t most_layers(std::int64_t stage, Seconds pace, std::int64_t left, std::int64_t guess,
                           const Content& content_of, Seconds& next) {
    const auto may = [&](std::int64_t count) {
      const StageContent content = content_of(count);
      return known(content).forward <= pace && may_have(stage, content);
    };
    std::int64_t count = std::min(guess, left);
    while (count > 0 && !may(count)) --count;
    while (count < left && may(count + 1)) ++count;
    if (count < left) {
      const StageContent more = content_of(count + 1);
      const Seconds needed = known(more).forward;
      if (needed > pace && needed < next && may_have(stage, more)) next = needed;
    }
    return count;
  }

  bool reaches_end(Seconds pace, Seconds& next) {
    std::int64_t begin = 0, count = 0;
    for (std::int64_t stage = 0; stage < stages_; ++stage) {
      const auto from_begin = [&](std::int64_t n) { return content(stage, begin, begin + n); };
      count = most_layers(stage, pace, layers_ - begin, count, from_begin, next);
      begin += count;
    }
    return begin == layers_;
  }

  [[nodiscard]] std::vector<std::int64_t> from_the_last(Seconds pace) {
    std::vector<std::int64_t> layers(static_cast<std::size_t>(stages_), 0);
    Seconds next{};
    std::int64_t end = layers_, count = 0;
    for (std::int64_t stage = stages_ - 1; stage >= 0; --stage) {
      const auto to_end = [&](std::int64_t n) { return content(stage, end - n, end); };
      count = most_layers(stage, pace, end, count, to_end, next);
      layers[static_cast<std::size_t>(stage)] = count;
      end -= count;
    }
    return layers;
  }

  const std::int64_t stages_, layers_;
  const LayerOrder order_;
  const StageLimits& limits_;
  std::vector<ProbedContent> asked_;  // by stage
  PacedDeadline deadline_;
  ByContent<std::optional<StageCost>> known_;
  std::vector<Bound> bounds_;
};

}  // namespace

void SpreadCost::add(const StageCost& stage) {
  most_.forward = std::max(most_.forward, stage.forward);
  most_.backward = std::max(most_.backward, stage.backward);
  most_.after_last_backward = std::max(most_.after_last_backward, stage.after_last_backward);
  most_.single_stage_time = std::max(most_.single_stage_time, stage.single_stage_time);
}

Seconds SpreadCost::step() const {
  return std::max(most_.pace() + most_.after_last_backward, most_.single_stage_time);
}

std::vector<StageContent> contents_of(const std::vector<std::int64_t>& layers, std::int64_t chunks,
                                      const LayerOrder& order) {
  std::vector<StageContent> contents(layers.size());
  std::int64_t begin = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
      const std::int64_t slots = (layers[stage] + chunks - 1) / chunks;
      // An end that takes a slot is in the first chunk of the first stage or in the last chunk of
      // the last stage.
      const bool has_end = stage == 0 ? chunk == 0 : chunk == chunks - 1;
      const std::int64_t count = slots - (has_end ? slots * chunks - layers[stage] : 0);
      contents[stage] += order.content(begin, begin + count);
      begin += count;
    }
  }
  contents.front().first = true;
  contents.back().last = true;
  return contents;
}

std::optional<Spread> spread_layers(std::int64_t stages, const LayerOrder& order,
                                    const StageLimits& limits, Seconds most) {
  return SpreadSearch(stages, order, limits).run(most);
}

}  // namespace dfsearch::training
