// The price of a stage.
//
// The borders determine for every tensor whether it waits in memory.  So the time of a partition
// depends on its kernels alone, and the least sum over chains of ideals of the stage is a shortest
// path, for each number of partitions.  The time of a set of kernels without the transfers of its
// tensors is the same in every stage and is stored (docs/search.md, section 17).
// tests/engine/stages/find_stages_test.cpp compares with brute force.

#include "engine/stages/stage_pricing.hpp"

#include <algorithm>
#include <utility>

#include "model/layer/shard.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kMostRemembered = 1'000'000;  // sets of kernels, each of some hundred bytes

/// Bytes over a border for a tile: forward, of values that are made before the border and read
/// after it; backward, of values that are made after it and read before it.
std::array<Bytes, 2> bytes_over(const DataflowGraph& graph, const LayerCosts& costs,
                                const KernelSet& border) {
  std::array<Bytes, 2> bytes{};
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    const bool from = border.contains(tensor.from.index());
    const bool to = border.contains(tensor.to.index());
    if (from != to) bytes[from ? 0 : 1] += costs.tile_bytes(TensorId(t));
  }
  return bytes;
}

LayerDecisions decisions_of(const Mapping& mapping) {
  return {.network = mapping.network,
          .sharding = loop_sets(mapping.sharding),
          .micro_batch = mapping.micro_batch,
          .tile = mapping.tile};
}

}  // namespace

StagePricing::StagePricing(const Problem& problem, const StageOrder& order, Mapping decided,
                           const Deadline& deadline)
    : problem_(problem),
      graph_(problem.workload.graph),
      order_(order),
      decided_(std::move(decided)),
      costs_(problem, decisions_of(decided_)),
      deadline_(deadline),
      stages_(degree_of(decided_.network, Strategy::Pipeline)),
      samples_(problem.workload.global_batch / degree_of(decided_.network, Strategy::Data)),
      stored_(stored_share(problem.workload, problem.chips_per_copy())) {
  for (std::size_t i = 0; i < graph_.kernel_count(); ++i) {
    const KernelId k(i);
    of_kernel_.push_back({.compute = least_compute(k),
                          .memory = costs_.explicit_memory(k),
                          .network = costs_.network(k),
                          .loads = costs_.weight_load(k)});
  }
  for (const KernelSet& border : order.borders) {
    const auto [there, back] = bytes_over(graph_, costs_, border);
    handed_on_.push_back({costs_.handed_on(there), costs_.handed_on(back)});
  }
}

/// Core-seconds of the kernel over the number of cores: the sum over the kernels of a partition is
/// a lower bound on its compute time.
Ticks StagePricing::least_compute(KernelId kernel) const {
  if (problem_.execution.compute_utilization) return costs_.compute_at_utilization(kernel);
  const std::int64_t cores = problem_.system.accelerator.cores;
  Ticks least = kNever;
  for (const CoreOption& option : costs_.options(kernel)) {
    const double cycles = static_cast<double>(option.cycles) *
                          (static_cast<double>(option.cores) / static_cast<double>(cores));
    // Rounded down, so that the sum of the rounded times is no more than the sum of the times.
    const auto whole = static_cast<std::int64_t>(std::min(cycles, 9e18));
    least = std::min(least, std::max<Ticks>(0, costs_.cycle_time(whole) - 1));
  }
  return least;
}

StagePricing::Stage StagePricing::stage(std::size_t from, std::size_t to) const {
  Stage stage{.kernels = order_.borders[to], .phases = {}};
  stage.kernels -= order_.borders[from];
  stage.phases = {stage.kernels, stage.kernels};
  stage.phases[0] -= order_.backward;
  stage.phases[1] &= order_.backward;
  stage.handed_on = {handed_on_[to][0], handed_on_[from][1]};
  std::vector<KernelId> list;
  stage.kernels.for_each([&](std::size_t k) {
    list.emplace_back(k);
    stage.weights += costs_.stored_weight(KernelId(k));
  });
  stage.loads = costs_.loads_weights(list);
  return stage;
}

std::optional<StagePricing::Floor> StagePricing::floor(std::size_t from, std::size_t to) const {
  const Stage stage = this->stage(from, to);
  std::array<Sums, 2> sums{};
  for (std::size_t phase = 0; phase < 2; ++phase) {
    stage.phases[phase].for_each([&](std::size_t k) {
      Sums& sum = sums[phase];
      sum.compute = capped_sum(sum.compute, of_kernel_[k].compute);
      sum.memory = capped_sum(sum.memory, of_kernel_[k].memory);
      sum.network = capped_sum(sum.network, of_kernel_[k].network);
      if (stage.loads) sum.loads = capped_sum(sum.loads, of_kernel_[k].loads);
    });
  }
  Floor floor;
  for (std::size_t phase = 0; phase < 2; ++phase) {
    const auto& [compute, memory, network, loads] = sums[phase];
    const Overlap overlap = problem_.execution.overlap;
    const Ticks work = std::min(kNever, overlapped(overlap, compute, memory, network) + loads);
    floor.time = capped_sum(floor.time, stage_time(overlap, work, stage.handed_on[phase]));
  }
  Bytes kept{};
  const std::size_t tensors = graph_.has_backward() ? graph_.tensor_count() : 0;
  for (std::size_t t = 0; t < tensors; ++t) {
    const Tensor& tensor = graph_.tensors()[t];
    const bool is_kept = stage.phases[1].contains(tensor.to.index()) &&
                         !order_.backward.contains(tensor.from.index());
    if (is_kept) kept += costs_.kept(TensorId(t));
  }
  const Bytes capacity = problem_.system.memory_capacity();
  const auto fits = [&](std::int64_t flight) {
    return stage.weights + static_cast<double>(flight) * kept + stored_ <= capacity;
  };
  while (floor.flight < std::min(samples_, stages_) && fits(floor.flight + 1)) ++floor.flight;
  if (floor.flight == 0) return std::nullopt;
  return floor;
}

StagePricing::OwnParts StagePricing::own_parts(const KernelSet& partition) const {
  Shard& shard = parts_[partition.hash() % parts_.size()];
  {
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.known.find(partition);
    if (found != shard.known.end()) return found->second;
  }
  const Evaluated evaluated = this->evaluated(partition);
  OwnParts own;
  if (const auto* parts = std::get_if<PartitionParts>(&evaluated)) {
    own = {.parts = *parts, .fits = true};
  }
  const std::lock_guard lock(shard.mutex);
  if (shard.known.size() < kMostRemembered / parts_.size()) shard.known.emplace(partition, own);
  return own;
}

std::optional<Infeasible> StagePricing::misfit() const {
  for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
    KernelSet alone(graph_.kernel_count());
    alone.insert(k);
    Evaluated evaluated = this->evaluated(alone);
    if (auto* lack = std::get_if<Infeasible>(&evaluated)) return std::move(*lack);
  }
  return std::nullopt;
}

StagePricing::Evaluated StagePricing::evaluated(const KernelSet& partition) const {
  Evaluator& own = evaluators_.local();
  if (!own.evaluator) {
    own.mapping = decided_;
    own.mapping.partition.assign(graph_.kernel_count(), 0);
    own.evaluator = std::make_unique<PartitionEvaluator>(problem_, costs_, own.mapping);
  }
  PartitionMembers members{.index = 1, .kernels = {}, .tensors = {}};
  partition.for_each([&](std::size_t k) {
    own.mapping.partition[k] = members.index;
    const KernelId kernel(k);
    members.kernels.push_back(kernel);
    const auto inputs = graph_.inputs(kernel);
    const auto outputs = graph_.outputs(kernel);
    members.tensors.insert(members.tensors.end(), inputs.begin(), inputs.end());
    members.tensors.insert(members.tensors.end(), outputs.begin(), outputs.end());
  });
  std::sort(members.tensors.begin(), members.tensors.end());
  const auto end = std::unique(members.tensors.begin(), members.tensors.end());
  members.tensors.erase(end, members.tensors.end());
  PartitionCost cost;
  Evaluated parts = own.evaluator->own_parts(members, cost);
  partition.for_each([&](std::size_t k) { own.mapping.partition[k] = 0; });
  return parts;
}

/// Whether the memory holds the tensors between kernels of the stage that wait while the partition
/// runs, except for tensors inside the partition.
bool StagePricing::fits_memory(const Stage& stage, const KernelSet& done,
                               const KernelSet& partition) const {
  const Bytes capacity = problem_.system.memory_capacity();
  if (graph_.has_backward() || capacity == Bytes::infinity()) return true;
  Bytes alive{};
  for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
    const std::size_t from = graph_.tensors()[t].from.index();
    const std::size_t to = graph_.tensors()[t].to.index();
    if (!stage.kernels.contains(from) || !stage.kernels.contains(to)) continue;
    const bool begun = done.contains(from) || partition.contains(from);
    const bool waits = begun && !done.contains(to);
    const bool inside = partition.contains(from) && partition.contains(to);
    if (waits && !inside) alive += costs_.stored(TensorId(t));
  }
  return stage.weights + alive + stored_ <= capacity;
}

/// Time of the partition; kNever if it does not fit.
Ticks StagePricing::time(const Stage& stage, const KernelSet& done,
                         const KernelSet& partition) const {
  OwnParts own = own_parts(partition);
  if (!own.fits || !fits_memory(stage, done, partition)) return kNever;
  const auto add = [&](TensorId tensor, KernelId other) {
    if (!stage.kernels.contains(other.index()) || partition.contains(other.index())) return;
    own.parts.traffic = capped_sum(own.parts.traffic, costs_.transfer(tensor));
  };
  partition.for_each([&](std::size_t k) {
    for (const TensorId t : graph_.inputs(KernelId(k))) add(t, graph_.tensor(t).from);
    for (const TensorId t : graph_.outputs(KernelId(k))) add(t, graph_.tensor(t).to);
  });
  if (!stage.loads) own.parts.weight_loads = own.parts.reloads = 0;
  return own.parts.time(problem_.execution.overlap);
}

/// The least times of chains of partitions, by number of partitions only if their limit is binding.
StagePricing::Chains StagePricing::chains(const Stage& stage, const KernelSet& kernels) const {
  PacedDeadline paced(deadline_, 1'000);
  Chains chains;
  chains.ideals = *order_ideals(order_.before, kernels, kMostStageIdeals, deadline_);
  const std::size_t count = chains.ideals.size();
  const auto limit = static_cast<std::size_t>(problem_.partition_limit());
  const bool limited = limit < stage.kernels.size();
  const bool alone = problem_.execution.style == Style::KernelByKernel;
  const std::size_t most = limited ? std::min(limit, kernels.size()) : 0;
  chains.best.assign(most + 1, std::vector<Ticks>(count, kNever));
  chains.last.assign(most + 1, std::vector<std::size_t>(count, 0));
  chains.best[0][0] = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      paced.check();
      if (!chains.ideals[j].contains_all(chains.ideals[i])) continue;
      KernelSet partition = chains.ideals[j];
      partition -= chains.ideals[i];
      if (alone && partition.size() > 1) continue;
      const Ticks time = this->time(stage, chains.ideals[i], partition);
      if (time >= kNever) continue;
      for (std::size_t q = 0; q + (limited ? 1 : 0) <= most; ++q) {
        if (chains.best[q][i] >= kNever) continue;
        const std::size_t next = limited ? q + 1 : q;
        const Ticks sum = capped_sum(chains.best[q][i], time);
        if (sum >= chains.best[next][j]) continue;
        chains.best[next][j] = sum;
        chains.last[next][j] = i;
      }
    }
  }
  return chains;
}

/// Chooses the numbers of partitions of both phases with the least time.
StagePricing::Choice StagePricing::choose(const Stage& stage,
                                          const std::array<Chains, 2>& chains) const {
  const auto limit = static_cast<std::size_t>(problem_.partition_limit());
  const auto time = [&](std::size_t phase, std::size_t partitions) {
    const Ticks work = chains[phase].best[partitions].back();
    if (work >= kNever) return kNever;
    return stage_time(problem_.execution.overlap, work, stage.handed_on[phase]);
  };
  Choice choice;
  for (std::size_t f = 0; f < chains[0].best.size(); ++f) {
    for (std::size_t b = 0; b < chains[1].best.size() && f + b <= limit; ++b) {
      const Ticks sum = capped_sum(time(0, f), time(1, b));
      if (sum < choice.time) choice = {.time = sum, .partitions = {f, b}};
    }
  }
  return choice;
}

Ticks StagePricing::price(std::size_t from, std::size_t to) const {
  const Stage stage = this->stage(from, to);
  return choose(stage, {chains(stage, stage.phases[0]), chains(stage, stage.phases[1])}).time;
}

std::vector<KernelSet> StagePricing::partitions(std::size_t from, std::size_t to) const {
  const Stage stage = this->stage(from, to);
  const std::array of_phase = {chains(stage, stage.phases[0]), chains(stage, stage.phases[1])};
  const Choice choice = choose(stage, of_phase);
  std::vector<KernelSet> list;
  for (std::size_t phase = 2; phase-- > 0;) {
    const Chains& chains = of_phase[phase];
    std::size_t q = choice.partitions[phase];
    const std::size_t step = chains.best.size() > 1 ? 1 : 0;
    for (std::size_t j = chains.ideals.size() - 1; j > 0; q -= step) {
      const std::size_t i = chains.last[q][j];
      list.push_back(chains.ideals[j]);
      list.back() -= chains.ideals[i];
      j = i;
    }
  }
  std::reverse(list.begin(), list.end());
  return list;
}

}  // namespace dfsearch
