#include "engine/sharding/value_times.hpp"

#include <algorithm>
#include <numeric>

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
        reader.seconds[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)] =
            static_cast<double>(context.tiles) *
            (conversion_time(context, tensor, from, to) / Seconds(1.0));
      }
    }
  }
  std::sort(ends_.begin(), ends_.end());
  ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
}

double ValueTimes::seconds(const std::vector<Loop>& sharding) const {
  const auto from = static_cast<std::size_t>(sharding[producer_]);
  std::array<double, kLayouts> most{};
  for (const Reader& reader : readers_) {
    const auto to = static_cast<std::size_t>(sharding[reader.kernel]);
    double& of_layout = most[reader.wants[to]];
    of_layout = std::max(of_layout, reader.seconds[to][from]);
  }
  return std::accumulate(most.begin(), most.end(), 0.0);
}

}  // namespace dfsearch
