#pragma once
// The time of a pipeline for a step, and the micro-batches in flight (docs/training.md, section 4).
// tests/model/training/schedule_test.cpp compares it with a simulation of events.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "model/training/memory.hpp"
#include "model/training/plan.hpp"

namespace dfsearch::training {

inline Seconds positive_part(Seconds time) { return std::max(Seconds{}, time); }

/// The time of one micro-batch in a block: kernels and the exchanges that they wait for.
struct PassTime {
  Seconds forward{};
  Seconds backward{};         ///< recomputation included
  Seconds weight_gradient{};  ///< a part of `backward`

  [[nodiscard]] Seconds total() const { return forward + backward; }
};

/// The blocks of a model, and the messages between a stage and its neighbours.
template <class Block>
struct TimesOf {
  Block layer, other_layer, first, last;
  Seconds hops{};              ///< of a micro-batch on a stage, both ways
  Seconds link{};              ///< transfer of a micro-batch on the link to the next stage
  std::vector<Block> further;  ///< the third kind of layers and later ones

  [[nodiscard]] std::size_t kinds() const { return 2 + further.size(); }
  [[nodiscard]] const Block& of_kind(std::size_t kind) const {
    return kind == 0 ? layer : kind == 1 ? other_layer : further[kind - 2];
  }
};
using PipelineTimes = TimesOf<PassTime>;

/// Exchanges of each micro-batch that overlap with the passes of a stage, and the work that hides
/// them.
struct OverlappedExchanges {
  Seconds forward{}, forward_hidden{};
  Seconds backward{}, backward_hidden{};

  [[nodiscard]] Seconds exposed() const {
    return positive_part(forward - forward_hidden) + positive_part(backward - backward_hidden);
  }
};

/// The time from the first micro-batch to the last: the slowest stage sets the pace (with GPipe,
/// the slowest stage of each direction).  The time is exact if all stages are alike.  If stages
/// differ by their numbers of layers and by the ends, it is exact for GPipe, and an upper bound for
/// other schedules.  It never falls if a block, or the gradients of weights in a block, take
/// longer.  Immutable.
class Pipeline {
 public:
  Pipeline(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches, std::int64_t stages,
           const PipelineTimes& times, const StageContent& all);

  /// The time of the step if a stage sets the pace.  Except for GPipe, `forward` is the whole time;
  /// GPipe has a time for each direction.
  struct Pace {
    Seconds forward{};
    Seconds backward{};

    [[nodiscard]] Seconds total() const { return forward + backward; }
  };
  /// The pace is at least `micro_batches` times the passes of the stage.  Exchanges of one
  /// micro-batch are hidden while the stage waits for the first micro-batch or for the end.  The
  /// pace never falls when a layer is added, provided that work of the layers hides the exchanges.
  /// docs/training.md (6)
  [[nodiscard]] Pace pace(const StageContent& stage, const OverlappedExchanges& overlapped) const;
  /// The time of the stage by itself, whatever stage sets the pace.  It never falls when a layer is
  /// added.  `once` is the time of exchanges that are exposed once a step.
  [[nodiscard]] Seconds single_stage_time(const StageContent& stage,
                                          const OverlappedExchanges& overlapped,
                                          Seconds once) const;
  /// The passes of one micro-batch through the stage.
  [[nodiscard]] PassTime passes(const StageContent& stage) const;

 private:
  [[nodiscard]] Seconds unfilled(const StageContent& stage, bool layers_fill) const;

  const Schedule schedule_;
  const double micro_batches_;
  const double stages_;
  const double others_;  ///< share of the other stages among all stages
  const PipelineTimes times_;
  const StageContent all_;  ///< layers of all stages
  Seconds sum_{};           ///< time of one micro-batch through all stages
  Seconds interleaving_{};  ///< waiting of chunks
};

/// The number of micro-batches whose activations a stage keeps at once; stages are counted from 0.
/// The number may be a fraction if there are chunks, since it counts activations of whole stages.
/// docs/training.md (7)
double in_flight(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 std::int64_t stages, std::int64_t stage);

/// Whether the schedule is possible.  Interleaved stages must be divided into several equal chunks
/// (stages.hpp), and the number of micro-batches must be a multiple of the number of stages.  All
/// other schedules have one chunk for each stage.
bool is_possible(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 const std::vector<std::int64_t>& layers);
/// Whether the schedule is possible with some division of `layers` layers.
bool is_possible(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 std::int64_t stages, std::int64_t layers);

}  // namespace dfsearch::training
