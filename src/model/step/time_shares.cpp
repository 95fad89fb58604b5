#include "model/step/time_shares.hpp"

#include <algorithm>
#include <array>

namespace dfsearch {

ChargedTime& ChargedTime::operator+=(const ChargedTime& other) {
  compute = capped_sum(compute, other.compute);
  memory = capped_sum(memory, other.memory);
  network = capped_sum(network, other.network);
  return *this;
}

ChargedTime charged_time(Overlap overlap, Ticks compute, Ticks memory, Ticks network) {
  ChargedTime charged{.compute = compute, .memory = memory, .network = network};
  if (overlap == Overlap::None) return charged;
  if (memory > compute) {
    charged.compute = 0;
  } else {
    charged.memory = 0;
  }
  if (overlap == Overlap::ComputeMemory) return charged;
  if (network > std::max(compute, memory)) {
    charged.compute = 0;
    charged.memory = 0;
  } else {
    charged.network = 0;
  }
  return charged;
}

StepBound TimeShares::largest() const {
  const std::array shares = {compute, memory, network, bubble, transfer};
  return static_cast<StepBound>(std::max_element(shares.begin(), shares.end()) - shares.begin());
}

TimeShares time_shares(const StepTime& step, const Clock& clock, const ChargedTime& layer) {
  const Ticks whole = layer.compute + layer.memory + layer.network;
  const Seconds total = step.step(clock.seconds(whole));
  const auto share = [&](Ticks part) {
    return clock.seconds(part) * (step.factor / step.bubble_factor / step.copies) / total;
  };
  return {.compute = share(layer.compute),
          .memory = share(layer.memory),
          .network = share(layer.network),
          .bubble = share(whole) * (step.bubble_factor - 1.0),
          .transfer = std::max(step.transfer, step.least - clock.seconds(whole) * step.factor) /
                      step.copies / total};
}

}  // namespace dfsearch
