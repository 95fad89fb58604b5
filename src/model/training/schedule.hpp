#pragma once
// The time of a pipeline for a step, and the contents of its stages meanwhile (docs/training.md,
// section 4).  Against a simulation of events: tests/model/training/schedule_test.cpp.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "model/training/memory.hpp"
#include "model/training/plan.hpp"

namespace dfsearch::training {

inline Seconds positive_part(Seconds time) { return std::max(Seconds{}, time); }

/// The time of one micro-batch in a block: kernels, and all that they wait for.
struct PassTime {
  Seconds forward{};
  Seconds backward{};         ///< with all that is computed again
  Seconds weight_gradient{};  ///< a part of `backward`

  [[nodiscard]] Seconds total() const { return forward + backward; }
};

/// The blocks of a model, and the messages between a stage and its neighbours.
template <class Block>
struct TimesOf {
  Block layer, other_layer, first, last;
  Seconds hops{};              ///< of a micro-batch on a stage, both ways
  Seconds link{};              ///< in which the link to the next stage carries a micro-batch
  std::vector<Block> further;  ///< of the kinds of layers from the third on

  [[nodiscard]] std::size_t kinds() const { return 2 + further.size(); }
  [[nodiscard]] const Block& of_kind(std::size_t kind) const {
    return kind == 0 ? layer : kind == 1 ? other_layer : further[kind - 2];
  }
};
using PipelineTimes = TimesOf<PassTime>;

/// Exchanges of each micro-batch beside the passes of a stage, and the work that hides them.
struct OverlappedExchanges {
  Seconds forward{}, forward_hidden{};
  Seconds backward{}, backward_hidden{};

  [[nodiscard]] Seconds exposed() const {
    return positive_part(forward - forward_hidden) + positive_part(backward - backward_hidden);
  }
};

/// The time from the first micro-batch to the last: the time if the slowest stage sets the pace (in
/// GPipe the slowest one of each way).  Exact if all stages are alike; if they differ by the number
/// of their layers and by the ends it is exact for GPipe, and an upper bound for the others.  Never
/// less if a block, or the gradients of weights in it, take longer.  Immutable.
class Pipeline {
 public:
  Pipeline(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches, std::int64_t stages,
           const PipelineTimes& times, const StageContent& all);

  /// The time of the step if a stage sets the pace: the sum, or for GPipe the pace of each way.
  struct Pace {
    Seconds forward{};
    Seconds backward{};

    [[nodiscard]] Seconds total() const { return forward + backward; }
  };
  /// At least `micro_batches` times its passes.  Exchanges of one micro-batch hide while the stage
  /// waits for the first one or for the end.  Never less with a layer more, if work of the layers
  /// hides exchanges.
  /// docs/training.md (6)
  [[nodiscard]] Pace pace(const StageContent& stage, const OverlappedExchanges& overlapped) const;
  /// The time of this stage alone, with exchanges exposed once, for any pace.  Never less with a
  /// layer more, either.
  [[nodiscard]] Seconds single_stage_time(const StageContent& stage,
                                          const OverlappedExchanges& overlapped,
                                          Seconds once) const;
  /// The passes of one micro-batch.
  [[nodiscard]] PassTime passes(const StageContent& stage) const;

 private:
  [[nodiscard]] Seconds unfilled(const StageContent& stage, bool layers_fill) const;

  const Schedule schedule_;
  const double micro_batches_;
  const double stages_;
  const double others_;  ///< share of the stages that wait for one of them
  const PipelineTimes times_;
  const StageContent all_;  ///< layers of all stages
  Seconds sum_{};           ///< of one micro-batch, through all stages
  Seconds interleaving_{};  ///< waiting of chunks
};

/// The number of micro-batches whose activations a stage, counted from 0, keeps at once; with
/// chunks a fraction, as it counts in whole stages.
/// docs/training.md (7)
double in_flight(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 std::int64_t stages, std::int64_t stage);

/// Whether the schedule is possible: stages are interleaved if they have chunks (stages.hpp),
/// and micro-batches then come in rounds of the stages.
bool is_possible(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 const std::vector<std::int64_t>& layers);
/// Whether it is possible with some numbers of layers.
bool is_possible(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 std::int64_t stages, std::int64_t layers);

}  // namespace dfsearch::training
