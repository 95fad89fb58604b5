// Multipliers.
//
// A partition takes at least its compute time and at least its network time, so all partitions of a
// phase take at least w C + (1 - w) N, with C and N the phase's sums of compute and network time,
// and any weight w between 0 and 1 (where the network is not hidden: C + N); loads of weights come
// on top.  Forward and backward kernels share no partition, so the phases add up, each with its
// weight.  The whole is a sum of terms over single kernels and over kernels that share a value; its
// least sharding is found exactly (base/least_sum.hpp).  Any weights make a bound; good ones
// make C and N of that sharding equal, and are found by halving the interval in which they lie.
//
// Roundings: a term is at most eight operations away from exact numbers, a sum of n terms n more,
// here and where the least one is compared with others; the roundings of the model are counted in
// point_bound.cpp.
//
// Against brute force: tests/engine/mapping/bound_properties_test.cpp.

#include "engine/mapping/joint_bound.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/elimination_order.hpp"
#include "base/least_sum.hpp"
#include "engine/mapping/point_bound.hpp"
#include "engine/sharding/sharding_completion.hpp"
#include "engine/sharding/value_times.hpp"
#include "model/layer/shard.hpp"
#include "model/layer/sharding.hpp"
#include "model/mapping_rules.hpp"

namespace dfsearch {
namespace {

constexpr int kWeightRounds = 7;
constexpr double kMostJointSteps = 1e5;
constexpr std::size_t kPhases = 2;
constexpr std::size_t kRoundingsBesideTerms = 20;

/// Compute and network seconds of a phase, and those for loading its weights.
struct JointParts {
  double compute = 0.0;
  double network = 0.0;
  double loads = 0.0;

  /// The sum of the parts, each times its weight.
  [[nodiscard]] double times(const JointParts& weight) const {
    return weight.compute * compute + weight.network * network + weight.loads * loads;
  }
};
using JointWeights = std::array<JointParts, kPhases>;

/// Compute and network time in one phase that the loops of some kernels determine, for every choice
/// of the loops.
struct JointChoice {
  std::size_t phase = 0;
  std::vector<std::size_t> kernels;  // ascending, then layouts of a value
  std::vector<JointParts> parts;     // the first kernel running slowest
};

class JointTime {
 public:
  JointTime(const Problem& problem, const LayerDecisions& decisions, std::int64_t micro_batches,
            CoreOptionsCache& cache)
      : problem_(problem),
        sets_(decisions.sharding),
        costs_(problem, decisions, 0, &cache),
        has_phases_(!has_halves(problem)),
        context_(problem, decisions.network, tile_count(problem.workload, decisions.tile),
                 micro_batches) {
    for (const LoopSet set : sets_) sizes_.push_back(static_cast<std::size_t>(set.size()));
    for (std::size_t k = 0; k < sets_.size(); ++k) add_kernel(k);
    for (const std::vector<TensorId>& ids : converted_together(problem)) {
      std::vector<Tensor> tensors;
      for (const TensorId t : ids) tensors.push_back(problem.workload.graph.tensor(t));
      add_value(ValueTimes(context_, tensors, sets_));
    }
    for (const Tensor& seam : charged_seams(problem)) {
      add_value(ValueTimes(context_, {seam}, sets_));
    }
  }

  [[nodiscard]] std::optional<JointBound> least(const Deadline& deadline,
                                                const std::function<bool(Seconds)>& is_enough) {
    const EliminationOrder order = find_order(deadline);
    if (order.effort > kMostJointSteps) return std::nullopt;
    const bool hides_network = problem_.execution.overlap == Overlap::Perfect;
    JointWeights weights;
    weights.fill(hides_network ? JointParts{0.5, 0.5, 1.0} : JointParts{1.0, 1.0, 1.0});
    JointBound best;
    double step = 0.25;
    for (int round = 0; round < (hides_network ? kWeightRounds : 1); ++round, step /= 2.0) {
      const JointWeights sums = least_weighted(weights, order, deadline);
      double time = 0.0;
      for (std::size_t phase = 0; phase < kPhases; ++phase) {
        time += sums[phase].times(weights[phase]);
        const bool more = sums[phase].compute > sums[phase].network;
        weights[phase].compute += more ? step : -step;
        weights[phase].network = 1.0 - weights[phase].compute;
      }
      const double sure = less_roundings(2 * (choices_.size() + kRoundingsBesideTerms));
      best.time = std::max(best.time, Seconds(time) * sure);
      if (is_enough(best.time)) break;
    }
    best.sharding = loops_at(sets_, values_);
    return best;
  }

 private:
  [[nodiscard]] std::size_t phase_of(std::size_t kernel) const {
    const Kernel& of = problem_.workload.graph.kernels()[kernel];
    return has_phases_ && of.phase == Phase::Backward ? 1 : 0;
  }

  void add_kernel(std::size_t k) {
    const Kernel& kernel = problem_.workload.graph.kernels()[k];
    JointChoice choice{.phase = phase_of(k), .kernels = {k}, .parts = {}};
    for (const LoopPair loop : sets_[k]) {
      const Shard shard = shard_of(kernel, loop, context_.machine.grid(), context_.tiles);
      const Seconds compute =
          least_compute(problem_, kernel, shard) * static_cast<double>(context_.tiles);
      const Seconds loads = loads_weights_ ? costs_.weight_load(KernelId(k), loop) : Seconds{};
      choice.parts.push_back({.compute = compute / Seconds(1.0),
                              .network = own_network_time(context_, kernel, loop) / Seconds(1.0),
                              .loads = loads / Seconds(1.0)});
    }
    choices_.push_back(std::move(choice));
  }

  void add_value(const ValueTimes& value) {
    for (ValueTerm& term : value_terms(value, sets_, sizes_).terms) {
      JointChoice choice{
          .phase = phase_of(value.producer()), .kernels = std::move(term.variables), .parts = {}};
      for (const double seconds : term.seconds) {
        choice.parts.push_back({.compute = 0.0, .network = seconds, .loads = 0.0});
      }
      choices_.push_back(std::move(choice));
    }
  }

  /// Makes the terms, without their values, and returns an order to eliminate their variables in.
  EliminationOrder find_order(const Deadline& deadline) {
    std::vector<std::vector<std::size_t>> variables;
    for (const JointChoice& choice : choices_) {
      SumTerm term;
      for (const std::size_t k : choice.kernels) {
        if (sizes_[k] > 1) term.variables.push_back(k);
      }
      if (term.variables.empty()) continue;
      term.values.resize(choice.parts.size());
      variables.push_back(term.variables);
      terms_.push_back(std::move(term));
      summed_.push_back(&choice);
    }
    return find_elimination_order(sizes_, variables, kMostJointSteps, deadline);
  }

  /// The sums of the sharding whose weighted sum is least.
  [[nodiscard]] JointWeights least_weighted(const JointWeights& weights,
                                            const EliminationOrder& order,
                                            const Deadline& deadline) {
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      const JointParts& weight = weights[summed_[t]->phase];
      std::transform(summed_[t]->parts.begin(), summed_[t]->parts.end(), terms_[t].values.begin(),
                     [&weight](const JointParts& parts) { return parts.times(weight); });
    }
    values_ = least_sum(sizes_, terms_, order, deadline);
    JointWeights sums{};
    for (const JointChoice& choice : choices_) {
      std::size_t index = 0;
      for (const std::size_t k : choice.kernels) index = index * sizes_[k] + values_[k];
      sums[choice.phase].compute += choice.parts[index].compute;
      sums[choice.phase].network += choice.parts[index].network;
      sums[choice.phase].loads += choice.parts[index].loads;
    }
    return sums;
  }

  const Problem& problem_;
  const LoopSets& sets_;
  const LayerCosts costs_;
  const bool loads_weights_ = costs_.loads_weights();
  const bool has_phases_;  // that share no partition
  const NetworkContext context_;
  std::vector<std::size_t> sizes_;
  std::vector<JointChoice> choices_;
  std::vector<SumTerm> terms_;              // for choices with variables left
  std::vector<const JointChoice*> summed_;  // the choice of each term
  std::vector<std::uint8_t> values_;        // of the last least sum
};

}  // namespace

std::optional<JointBound> least_joint_time(const Problem& problem, const LayerDecisions& decisions,
                                           std::int64_t micro_batches, CoreOptionsCache& cache,
                                           const Deadline& deadline,
                                           const std::function<bool(Seconds)>& is_enough) {
  return JointTime(problem, decisions, micro_batches, cache).least(deadline, is_enough);
}

}  // namespace dfsearch
