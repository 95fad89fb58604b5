// Removal of dominated loops, which need no branch.
//
// A loop a of a kernel dominates a loop b if replacing b by a raises no cost.  The costs are the
// kernel's compute time, output, weight, explicit traffic and own collective, and the conversion of
// each of its tensors for every loop that is left to the kernel at the other end.  So some best
// mapping has no dominated loop.
//
// Dominance and symmetry breaking could remove the mappings on which the other relies, unless both
// descend in one well-founded order: by the sum of all these costs, then by the order of ties:
//
// - An exchange of kernels keeps the sum and makes the sharding earlier.
// - A later loop a replaces b only if the kernel's own costs fall strictly, which lowers the sum.
// - An earlier loop a replaces b if no cost rises.

#include "engine/sharding/sharding_space.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include "engine/tables/symmetry.hpp"
#include "model/layer/level_traffic.hpp"
#include "model/layer/sharding.hpp"

namespace dfsearch {
namespace {

/// The costs of a kernel that depend on its own loop alone.
struct OwnCosts {
  // FLOP if a utilization is given, else the extents: cycles never fall as these rise.
  std::array<double, 3> compute{};
  std::vector<Bytes> outputs;  // the whole output, then each tensor in its possible layouts
  Bytes weight{};
  Bytes stored{};
  Bytes matrices{};  // all matrices, whether this or another kernel stores them
  Bytes explicit_memory{};
  Seconds network{};
  std::array<Bytes, kLevelNames.size()> levels{};  // 0 unless levels take time

  friend bool operator==(const OwnCosts&, const OwnCosts&) = default;
};

bool no_worse(const OwnCosts& a, const OwnCosts& b) {
  for (std::size_t x = 0; x < a.levels.size(); ++x) {
    if (a.levels[x] > b.levels[x]) return false;
  }
  // Each part of an output is rounded up separately, so all parts are compared.
  return a.compute[0] <= b.compute[0] && a.compute[1] <= b.compute[1] &&
         a.compute[2] <= b.compute[2] &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), std::less_equal<>()) &&
         a.weight <= b.weight && a.stored <= b.stored && a.matrices <= b.matrices &&
         a.explicit_memory <= b.explicit_memory && a.network <= b.network;
}

bool better(const OwnCosts& a, const OwnCosts& b) { return no_worse(a, b) && !(a == b); }

class Domination {
 public:
  Domination(const Problem& problem, const LayerDecisions& decisions, LoopSets& sets,
             CoreOptionsCache& cache)
      : graph_(problem.workload.graph),
        context_(problem, decisions.network, tile_count(problem.workload, decisions.tile), 1,
                 &cache.conversions),
        sets_(sets),
        cache_(cache) {}

  /// Drops dominated loops until none is left; each drop may make further loops dominated.
  void run(const Deadline& deadline) {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t k = 0; k < sets_.size(); ++k) {
        deadline.check();
        if (sets_[k].size() > 1 && drop_one(KernelId(k))) changed = true;
      }
    }
  }

 private:
  bool drop_one(KernelId kernel) {
    LoopSet& set = sets_[kernel.index()];
    std::vector<OwnCosts>& costs = own_[kernel.index()];
    if (costs.empty()) {
      costs.resize(set.back().index() + 1);
      for (const LoopPair loop : set) costs[loop.index()] = own_costs(kernel, loop);
    }
    for (const LoopPair b : set) {
      for (const LoopPair a : set) {
        const OwnCosts& of_a = costs[a.index()];
        const OwnCosts& of_b = costs[b.index()];
        if (a == b || !(a < b ? no_worse(of_a, of_b) : better(of_a, of_b))) continue;
        if (!dominates(kernel, a, b)) continue;
        set.erase(b);
        return true;
      }
    }
    return false;
  }

  /// Whether a dominates b: no own cost is higher and no conversion takes longer.
  [[nodiscard]] bool dominates(KernelId kernel, LoopPair a, LoopPair b) const {
    for (const TensorId t : graph_.outputs(kernel)) {
      if (!leaves_no_later(graph_.tensor(t), a, b)) return false;
    }
    for (const Tensor& seam : charged_seams(context_.problem)) {
      if (seam.from == kernel && !leaves_no_later(seam, a, b)) return false;
      if (seam.to != kernel) continue;
      for (const LoopPair producer : sets_[seam.from.index()]) {
        if (!arrives_no_later(seam, producer, a, b)) return false;
      }
    }
    for (const TensorId t : graph_.inputs(kernel)) {
      for (const LoopPair producer : sets_[graph_.tensor(t).from.index()]) {
        if (!arrives_no_later(graph_.tensor(t), producer, a, b)) return false;
        const Seconds seconds = conversion_time(context_, graph_.tensor(t), producer, a);
        if (seconds > Seconds{} && changes_shared(t, a, b)) return false;
      }
    }
    return true;
  }

  /// Whether converting an input for loop a takes no more time and memory than for loop b.  A value
  /// takes more memory if it is gathered along an axis.
  [[nodiscard]] bool arrives_no_later(const Tensor& tensor, LoopPair producer, LoopPair a,
                                      LoopPair b) const {
    const LayoutPair made = produced_layouts(producer);
    const LayoutPair for_a = wanted_layouts(context_.problem, tensor, a);
    const LayoutPair for_b = wanted_layouts(context_.problem, tensor, b);
    for (std::size_t axis = 0; axis < kTensorAxes; ++axis) {
      if (made[axis] != Layout::Replicated && for_a[axis] == Layout::Replicated &&
          for_b[axis] != Layout::Replicated) {
        return false;
      }
    }
    return conversion_time(context_, tensor, producer, a) <=
           conversion_time(context_, tensor, producer, b);
  }

  /// Whether converting the output takes no more time from loop a than from loop b, for every
  /// layout that a consumer may require.
  [[nodiscard]] bool leaves_no_later(const Tensor& tensor, LoopPair a, LoopPair b) const {
    for (const LoopPair consumer : sets_[tensor.to.index()]) {
      if (conversion_time(context_, tensor, a, consumer) >
          conversion_time(context_, tensor, b, consumer)) {
        return false;
      }
    }
    return true;
  }

  /// Whether the value of this input has further readers and loop a requires it in another layout
  /// than loop b.  The other readers may share the conversion to the layout of b.
  [[nodiscard]] bool changes_shared(TensorId id, LoopPair a, LoopPair b) const {
    const Problem& problem = context_.problem;
    const Tensor& tensor = graph_.tensor(id);
    if (wanted_layouts(problem, tensor, a) == wanted_layouts(problem, tensor, b)) return false;
    if (!converts_values(problem) || tensor.value < 0) return false;
    const std::span<const TensorId> all = graph_.outputs(tensor.from);
    return std::count_if(all.begin(), all.end(), [&](TensorId other) {
             return graph_.tensor(other).value == tensor.value;
           }) > 1;
  }

  [[nodiscard]] OwnCosts own_costs(KernelId id, LoopPair loop) const {
    const Kernel& kernel = graph_.kernel(id);
    const Bytes word = context_.problem.workload.word;
    const Shard shard = shard_of(kernel, loop, context_.machine.grid(), context_.tiles);
    const ChipGrid& grid = context_.machine.grid();
    OwnCosts costs{.outputs = {output_bytes(shard, word)},
                   .weight = weight_bytes(kernel, loop, grid, word),
                   .stored = stored_weight_bytes(kernel, loop, grid, word),
                   .matrices = all_matrices_bytes(kernel, loop, grid, word),
                   .explicit_memory = explicit_bytes(graph_, id, loop, grid),
                   .network = own_network_time(context_, kernel, loop)};
    const auto add_output = [&](const Tensor& tensor) {
      const auto add = [&](LoopPair kept) {
        costs.outputs.push_back(tensor_bytes(graph_, tensor, kept, grid, context_.tiles, word));
      };
      add(loop);
      if (context_.problem.tensor_axes == 1) return;
      add(loop.loops[0]);  // gathered along one axis
      add({Loop::None, loop.loops[1]});
    };
    for (const TensorId t : graph_.outputs(id)) add_output(graph_.tensor(t));
    for (const Tensor& seam : charged_seams(context_.problem)) {
      if (seam.from == id) add_output(seam);
    }
    if (context_.problem.execution.compute_utilization) {
      costs.compute[0] = tile_flops(kernel, shard) / Flops(1.0);
    } else {
      costs.compute = {static_cast<double>(shard.m), static_cast<double>(shard.k),
                       static_cast<double>(shard.n)};
    }
    if (!context_.problem.execution.levels) return costs;
    const Machine& system = context_.problem.system;
    const Shard whole = shard_of(kernel, loop, context_.machine.grid(), 1);
    const std::vector<Bytes> bytes =
        cache_.levels.level_bytes(kernel, whole, system.accelerator, system.levels, word);
    std::copy(bytes.begin(), bytes.end(), costs.levels.begin());
    return costs;
  }

  const DataflowGraph& graph_;
  const NetworkContext context_;
  LoopSets& sets_;
  CoreOptionsCache& cache_;
  // Costs of each kernel by loop, computed on first use.
  std::vector<std::vector<OwnCosts>> own_ = std::vector<std::vector<OwnCosts>>(sets_.size());
};

}  // namespace

bool is_decided(const LoopSets& sets) {
  return std::all_of(sets.begin(), sets.end(), [](LoopSet set) { return set.size() == 1; });
}

std::vector<LoopPair> first_sharding(const LoopSets& sets) {
  std::vector<LoopPair> sharding;
  for (const LoopSet set : sets) sharding.push_back(set.front());
  return sharding;
}

ShardingSpace::ShardingSpace(const Problem& problem, SearchBounds bounds, const Deadline& deadline)
    : problem_(problem), bounds_(bounds), deadline_(deadline) {
  const DataflowGraph& graph = problem.workload.graph;
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    const bool pinned = !problem.sharding_pins.empty() && problem.sharding_pins[k];
    all_.push_back(pinned ? LoopSet(*problem.sharding_pins[k])
                          : shardable_pairs(problem, graph.kernels()[k]));
  }
  if (bounds_.use(SearchBound::Symmetry)) {
    exchanges_ = exchangeable_kernels(problem, all_, deadline);
  }
}

bool ShardingSpace::break_symmetry(LoopSets& sets) const {
  for (bool changed = true; changed;) {
    changed = false;
    deadline_.check();
    for (const auto& [u, v] : exchanges_) {
      const LoopSet before_u = sets[u];
      const LoopSet before_v = sets[v];
      if (before_u.size() == 0 || before_v.size() == 0) return false;
      for (const LoopPair loop : before_v) {
        if (loop < before_u.front()) sets[v].erase(loop);
      }
      for (const LoopPair loop : before_u) {
        if (loop > before_v.back()) sets[u].erase(loop);
      }
      changed = changed || sets[u] != before_u || sets[v] != before_v;
    }
  }
  return std::all_of(sets.begin(), sets.end(), [](LoopSet set) { return set.size() > 0; });
}

void ShardingSpace::drop_dominated(const LayerDecisions& decisions, LoopSets& sets,
                                   CoreOptionsCache& cache) const {
  if (bounds_.use(SearchBound::DominatedLoops)) {
    Domination(problem_, decisions, sets, cache).run(deadline_);
  }
}

}  // namespace dfsearch
