// Tensors that wait in memory, and the tier that they need.
//
//   L[e,p]    tensor e waits in memory while p runs
//   F[2]      the second tier of memory is in use
//   Q[k,p]    kernel k is in p, and it is            Q[e,p]  tensor e crosses p, and it is
//
// All memory is slower once the second tier is in use.  So nothing gains from F = 1, and only the
// capacity can require it: F is 1 in an optimum only if the first tier overflows, or if both tiers
// are equally fast.

#include "milp/memory_rows.hpp"

#include <fmt/format.h>

#include <vector>

#include "model/layer/shard.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

/// Bytes in memory all the time: weights, stored data and tensors between layers.
Bytes always_stored(const Problem& problem, const LayerCosts& costs) {
  const LayerDecisions& decisions = costs.decisions();
  const StepTime step = step_time(problem, decisions.network, decisions.micro_batch);
  Bytes sum = stored_share(problem.workload, problem.chips_per_copy()) + costs.stored_seams();
  for (std::size_t k = 0; k < problem.workload.graph.kernel_count(); ++k) {
    sum += costs.stored_weight(KernelId(k)) * static_cast<double>(step.layers_per_stage);
  }
  return sum;
}

class MemoryRows {
 public:
  MemoryRows(const Problem& problem, const LayerCosts& costs, const LayerCosts* slower,
             const MilpNames& names, const FusionMatrices& fusion, LinearModel& model)
      : problem_(problem),
        graph_(problem.workload.graph),
        costs_(costs),
        slower_(slower),
        names_(names),
        m_(fusion),
        model_(model) {}

  SpillMatrices build() && {
    const Bytes first = problem_.system.memory[0].capacity;
    if (first == Bytes::infinity()) return {};
    const Bytes held = always_stored(problem_, costs_);
    const MemoryTiers tiers = memory_tiers(problem_, costs_);
    const Bytes most = tiers == MemoryTiers::First ? first : problem_.system.memory_capacity();
    if (tiers == MemoryTiers::Either) spilled_ = model_.add_binary("F[2]");
    add_capacity(tiers == MemoryTiers::Either ? first - held : most - held, most - held);
    if (tiers == MemoryTiers::Either) add_products();
    return std::move(spill_);
  }

 private:
  /// (10), (12) Tensors that wait in memory while a partition runs fit into `room`, and with the
  /// second tier in use into `most`.
  void add_capacity(Bytes room, Bytes most) {
    std::vector<Bytes> amounts;
    for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
      amounts.push_back(costs_.stored(TensorId(t)));
    }
    const ByteScale scale(amounts, most);
    for (std::int64_t p = 0; p < m_.partitions; ++p) {
      LinearSum alive;
      for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
        const double stored = scale.amount(costs_.stored(TensorId(t)));
        if (stored > 0.0) alive.add(stored, add_lifetime(t, p));
      }
      alive.add(scale.capacity(room) - scale.capacity(most), spilled_);
      model_.add_row(fmt::format("dram[{}]", p), alive, Sense::AtMost, scale.capacity(room));
    }
  }

  Affine add_lifetime(std::size_t t, std::int64_t p) {
    const std::size_t u = graph_.tensors()[t].from.index();
    const std::size_t v = graph_.tensors()[t].to.index();
    LinearSum sum;
    sum.add(-1.0, entry_of(m_.h, u, p))
        .add(1.0, entry_of(m_.h, v, p - 1))
        .add(1.0, entry_of(m_.b, t, p));
    if (sum.terms().empty()) return {.constant = -sum.constant()};
    const Affine alive = model_.add_continuous(fmt::format("L[{},{}]", names_.of(TensorId(t)), p));
    sum.add(1.0, alive);
    model_.add_row(fmt::format("alive[{},{}]", names_.of(TensorId(t)), p), sum, Sense::Equal, 0.0);
    return alive;
  }

  /// (17) Products of F with A and with D.
  void add_products() {
    spill_.kernels.resize(graph_.kernel_count());
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) add_kernel(k);
    spill_.tensors.resize(graph_.tensor_count());
    for (std::size_t t = 0; t < graph_.tensor_count(); ++t) add_tensor(t);
  }

  void add_kernel(std::size_t k) {
    const KernelId id(k);
    spill_.kernels[k].resize(static_cast<std::size_t>(m_.partitions));
    if (slower_->explicit_memory(id) == costs_.explicit_memory(id) &&
        slower_->weight_load(id) == costs_.weight_load(id)) {
      return;
    }
    // The kernel is in one partition, so its products add up to F.
    LinearSum all;
    for (std::int64_t p = 0; p < m_.partitions; ++p) {
      const Affine placed = entry_of(m_.a, k, p);
      if (placed.column == Affine::kNone) continue;
      const Affine both = model_.add_continuous(fmt::format("Q[{},{}]", names_.of(id), p));
      model_.add_row(fmt::format("spill[{},{}]", names_.of(id), p), {{1.0, both}, {-1.0, placed}},
                     Sense::AtMost, 0.0);
      all.add(1.0, both);
      spill_.kernels[k][static_cast<std::size_t>(p)] = both;
    }
    all.add(-1.0, spilled_);
    model_.add_row(fmt::format("spill[{}]", names_.of(id)), all, Sense::Equal, 0.0);
  }

  void add_tensor(std::size_t t) {
    const TensorId id(t);
    spill_.tensors[t].resize(static_cast<std::size_t>(m_.partitions));
    if (slower_->transfer(id) == costs_.transfer(id)) return;
    for (std::int64_t p = 0; p < m_.partitions; ++p) {
      const Affine crossing = entry_of(m_.d, t, p);
      if (crossing.column == Affine::kNone) continue;
      const Affine both = model_.add_continuous(fmt::format("Q[{},{}]", names_.of(id), p));
      model_.add_row(fmt::format("spill[{},{}]", names_.of(id), p),
                     {{1.0, both}, {-1.0, crossing}, {-1.0, spilled_}}, Sense::AtLeast, -1.0);
      spill_.tensors[t][static_cast<std::size_t>(p)] = both;
    }
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  const LayerCosts& costs_;
  const LayerCosts* slower_;
  const MilpNames& names_;
  const FusionMatrices& m_;
  LinearModel& model_;
  Affine spilled_;  // nothing where the tiers are given
  SpillMatrices spill_;
};

}  // namespace

MemoryTiers memory_tiers(const Problem& problem, const LayerCosts& costs) {
  const Bytes first = problem.system.memory[0].capacity;
  if (!problem.system.second_memory()) return MemoryTiers::First;
  Bytes stored = always_stored(problem, costs);
  if (stored > first) return MemoryTiers::Both;
  for (std::size_t t = 0; t < problem.workload.graph.tensor_count(); ++t) {
    stored += costs.stored(TensorId(t));
  }
  return stored > first ? MemoryTiers::Either : MemoryTiers::First;
}

SpillMatrices add_memory_rows(const Problem& problem, const LayerCosts& costs,
                              const LayerCosts* slower, const MilpNames& names,
                              const FusionMatrices& fusion, LinearModel& model) {
  return MemoryRows(problem, costs, slower, names, fusion, model).build();
}

}  // namespace dfsearch
