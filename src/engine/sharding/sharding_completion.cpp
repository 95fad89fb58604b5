// Weighted sums.
//
// The time of a partition, with the fusion fixed, is the largest of three sums.  It is replaced by
// a weighted mean of the three, with nearly all the weight on the largest one.  The objective is
// then a sum of terms over single kernels and over kernels that a value joins, and its best
// sharding is found exactly (loop_sum.hpp).  The three sums of that sharding give new weights; a
// few rounds suffice.  This heuristic yields incumbents and a kernel to branch on, never a bound.

#include "engine/sharding/sharding_completion.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "engine/sharding/loop_sum.hpp"
#include "model/layer/sharding.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

constexpr int kRoundsOfWeights = 3;
constexpr double kMostSteps = 1e6;
// The weight of a sum is its ratio to the largest sum, to this power.
constexpr double kSharpness = 8.0;

class Completion {
 public:
  Completion(const Problem& problem, const LayerDecisions& decisions,
             const std::vector<std::int64_t>& partition, const Deadline& deadline)
      : problem_(problem),
        graph_(problem.workload.graph),
        decisions_(decisions),
        partition_(partition),
        deadline_(deadline),
        context_(problem, decisions.network, tile_count(problem.workload, decisions.tile),
                 step_time(problem, decisions.network, decisions.micro_batch).micro_batches),
        sum_(context_, decisions.sharding, {partition.begin(), partition.end()}, deadline) {
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
      sum_.add(k, sum_.group(k), [&](LoopPair loop) { return own_times(KernelId(k), loop); });
    }
    for (const Tensor& tensor : graph_.tensors()) {
      if (partition[tensor.from.index()] != partition[tensor.to.index()]) add_transfers(tensor);
    }
    for (const Tensor& seam : charged_seams(problem)) add_transfers(seam);
  }

  ShardingCompletion run() {
    ShardingCompletion best{.sharding = first_sharding(decisions_.sharding), .cost = {}};
    const bool has_order = sum_.find_order(kMostSteps);
    std::vector<LoopTimes> weights(sum_.sums().size(), {1.0, 1.0, 1.0});
    std::vector<std::uint8_t> of_best = sum_.values();
    for (int round = 0; round < kRoundsOfWeights; ++round) {
      deadline_.check();
      if (has_order) sum_.minimize(weights);
      std::vector<LoopPair> sharding = sum_.loops();
      if (round > 0 && sharding == best.sharding) break;
      auto result = evaluate(problem_, mapping(sharding));
      Cost* cost = std::get_if<Cost>(&result);
      const bool better = cost != nullptr && (!best.cost || cost->step_time < best.cost->step_time);
      if (better) best.cost = std::move(*cost);
      if (round == 0 || better) {
        best.sharding = std::move(sharding);
        of_best = sum_.values();
      }
      if (!has_order) break;
      weights = weights_of(sum_.sums());
    }
    best.branch_on = most_unseen(sum_.excess(weights, of_best));
    return best;
  }

 private:
  [[nodiscard]] Mapping mapping(const std::vector<LoopPair>& sharding) const {
    return {.network = decisions_.network,
            .micro_batch = decisions_.micro_batch,
            .tile = decisions_.tile,
            .sharding = sharding,
            .partition = partition_,
            .cores = {}};
  }

  [[nodiscard]] LoopTimes own_times(KernelId id, LoopPair loop) const {
    const Kernel& kernel = graph_.kernel(id);
    const Accelerator& chip = problem_.system.accelerator;
    const Shard shard = shard_of(kernel, loop, context_.machine.grid(), context_.tiles);
    const double utilization = problem_.execution.compute_utilization.value_or(1.0);
    const Seconds compute = tile_flops(kernel, shard) / (chip.peak() * utilization);
    const Bytes moved = explicit_bytes(graph_, id, loop, context_.machine.grid());
    return {.compute = static_cast<double>(context_.tiles) * (compute / Seconds(1.0)),
            .memory = moved / problem_.system.memory[0].bandwidth / Seconds(1.0),
            .network = own_network_time(context_, kernel, loop) / Seconds(1.0)};
  }
  /// Adds the store and the load of a tensor or seam.
  void add_transfers(const Tensor& tensor) {
    for (const KernelId end : {tensor.from, tensor.to}) {
      sum_.add(tensor.from.index(), sum_.group(end.index()), [&](LoopPair producer) {
        const Bytes bytes = tensor_bytes(graph_, tensor, producer, context_.machine.grid(),
                                         context_.tiles, problem_.workload.word);
        const Seconds once = bytes / problem_.system.memory[0].bandwidth;
        return LoopTimes{.memory = static_cast<double>(context_.tiles) * (once / Seconds(1.0))};
      });
    }
  }

  /// Weights from the ratio of each sum of a partition to its largest sum; sums that nothing hides
  /// have weight 1.
  [[nodiscard]] std::vector<LoopTimes> weights_of(const std::vector<LoopTimes>& sums) const {
    const Overlap overlap = problem_.execution.overlap;
    std::vector<LoopTimes> weights;
    for (const LoopTimes& sum : sums) {
      double hidden = std::max(sum.compute, sum.memory);
      if (overlap == Overlap::Perfect) hidden = std::max(hidden, sum.network);
      const auto weight = [&](double part, bool adds) {
        return adds || hidden <= 0.0 ? 1.0 : std::pow(part / hidden, kSharpness);
      };
      const bool all_add = overlap == Overlap::None;
      weights.push_back({.compute = weight(sum.compute, all_add),
                         .memory = weight(sum.memory, all_add),
                         .network = weight(sum.network, overlap != Overlap::Perfect)});
    }
    return weights;
  }

  /// The undecided kernel with the greatest excess (LoopSum::excess).
  [[nodiscard]] std::size_t most_unseen(const std::vector<double>& unseen) const {
    const LoopSets& sets = decisions_.sharding;
    std::size_t best = sets.size();
    for (std::size_t k = 0; k < sets.size(); ++k) {
      if (sets[k].size() > 1 && (best == sets.size() || unseen[k] > unseen[best])) best = k;
    }
    return best;
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  const LayerDecisions& decisions_;
  const std::vector<std::int64_t>& partition_;
  const Deadline& deadline_;
  const NetworkContext context_;
  LoopSum sum_;  // by partition
};

}  // namespace

ShardingCompletion complete_sharding(const Problem& problem, const LayerDecisions& decisions,
                                     const std::vector<std::int64_t>& partition,
                                     const Deadline& deadline) {
  return Completion(problem, decisions, partition, deadline).run();
}

}  // namespace dfsearch
