// Weighted sums.
//
// The time of a partition, with the fusion fixed, is the largest of three sums.  Put in its place a
// weighted mean of the three, with nearly all the weight on the largest one: then the whole is a
// sum of terms over single kernels and over kernels that a value joins, and its least sharding is
// found exactly (base/least_sum.hpp).  The sums of that sharding give new weights; a few rounds
// suffice.  It is a heuristic: it yields incumbents and a kernel to branch on, never a bound.

#include "engine/sharding/sharding_completion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>

#include "base/least_sum.hpp"
#include "engine/sharding/value_times.hpp"
#include "model/layer/sharding.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

constexpr int kRounds = 3;
constexpr double kMostSteps = 1e6;
// How quickly the weight of a sum falls that is less than the largest.
constexpr double kSharpness = 8.0;

enum Part : std::size_t { kCompute, kMemory, kNetwork, kParts };
using Weights = std::array<double, kParts>;

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
        weights_(
            static_cast<std::size_t>(*std::max_element(partition.begin(), partition.end()) + 1),
            Weights{1.0, 1.0, 1.0}) {
    for (const LoopSet set : decisions.sharding) {
      sizes_.push_back(static_cast<std::size_t>(set.size()));
    }
    for (const std::vector<TensorId>& ids : converted_together(problem)) {
      std::vector<Tensor> tensors;
      for (const TensorId t : ids) tensors.push_back(graph_.tensor(t));
      add_value(tensors);
    }
    for (const Tensor& seam : charged_seams(problem)) add_value({seam});
  }

  ShardingCompletion run() {
    ShardingCompletion best;
    for (int round = 0; round < kRounds; ++round) {
      deadline_.check();
      std::vector<LoopPair> sharding = least_weighted();
      if (round > 0 && sharding == best.sharding) break;
      auto result = evaluate(problem_, mapping(sharding));
      Cost* cost = std::get_if<Cost>(&result);
      const bool better = cost != nullptr && (!best.cost || cost->step_time < best.cost->step_time);
      if (round == 0 || better) best.sharding = sharding;
      if (better) best.cost = std::move(*cost);
      reweigh(sharding);
    }
    best.branch_on = most_unseen(best.sharding);
    return best;
  }

 private:
  void add_value(const std::vector<Tensor>& tensors) {
    deadline_.check();
    values_.emplace_back(context_, tensors, decisions_.sharding);
    terms_.push_back(value_terms(values_.back(), decisions_.sharding, sizes_));
  }

  [[nodiscard]] std::size_t place(KernelId kernel) const {
    return static_cast<std::size_t>(partition_[kernel.index()]);
  }
  [[nodiscard]] Mapping mapping(const std::vector<LoopPair>& sharding) const {
    return {.network = decisions_.network,
            .micro_batch = decisions_.micro_batch,
            .tile = decisions_.tile,
            .sharding = sharding,
            .partition = partition_,
            .cores = {}};
  }
  [[nodiscard]] double tiles() const { return static_cast<double>(context_.tiles); }

  /// Seconds of compute, memory and network for a kernel's loop, including the partitions that its
  /// tensors go to.
  [[nodiscard]] Weights own_parts(KernelId id, LoopPair loop) const {
    const Kernel& kernel = graph_.kernel(id);
    const Accelerator& chip = problem_.system.accelerator;
    const Shard shard = shard_of(kernel, loop, context_.machine.grid(), context_.tiles);
    const double utilization = problem_.execution.compute_utilization.value_or(1.0);
    const Seconds compute = tile_flops(kernel, shard) / (chip.peak() * utilization);
    const Bytes moved = explicit_bytes(graph_, id, loop, context_.machine.grid());
    return {tiles() * (compute / Seconds(1.0)),
            moved / problem_.system.memory[0].bandwidth / Seconds(1.0),
            own_network_time(context_, kernel, loop) / Seconds(1.0)};
  }
  [[nodiscard]] double transfer(const Tensor& tensor, LoopPair producer) const {
    const Bytes bytes = tensor_bytes(graph_, tensor, producer, context_.machine.grid(),
                                     context_.tiles, problem_.workload.word);
    return tiles() * (bytes / problem_.system.memory[0].bandwidth / Seconds(1.0));
  }
  [[nodiscard]] bool crosses(const Tensor& tensor) const {
    return place(tensor.from) != place(tensor.to);
  }
  [[nodiscard]] double weighted(KernelId id, LoopPair loop) const {
    const Weights& weights = weights_[place(id)];
    const Weights parts = own_parts(id, loop);
    double sum = 0.0;
    for (std::size_t part = 0; part < kParts; ++part) sum += weights[part] * parts[part];
    for (const TensorId t : graph_.outputs(id)) {
      const Tensor& tensor = graph_.tensor(t);
      if (!crosses(tensor)) continue;
      sum += transfer(tensor, loop) * (weights[kMemory] + weights_[place(tensor.to)][kMemory]);
    }
    for (const Tensor& seam : charged_seams(problem_)) {
      if (seam.from != id) continue;
      sum += transfer(seam, loop) * (weights[kMemory] + weights_[place(seam.to)][kMemory]);
    }
    return sum;
  }
  [[nodiscard]] double weight(const ValueTimes& value) const {
    return weights_[static_cast<std::size_t>(partition_[value.producer()])][kNetwork];
  }

  [[nodiscard]] std::vector<LoopPair> least_weighted() const {
    const LoopSets& sets = decisions_.sharding;
    std::vector<SumTerm> terms;
    for (std::size_t k = 0; k < sets.size(); ++k) {
      if (sizes_[k] < 2) continue;
      SumTerm& term = terms.emplace_back();
      term.variables = {k};
      for (const LoopPair loop : sets[k]) term.values.push_back(weighted(KernelId(k), loop));
    }
    for (std::size_t v = 0; v < values_.size(); ++v) {
      for (const ValueTerm& term : terms_[v].terms) add_term(term, weight(values_[v]), terms);
    }
    const auto values = least_sum(sizes_, terms, kMostSteps, deadline_);
    if (!values) return first_sharding(sets);
    return loops_at(sets, *values);
  }

  void add_term(const ValueTerm& of, double weight, std::vector<SumTerm>& terms) const {
    SumTerm term;
    for (const std::size_t k : of.variables) {
      if (sizes_[k] > 1) term.variables.push_back(k);
    }
    if (term.variables.empty()) return;
    for (const double seconds : of.seconds) {
      // Forbidden combinations stay infinite whatever the weight.
      term.values.push_back(std::isinf(seconds) ? seconds : weight * seconds);
    }
    terms.push_back(std::move(term));
  }

  /// Weights by how near each sum of a partition is to the largest of them.
  void reweigh(const std::vector<LoopPair>& sharding) {
    std::vector<Weights> sums(weights_.size(), Weights{});
    for (std::size_t k = 0; k < sharding.size(); ++k) {
      const Weights parts = own_parts(KernelId(k), sharding[k]);
      Weights& sum = sums[place(KernelId(k))];
      for (std::size_t part = 0; part < kParts; ++part) sum[part] += parts[part];
    }
    const auto move = [&](const Tensor& tensor) {
      const double seconds = transfer(tensor, sharding[tensor.from.index()]);
      sums[place(tensor.from)][kMemory] += seconds;
      sums[place(tensor.to)][kMemory] += seconds;
    };
    for (const Tensor& tensor : graph_.tensors()) {
      if (crosses(tensor)) move(tensor);
    }
    for (const Tensor& seam : charged_seams(problem_)) move(seam);
    for (const ValueTimes& value : values_) {
      sums[place(KernelId(value.producer()))][kNetwork] += value.seconds(sharding);
    }
    const Overlap overlap = problem_.execution.overlap;
    for (std::size_t p = 0; p < sums.size(); ++p) {
      const double hidden = overlap == Overlap::Perfect
                                ? *std::max_element(sums[p].begin(), sums[p].end())
                                : std::max(sums[p][kCompute], sums[p][kMemory]);
      for (std::size_t part = 0; part < kParts; ++part) {
        const bool adds =
            overlap == Overlap::None || (overlap == Overlap::ComputeMemory && part == kNetwork);
        weights_[p][part] =
            adds || hidden <= 0.0 ? 1.0 : std::pow(sums[p][part] / hidden, kSharpness);
      }
    }
  }

  /// The undecided kernel whose loop and values cost most above the least that each may cost alone.
  [[nodiscard]] std::size_t most_unseen(const std::vector<LoopPair>& sharding) const {
    const LoopSets& sets = decisions_.sharding;
    std::vector<double> unseen(sets.size(), 0.0);
    for (std::size_t k = 0; k < sets.size(); ++k) {
      double least = weighted(KernelId(k), sharding[k]);
      const double taken = least;
      for (const LoopPair loop : sets[k]) least = std::min(least, weighted(KernelId(k), loop));
      unseen[k] += taken - least;
    }
    for (std::size_t v = 0; v < values_.size(); ++v) {
      const double taken = weight(values_[v]) * values_[v].seconds(sharding);
      const double least = weight(values_[v]) * terms_[v].least;
      for (const std::size_t k : values_[v].ends()) unseen[k] += taken - least;
    }
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
  std::vector<Weights> weights_;    // per partition
  std::vector<std::size_t> sizes_;  // of the kernels' sets, then of variables that `terms_` add
  std::vector<ValueTimes> values_;
  std::vector<ValueTerms> terms_;  // by value
};

}  // namespace

LoopPair loop_at(LoopSet set, std::size_t place) {
  auto loop = set.begin();
  for (; place > 0; --place) ++loop;
  return *loop;
}

std::vector<LoopPair> loops_at(const LoopSets& sets, const std::vector<std::uint8_t>& places) {
  std::vector<LoopPair> loops;
  for (std::size_t k = 0; k < sets.size(); ++k) loops.push_back(loop_at(sets[k], places[k]));
  return loops;
}

ShardingCompletion complete_sharding(const Problem& problem, const LayerDecisions& decisions,
                                     const std::vector<std::int64_t>& partition,
                                     const Deadline& deadline) {
  return Completion(problem, decisions, partition, deadline).run();
}

}  // namespace dfsearch
