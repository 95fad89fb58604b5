#include "model/evaluate/partition_cost.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

class StageMembers {
 public:
  StageMembers(const Problem& problem, const Mapping& mapping, const LayerCosts& costs)
      : problem_(problem), graph_(problem.workload.graph), mapping_(mapping), costs_(costs) {}

  [[nodiscard]] std::size_t stage(KernelId kernel) const {
    return static_cast<std::size_t>(problem_.stage_of(mapping_.partition[kernel.index()]));
  }
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(degree_of(mapping_.network, Strategy::Pipeline));
  }

  /// Bytes of a tile that each stage hands to the next stage, or to the previous one if `back`.  A
  /// tensor that skips stages is handed on by each stage on its way.
  // docs/model.md (54)
  [[nodiscard]] std::vector<Bytes> handed_on(bool back) const {
    std::vector<Bytes> bytes(count());
    for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
      std::size_t from = stage(graph_.tensors()[t].from);
      std::size_t to = stage(graph_.tensors()[t].to);
      if (back ? from <= to : from >= to) continue;
      // Backward, the stages `to` + 1 to `from` hand the tensor on.
      if (back) std::swap(++from, ++to);
      for (std::size_t j = from; j < to; ++j) bytes[j] += costs_.tile_bytes(TensorId(t));
    }
    return bytes;
  }

  // docs/model.md (57)
  void add_memory(std::vector<StageCost>& stages,
                  const std::vector<PartitionMembers>& partitions) const {
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
      StageCost& cost = stages[stage(KernelId(k))];
      cost.kernels.emplace_back(k);
      cost.weights += costs_.stored_weight(KernelId(k));
    }
    if (graph_.has_backward()) {
      add_kept(stages);
      return;
    }
    for (const PartitionMembers& members : partitions) {
      Bytes& most = stages[stage(members.kernels.front())].activations;
      most = std::max(most, alive(members));
    }
  }

 private:
  /// While a partition works, the bytes that wait in memory in tensors with both ends in its stage.
  [[nodiscard]] Bytes alive(const PartitionMembers& members) const {
    Bytes sum{};
    for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
      const Tensor& tensor = graph_.tensors()[t];
      const std::int64_t from = mapping_.partition[tensor.from.index()];
      const std::int64_t to = mapping_.partition[tensor.to.index()];
      const bool waits = from != to && from <= members.index && members.index <= to;
      if (waits && stage(tensor.from) == stage(tensor.to)) sum += costs_.stored(TensorId(t));
    }
    return sum;
  }

  /// Adds the values between the forward and the backward pass, which stay for all samples between
  /// the two.
  void add_kept(std::vector<StageCost>& stages) const {
    for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
      const Tensor& tensor = graph_.tensors()[t];
      if (graph_.kernel(tensor.from).phase == graph_.kernel(tensor.to).phase) continue;
      stages[stage(tensor.to)].activations += costs_.kept(TensorId(t));
    }
    const std::int64_t samples =
        problem_.workload.global_batch / degree_of(mapping_.network, Strategy::Data);
    for (std::size_t j = 0; j < stages.size(); ++j) {
      const auto left = static_cast<std::int64_t>(stages.size() - j);
      stages[j].activations = stages[j].activations * static_cast<double>(std::min(samples, left));
    }
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  const Mapping& mapping_;
  const LayerCosts& costs_;
};

}  // namespace

// docs/model.md (55)
StageCosts stage_costs(const Problem& problem, const Mapping& mapping, const LayerCosts& costs,
                       const std::vector<PartitionMembers>& partitions,
                       const std::vector<Ticks>& ticks) {
  const StageMembers rules(problem, mapping, costs);
  StageCosts result;
  result.stages.resize(rules.count());
  std::vector<std::array<Ticks, 2>> work(rules.count());  // forward and backward
  for (std::size_t p = 0; p < partitions.size(); ++p) {
    const KernelId first = partitions[p].kernels.front();
    const auto phase = static_cast<std::size_t>(problem.workload.graph.kernel(first).phase);
    Ticks& sum = work[rules.stage(first)][phase];
    sum = capped_sum(sum, ticks[p]);
  }
  const std::vector<Bytes> on = rules.handed_on(false);
  const std::vector<Bytes> back = rules.handed_on(true);
  const Clock& clock = costs.clock();
  for (std::size_t j = 0; j < work.size(); ++j) {
    const Overlap overlap = problem.execution.overlap;
    const Ticks there = costs.handed_on(on[j]);
    const Ticks here = costs.handed_on(back[j]);
    const Ticks time =
        capped_sum(stage_time(overlap, work[j][0], there), stage_time(overlap, work[j][1], here));
    result.stages[j].work = clock.seconds(capped_sum(work[j][0], work[j][1]));
    result.stages[j].transfer = clock.seconds(capped_sum(there, here));
    result.stages[j].time = clock.seconds(time);
    result.times.push_back(time);
    result.sum = capped_sum(result.sum, time);
    if (time > result.times[result.slowest]) result.slowest = j;
  }
  rules.add_memory(result.stages, partitions);
  const auto needed = [&](std::size_t j) {
    return result.stages[j].weights + result.stages[j].activations;
  };
  for (std::size_t j = 1; j < work.size(); ++j) {
    if (needed(j) > needed(result.fullest)) result.fullest = j;
  }
  return result;
}

}  // namespace dfsearch
