#include "engine/sharding/value_times.hpp"

#include <algorithm>

namespace dfsearch {

ValueTimes::ValueTimes(const NetworkContext& context, const std::vector<Tensor>& tensors,
                       const LoopSets& sets)
    : producer_(tensors.front().from.index()), ends_{producer_} {
  for (const Tensor& tensor : tensors) {
    Reader& reader = readers_.emplace_back(Reader{.kernel = tensor.to.index()});
    ends_.push_back(reader.kernel);
    for (const Loop to : sets[reader.kernel]) {
      const auto layout = static_cast<std::uint8_t>(wanted_layout(context.problem, tensor, to));
      reader.wants[static_cast<std::size_t>(to)] = layout;
      for (const Loop from : sets[producer_]) {
        seconds_[static_cast<std::size_t>(from)][layout] =
            static_cast<double>(context.tiles) *
            (conversion_time(context, tensor, from, to) / Seconds(1.0));
      }
    }
  }
  std::sort(ends_.begin(), ends_.end());
  ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
}

double ValueTimes::seconds(const std::vector<Loop>& sharding) const {
  std::array<bool, kLayouts> wanted{};
  for (const Reader& reader : readers_) {
    wanted[reader.wants[static_cast<std::size_t>(sharding[reader.kernel])]] = true;
  }
  double sum = 0.0;
  for (std::size_t layout = 0; layout < kLayouts; ++layout) {
    if (wanted[layout]) sum += seconds_[static_cast<std::size_t>(sharding[producer_])][layout];
  }
  return sum;
}

}  // namespace dfsearch
