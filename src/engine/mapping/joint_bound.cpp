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
#include <cstddef>
#include <vector>

#include "engine/mapping/point_bound.hpp"
#include "engine/sharding/loop_sum.hpp"
#include "model/layer/shard.hpp"
#include "model/layer/sharding.hpp"
#include "model/mapping_rules.hpp"

namespace dfsearch {
namespace {

constexpr int kWeightRounds = 7;
constexpr double kMostJointSteps = 1e5;
constexpr std::size_t kPhases = 2;
constexpr std::size_t kRoundingsBesideTerms = 20;

/// The sum of compute, network and load times in each phase: two where they share no partition.
LoopSum times_by_phase(const Problem& problem, const LayerDecisions& decisions,
                       const NetworkContext& context, CoreOptionsCache& cache,
                       const Deadline& deadline) {
  const std::vector<Kernel>& kernels = problem.workload.graph.kernels();
  const bool has_phases = !has_halves(problem);
  std::vector<std::size_t> phases;
  for (const Kernel& kernel : kernels) {
    phases.push_back(has_phases && kernel.phase == Phase::Backward ? 1 : 0);
  }
  LoopSum sum(context, decisions.sharding, std::move(phases), deadline);
  const LayerCosts costs(problem, decisions, 0, &cache);
  const bool loads_weights = costs.loads_weights();
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    sum.add(k, sum.group(k), [&](LoopPair loop) {
      const Shard shard = shard_of(kernels[k], loop, context.machine.grid(), context.tiles);
      const Seconds compute =
          least_compute(problem, kernels[k], shard) * static_cast<double>(context.tiles);
      const Seconds loads = loads_weights ? costs.weight_load(KernelId(k), loop) : Seconds{};
      return LoopTimes{.compute = compute / Seconds(1.0),
                       .memory = loads / Seconds(1.0),
                       .network = own_network_time(context, kernels[k], loop) / Seconds(1.0)};
    });
  }
  return sum;
}

}  // namespace

std::optional<JointBound> least_joint_time(const Problem& problem, const LayerDecisions& decisions,
                                           std::int64_t micro_batches, CoreOptionsCache& cache,
                                           const Deadline& deadline,
                                           const std::function<bool(Seconds)>& is_enough) {
  const NetworkContext context(problem, decisions.network,
                               tile_count(problem.workload, decisions.tile), micro_batches);
  LoopSum sum = times_by_phase(problem, decisions, context, cache, deadline);
  if (!sum.find_order(kMostJointSteps)) return std::nullopt;
  const bool hides_network = problem.execution.overlap == Overlap::Perfect;
  const double half = hides_network ? 0.5 : 1.0;
  std::vector<LoopTimes> weights(kPhases, {.compute = half, .memory = 1.0, .network = half});
  JointBound best;
  double step = 0.25;
  for (int round = 0; round < (hides_network ? kWeightRounds : 1); ++round, step /= 2.0) {
    sum.minimize(weights);
    const std::vector<LoopTimes> sums = sum.sums();
    double time = 0.0;
    for (std::size_t phase = 0; phase < sums.size(); ++phase) {
      time += sums[phase].times(weights[phase]);
      weights[phase].compute += sums[phase].compute > sums[phase].network ? step : -step;
      weights[phase].network = 1.0 - weights[phase].compute;
    }
    const double sure = less_roundings(2 * (sum.size() + kRoundingsBesideTerms));
    best.time = std::max(best.time, Seconds(time) * sure);
    if (is_enough(best.time)) break;
  }
  best.sharding = sum.loops();
  return best;
}

}  // namespace dfsearch
