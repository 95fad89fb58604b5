#include "base/deadline.hpp"

#include <algorithm>

namespace dfsearch {
namespace {

// Longer than any machine runs, short enough to be added to any moment.
constexpr Seconds kForever{1e9};

}  // namespace

Deadline::Deadline(Seconds time, const std::atomic<bool>* stop) : stop_(stop) {
  if (!(time < kForever)) return;
  const std::chrono::duration<double> length(std::max(0.0, time.in_base_units()));
  end_ = WallClock::now() + std::chrono::duration_cast<WallClock::duration>(length);
}

Deadline Deadline::within(Seconds time) const {
  Deadline sooner(time, stop_);
  if (end_ && (!sooner.end_ || *end_ < *sooner.end_)) sooner.end_ = end_;
  return sooner;
}

}  // namespace dfsearch
