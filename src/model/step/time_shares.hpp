#pragma once
// What the step time is spent on (docs/model.md, section 7).

#include <cstdint>

#include "model/clock.hpp"
#include "model/problem.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {

/// Compute, memory and network time that a partition is charged for; they add up
/// to its time.  What hides behind something longer is not charged.  Each part is at most
/// kNever, and so is every sum of them.
struct ChargedTime {
  Ticks compute = 0;
  Ticks memory = 0;
  Ticks network = 0;

  ChargedTime& operator+=(const ChargedTime& other);
};

/// The parts of `overlapped` of model/step/step_time.hpp.  Where two are equally long
/// the one behind which the other hides is compute before memory before network.
ChargedTime charged_time(Overlap overlap, Ticks compute, Ticks memory, Ticks network);

/// What most of the step time goes to.
enum class StepBound : std::uint8_t { Compute, Memory, Network, Bubble, Transfer };

/// Parts of the step time, from 0 to 1; together 1 but for rounding.
struct TimeShares {
  double compute = 0.0;
  double memory = 0.0;
  double network = 0.0;
  double bubble = 0.0;    ///< stages that wait while the pipeline fills and drains
  double transfer = 0.0;  ///< what goes from stage to stage

  /// The largest share, of equal ones the first.
  [[nodiscard]] StepBound largest() const;
};

TimeShares time_shares(const StepTime& step, const Clock& clock, const ChargedTime& layer);

}  // namespace dfsearch
