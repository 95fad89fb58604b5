#pragma once
// Conversion times of tensors, shared among layers that differ in other decisions than the network
// and the tiles.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "graph/dataflow_graph.hpp"
#include "graph/loop_set.hpp"
#include "model/mapping.hpp"

namespace dfsearch {

/// Conversion times of a tile on one network, by tensor and by the loops of producer and consumer.
/// Any thread may use it.
class ConversionTable {
 public:
  explicit ConversionTable(const DataflowGraph& graph)
      : first_(graph.tensors().data()),
        tensors_(graph.tensor_count()),
        known_(tensors_ * kLoopPairs * kLoopPairs) {
    for (std::atomic<double>& seconds : known_) seconds.store(kUnknown, std::memory_order_relaxed);
  }

  /// Returns the known time, or calls `compute()` and keeps its result.  Times of tensors outside
  /// of the graph, such as seams, are not kept.
  template <typename Compute>
  Seconds time(const Tensor& tensor, LoopPair producer, LoopPair consumer, Compute&& compute) {
    const std::less<const Tensor*> before;  // orders pointers into different arrays, too
    if (before(&tensor, first_) || !before(&tensor, first_ + tensors_)) return compute();
    const auto index = static_cast<std::size_t>(&tensor - first_);
    std::atomic<double>& known =
        known_[(index * kLoopPairs + producer.index()) * kLoopPairs + consumer.index()];
    const double seconds = known.load(std::memory_order_relaxed);
    if (seconds != kUnknown) return Seconds(seconds);
    const Seconds computed = compute();
    known.store(computed.in_base_units(), std::memory_order_relaxed);
    return computed;
  }

 private:
  static constexpr double kUnknown = -1.0;

  const Tensor* first_;
  std::size_t tensors_;
  std::vector<std::atomic<double>> known_;
};

/// Conversion tables of one problem by network and number of tiles.  Any thread may use it; a full
/// cache adds no table.
class ConversionCache {
 public:
  /// Returns null if the table is new and the cache is full.
  std::shared_ptr<ConversionTable> table(const DataflowGraph& graph,
                                         const std::vector<Mapping::Dimension>& network,
                                         std::int64_t tiles) {
    const std::lock_guard lock(mutex_);
    auto& table = tables_[{network, tiles}];
    const std::size_t size = graph.tensor_count() * kLoopPairs * kLoopPairs;
    if (!table && size <= kMostTimes - size_) {
      table = std::make_shared<ConversionTable>(graph);
      size_ += size;
    }
    return table;
  }

 private:
  static constexpr std::size_t kMostTimes = 4'000'000;  // 32 megabytes

  std::mutex mutex_;
  std::map<std::pair<std::vector<Mapping::Dimension>, std::int64_t>,
           std::shared_ptr<ConversionTable>>
      tables_;            // guarded by mutex_
  std::size_t size_ = 0;  // times in all tables; guarded by mutex_
};

}  // namespace dfsearch
