// The fusion of one layer as a linear program; docs/milp.md numbers the rows and
// proves them.
//
// For kernel k, tensor e = u,v and partition p the columns are
//
//   Y[k,o,p]  kernel k runs in p on the cores of option o
//   C[p]      compute time of p, where cores are allocated
//   M[p]      p moves something to or from memory, where that has a latency
//   T[p]      time of p; their sum is minimised
//
// besides the columns of milp/fusion_matrices.cpp, which place kernels and tensors, and the
// columns of MemoryRows below.  Only A, Y and F are integer; the others follow.
//
// Scale.  Solvers work with absolute tolerances near 1e-6.  Times are in a power of two of seconds
// such that the layer run kernel by kernel takes 1024 to 2048 units, so a tolerance is 1e-9 of the
// layer.  Bytes are in a multiple of their greatest common divisor: as a rule coefficients are
// whole numbers, a capacity is at most about a million units, and a mapping that is too large
// exceeds it by a whole unit, or at least by more than a tolerance.  All numbers come from
// LayerCosts, as in the search.
//
// Columns of tensors that wait in memory, and of the tier that they need:
//
//   L[e,p]    tensor e waits in memory while p runs
//   F[2]      the second tier of memory is in use
//   Q[k,p]    product of F[2] and A[k,p]            Q[e,p]  product of F[2] and D[e,p]
//
// All memory is slower once the second tier is in use.  So nothing gains from F = 1, and only the
// capacity can require it: F is 1 in an optimum only if the first tier overflows, or if both tiers
// are equally fast.

#include "milp/fusion_model.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "milp/column_names.hpp"
#include "milp/fusion_matrices.hpp"
#include "model/layer/shard.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

/// The tiers of memory that all mappings with the given decisions use.
enum class MemoryTiers : std::uint8_t {
  First,   ///< all use only the first, or there is no second
  Both,    ///< data that does not depend on the partitions overflows the first
  Either,  ///< the partitions decide
};

/// Columns that lengthen a time through memory when the second tier is in use; empty unless the
/// partitions decide whether it is.
struct SpillMatrices {
  MilpMatrix kernels;  ///< kernel k is in p, and the second tier is in use
  MilpMatrix tensors;  ///< exactly one end of tensor e is in p, and the second tier is in use
};

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

/// The tiers that mappings use.  `costs` may be computed for either tier, since sizes do not depend
/// on bandwidths.
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
  Affine spilled_;  // no column if the tiers are given
  SpillMatrices spill_;
};

/// Adds columns L and rows (10) and (12).  For MemoryTiers::Either it also adds columns F and Q and
/// rows (17), for the kernels and tensors that take longer by `slower` than by `costs`.
SpillMatrices add_memory_rows(const Problem& problem, const LayerCosts& costs,
                              const LayerCosts* slower, const MilpNames& names,
                              const FusionMatrices& fusion, LinearModel& model) {
  return MemoryRows(problem, costs, slower, names, fusion, model).build();
}

/// The decisions with the tiers of memory that all their mappings use, or with the first
/// tier if the partitions decide that.
LayerDecisions with_tiers(const Problem& problem, LayerDecisions decisions) {
  decisions.spilled = memory_tiers(problem, LayerCosts(problem, decisions)) == MemoryTiers::Both;
  return decisions;
}

/// Costs with the second tier of memory in use; nothing unless the partitions decide that.
std::optional<LayerCosts> slower_costs(const Problem& problem, const LayerCosts& costs) {
  if (memory_tiers(problem, costs) != MemoryTiers::Either) return std::nullopt;
  LayerDecisions decisions = costs.decisions();
  decisions.spilled = true;
  return std::optional<LayerCosts>(std::in_place, problem, std::move(decisions));
}

class FusionModel {
 public:
  FusionModel(const Problem& problem, const LayerDecisions& decisions)
      : problem_(problem),
        graph_(problem.workload.graph),
        costs_(problem, with_tiers(problem, decisions)),
        slower_(slower_costs(problem, costs_)),
        step_(step_time(problem, decisions.network, decisions.micro_batch)),
        names_(graph_),
        partitions_(useful_partitions(problem)) {
    check_size();
    model_.objective = "layer_time";
    model_.unit = std::ldexp(1.0, std::ilogb(reference().in_base_units()) - 10);
  }

  LinearModel build() && {
    describe();
    m_ = add_fusion_matrices(problem_, costs_, names_, model_);
    add_sram();
    spill_ = add_memory_rows(problem_, costs_, slower_ ? &*slower_ : nullptr, names_, m_, model_);
    add_cores();
    add_latency();
    add_times();
    return std::move(model_);
  }

 private:
  [[nodiscard]] std::size_t kernels() const { return graph_.kernel_count(); }
  [[nodiscard]] std::size_t tensors() const { return graph_.tensor_count(); }
  [[nodiscard]] const std::string& name(std::size_t kernel) const {
    return names_.of(KernelId(kernel));
  }
  [[nodiscard]] double units(Ticks ticks) const {
    return costs_.clock().seconds(ticks).in_base_units() / model_.unit;
  }
  [[nodiscard]] bool at_utilization() const {
    return problem_.execution.compute_utilization.has_value();
  }

  /// Time of the layer kernel by kernel, without overlap, from which the unit is chosen.
  [[nodiscard]] Seconds reference() const {
    Seconds sum{};
    for (std::size_t k = 0; k < kernels(); ++k) {
      const KernelId id(k);
      const Ticks compute = at_utilization() ? costs_.compute_at_utilization(id)
                                             : costs_.cycle_time(costs_.options(id).back().cycles);
      sum += costs_.clock().seconds(compute) + costs_.clock().seconds(costs_.network(id)) +
             costs_.clock().seconds(costs_.explicit_memory(id)) +
             costs_.clock().seconds(costs_.weight_load(id));
    }
    for (std::size_t t = 0; t < tensors(); ++t) {
      sum += 2.0 * costs_.clock().seconds(costs_.transfer(TensorId(t)));
    }
    return sum;
  }

  void check_size() const {
    auto per_partition = static_cast<double>(3 * kernels() + 4 * tensors() + 4);
    for (std::size_t k = 0; k < kernels(); ++k) {
      per_partition += static_cast<double>(costs_.options(KernelId(k)).size());
    }
    const double columns = per_partition * static_cast<double>(partitions_);
    if (columns <= static_cast<double>(kMostColumns)) return;
    throw InputError(fmt::format(
        "the model of {} kernels in {} partitions would have {:.3g} columns, at most {} are "
        "written: set execution.partitions to fewer",
        kernels(), partitions_, columns, kMostColumns));
  }

  void describe() {
    model_.comments = {
        fmt::format("Fusion of {} kernels and {} tensors in at most {} partitions.", kernels(),
                    tensors(), partitions_),
        fmt::format("objective: time of one layer for one sample, in units of {} s", model_.unit),
        // Divided by the copies, so that readers need not know their number.
        fmt::format("step time = objective x {} x {} s + {} s", model_.unit,
                    step_.factor / step_.copies, step_.transfer.in_base_units() / step_.copies),
    };
  }

  /// SRAM of a kernel in any partition.
  [[nodiscard]] Bytes resident(std::size_t k) const {
    const LayerCosts::Held held = costs_.held(KernelId(k));
    return costs_.resident_weight(KernelId(k)) + held.inputs + held.outputs;
  }

  /// (11) Buffers and weights fit; kernels that must be alone are apart.
  void add_sram() {
    if (problem_.streams_kernels()) return;
    const Bytes sram = problem_.system.accelerator.sram;
    const ByteScale scale = sram_scale();
    for (std::int64_t p = 0; p < partitions_; ++p) {
      LinearSum need;
      for (std::size_t t = 0; t < tensors(); ++t) {
        const std::size_t u = graph_.tensors()[t].from.index();
        const std::size_t v = graph_.tensors()[t].to.index();
        const double streamed = scale.amount(costs_.streamed_buffer(TensorId(t)));
        if (m_.lonely[u] || m_.lonely[v]) {
          if (!m_.lonely[u]) need.add(streamed, entry_of(m_.a, u, p));
          if (!m_.lonely[v]) need.add(streamed, entry_of(m_.a, v, p));
          continue;
        }
        need.add(scale.amount(costs_.fused_buffer(TensorId(t))), entry_of(m_.b, t, p));
        need.add(streamed, entry_of(m_.d, t, p));
      }
      for (std::size_t k = 0; k < kernels(); ++k) {
        if (m_.lonely[k]) continue;
        need.add(scale.amount(resident(k)), entry_of(m_.a, k, p));
      }
      model_.add_row(fmt::format("sram[{}]", p), need, Sense::AtMost, scale.capacity(sram));
    }
  }

  [[nodiscard]] ByteScale sram_scale() const {
    std::vector<Bytes> amounts;
    for (std::size_t t = 0; t < tensors(); ++t) {
      amounts.push_back(costs_.fused_buffer(TensorId(t)));
      amounts.push_back(costs_.streamed_buffer(TensorId(t)));
    }
    for (std::size_t k = 0; k < kernels(); ++k) {
      amounts.push_back(resident(k));
    }
    return {amounts, problem_.system.accelerator.sram};
  }

  /// (13) No more kernels than cores; or (14), (15) the allocation of cores.
  void add_cores() {
    const auto cores = static_cast<double>(problem_.system.accelerator.cores);
    for (std::int64_t p = 0; p < partitions_; ++p) {
      LinearSum used;
      if (at_utilization()) {
        if (static_cast<double>(kernels()) <= cores) return;
        for (std::size_t k = 0; k < kernels(); ++k) used.add(1.0, entry_of(m_.a, k, p));
      } else {
        c_.push_back(model_.add_continuous(fmt::format("C[{}]", p)));
        for (std::size_t k = 0; k < kernels(); ++k) add_options(k, p, used);
      }
      model_.add_row(fmt::format("cores[{}]", p), used, Sense::AtMost, cores);
    }
  }

  void add_options(std::size_t k, std::int64_t p, LinearSum& used) {
    if (entry_of(m_.a, k, p).column == Affine::kNone) return;
    LinearSum chosen;
    LinearSum pace;
    for (const CoreOption& option : costs_.options(KernelId(k))) {
      const Affine entry = model_.add_binary(
          fmt::format("Y[{},{}x{},{}]", name(k), option.grid.lanes, option.grid.stages, p));
      chosen.add(1.0, entry);
      pace.add(units(costs_.cycle_time(option.cycles)), entry);
      used.add(static_cast<double>(option.cores), entry);
    }
    chosen.add(-1.0, entry_of(m_.a, k, p));
    model_.add_row(fmt::format("option[{},{}]", name(k), p), chosen, Sense::Equal, 0.0);
    pace.add(-1.0, c_[static_cast<std::size_t>(p)]);
    model_.add_row(fmt::format("pace[{},{}]", name(k), p), pace, Sense::AtMost, 0.0);
  }

  /// (18) M is 1 if the partition moves anything.
  void add_latency() {
    if (costs_.memory_latency() == 0) return;
    for (std::int64_t p = 0; p < partitions_; ++p) {
      const Affine moves = moves_.emplace_back(model_.add_continuous(fmt::format("M[{}]", p)));
      const auto row = [&](const std::string& of, Affine entry) {
        model_.add_row(fmt::format("moves[{},{}]", of, p), {{1.0, entry}, {-1.0, moves}},
                       Sense::AtMost, 0.0);
      };
      for (std::size_t k = 0; k < kernels(); ++k) {
        if (costs_.explicit_memory(KernelId(k)) > 0) row(name(k), entry_of(m_.a, k, p));
      }
      for (std::size_t t = 0; t < tensors(); ++t) {
        if (costs_.transfer(TensorId(t)) > 0) row(names_.of(TensorId(t)), entry_of(m_.d, t, p));
      }
    }
  }

  /// (16) The time of a partition is at least its compute, memory and network times, each or added
  /// up, as the overlap requires.
  void add_times() {
    for (std::int64_t p = 0; p < partitions_; ++p) {
      const Affine time = model_.add_continuous(fmt::format("T[{}]", p), 1.0);
      const auto row = [&](const char* what, bool compute, bool memory, bool network) {
        LinearSum sum;
        sum.add(-1.0, time);
        if (compute) add_compute(p, sum);
        if (memory) add_memory_time(p, sum);
        for (std::size_t k = 0; k < kernels(); ++k) {
          if (network) sum.add(units(costs_.network(KernelId(k))), entry_of(m_.a, k, p));
          add_through_memory(k, p, &LayerCosts::weight_load, sum);
        }
        model_.add_row(fmt::format("{}[{}]", what, p), sum, Sense::AtMost, 0.0);
      };
      switch (problem_.execution.overlap) {
        case Overlap::Perfect:
          row("compute", true, false, false);
          row("memory", false, true, false);
          row("network", false, false, true);
          break;
        case Overlap::None:
          row("time", true, true, true);
          break;
        case Overlap::ComputeMemory:
          row("compute", true, false, true);
          row("memory", false, true, true);
          break;
      }
    }
  }

  void add_compute(std::int64_t p, LinearSum& sum) const {
    if (!at_utilization()) {
      sum.add(1.0, c_[static_cast<std::size_t>(p)]);
      return;
    }
    for (std::size_t k = 0; k < kernels(); ++k) {
      sum.add(units(costs_.compute_at_utilization(KernelId(k))), entry_of(m_.a, k, p));
    }
  }

  /// Adds a time of kernel k in p that depends on the tiers of memory in use.
  void add_through_memory(std::size_t k, std::int64_t p, Ticks (LayerCosts::*time)(KernelId) const,
                          LinearSum& sum) const {
    const Ticks ticks = (costs_.*time)(KernelId(k));
    sum.add(units(ticks), entry_of(m_.a, k, p));
    if (!slower_) return;
    sum.add(units(((*slower_).*time)(KernelId(k)) - ticks), entry_of(spill_.kernels, k, p));
  }

  void add_memory_time(std::int64_t p, LinearSum& sum) const {
    if (!moves_.empty()) {
      sum.add(units(costs_.memory_latency()), moves_[static_cast<std::size_t>(p)]);
    }
    for (std::size_t k = 0; k < kernels(); ++k) {
      add_through_memory(k, p, &LayerCosts::explicit_memory, sum);
    }
    for (std::size_t t = 0; t < tensors(); ++t) {
      const Ticks ticks = costs_.transfer(TensorId(t));
      sum.add(units(ticks), entry_of(m_.d, t, p));
      if (!slower_) continue;
      sum.add(units(slower_->transfer(TensorId(t)) - ticks), entry_of(spill_.tensors, t, p));
    }
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  LayerCosts costs_;
  std::optional<LayerCosts> slower_;  // if the partitions decide the tiers of memory
  StepTime step_;
  MilpNames names_;
  std::int64_t partitions_;
  FusionMatrices m_;
  SpillMatrices spill_;
  LinearModel model_;
  std::vector<Affine> c_;      // by partition; empty at a given utilization
  std::vector<Affine> moves_;  // by partition; empty without a latency of the memory
};

}  // namespace

LinearModel fusion_model(const Problem& problem, const LayerDecisions& decisions) {
  return FusionModel(problem, decisions).build();
}

}  // namespace dfsearch
