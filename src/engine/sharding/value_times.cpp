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
    reader.wants.resize(sets[reader.kernel].back().index() + 1);
    reader.seconds.resize(reader.wants.size());
    for (const LoopPair to : sets[reader.kernel]) {
      reader.wants[to.index()] = static_cast<std::uint8_t>(index_of(context.wanted(tensor, to)));
      reader.seconds[to.index()].resize(sets[producer_].back().index() + 1);
      for (const LoopPair from : sets[producer_]) {
        reader.seconds[to.index()][from.index()] =
            static_cast<double>(context.tiles) *
            (conversion_time(context, tensor, from, to) / Seconds(1.0));
      }
    }
  }
  std::sort(ends_.begin(), ends_.end());
  ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
}

double ValueTimes::seconds(const std::vector<LoopPair>& sharding) const {
  const std::size_t from = sharding[producer_].index();
  std::array<double, kLayoutPairs> most{};
  for (const Reader& reader : readers_) {
    const std::size_t to = sharding[reader.kernel].index();
    double& of_layout = most[reader.wants[to]];
    of_layout = std::max(of_layout, reader.seconds[to][from]);
  }
  return std::accumulate(most.begin(), most.end(), 0.0);
}

}  // namespace dfsearch
