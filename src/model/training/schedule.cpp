// A stage is idle while the first micro-batch comes and the last one leaves; what other stages
// need for one micro-batch is what it waits.  GPipe goes through the stages twice, each time at
// the pace of the one that is slowest on this way.
//
// With equal stages of F, B and W this is (p - 1)(F + B + W) of 1F1B and GPipe, a v-th of it
// with v chunks, and (p - 1)(F + B - W) of ZB-H1, where gradients of weights fill both ends.

#include "model/training/schedule.hpp"

#include "base/number.hpp"

#include <algorithm>

namespace dfsearch::training {
namespace {}  // namespace

// docs/training.md (6)
Seconds pipeline_time(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                      const std::vector<StageTime>& stages) {
  Seconds slowest{}, slowest_forward{}, slowest_backward{}, longest_end{};
  Seconds sum{}, ends{}, waited{};
  for (const StageTime& stage : stages) {
    slowest = std::max(slowest, stage.total);
    slowest_forward = std::max(slowest_forward, stage.forward);
    slowest_backward = std::max(slowest_backward, stage.total - stage.forward);
    longest_end = std::max(longest_end, stage.ends);
    sum += stage.total;
    ends += stage.ends;
    waited += stage.waited;
  }
  const double count = number(static_cast<std::int64_t>(stages.size()));
  const double others = (count - 1.0) / count;
  switch (schedule) {
    case Schedule::OneForwardOneBackward:
      break;
    case Schedule::GPipe:
      return (slowest_forward + slowest_backward) * number(micro_batches - 1) + sum;
    case Schedule::Interleaved:
      // A chunk is waited for; of two ends the shorter one, by a round of micro-batches.
      return slowest * number(micro_batches) + (ends - longest_end) * count +
             (sum - ends) * others / number(chunks);
    case Schedule::ZeroBubble:
      return slowest * number(micro_batches) + waited * others;
  }
  return slowest * number(micro_batches - 1) + sum;
}

// docs/training.md (7)
double in_flight(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 std::int64_t stages, std::int64_t stage) {
  switch (schedule) {
    case Schedule::GPipe:
      return number(micro_batches);
    case Schedule::ZeroBubble:
      return number(std::min(micro_batches, stages));
    case Schedule::OneForwardOneBackward:
      return number(std::min(micro_batches, stages - stage));
    case Schedule::Interleaved:
      break;
  }
  const std::int64_t pieces = 2 * (stages - stage - 1) + (chunks - 1) * stages + 1;
  return std::min(number(pieces), number(micro_batches) * number(chunks)) / number(chunks);
}

bool is_possible(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 std::int64_t stages, std::int64_t layers) {
  if (schedule != Schedule::Interleaved) return chunks == 1;
  return chunks > 1 && stages > 1 && micro_batches % stages == 0 && layers % stages == 0 &&
         layers / stages % chunks == 0;
}

}  // namespace dfsearch::training
