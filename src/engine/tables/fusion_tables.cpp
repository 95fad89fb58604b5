// Flat arrays for the fusion search: costs of kernels and tensors by position, and the constants
// that its lower bounds add up (fusion_bounds.hpp).

#include "engine/tables/fusion_tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "model/layer/lone_kernel.hpp"
#include "model/mapping_rules.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {

FusionTables::FusionTables(const Problem& problem, LayerDecisions decisions,
                           std::shared_ptr<const KernelOrder> order, const TableSettings& settings)
    : problem_(problem),
      costs_(std::make_shared<const LayerCosts>(problem, decisions, 0, settings.cache)),
      order_(std::move(order)),
      bounds_(settings.bounds),
      allowance_(settings.allowance),
      has_halves_(dfsearch::has_halves(problem)),
      phases_mix_(has_halves_ && phase_ranges(problem, problem.partition_limit()).overlap()) {
  index_arcs();
  fill_kernels();
  find_lonely_kernels();
  find_partners();
  const std::vector<Rest> shares = rest_shares(*this);
  for (std::size_t p = 0; p < size(); ++p) kernels_[p].share = shares[p];
  const StepTime step = step_time(problem, decisions.network, decisions.micro_batch);
  weights_ = weights_ * static_cast<double>(step.layers_per_stage) +
             stored_share(problem.workload, problem.chips_per_copy());
  const Machine& machine = problem.system;
  capacity_for_activations_ =
      (decisions.spilled ? machine.memory_capacity() : machine.memory[0].capacity) - weights_ -
      costs_->stored_seams();
  memory_ = allowance_.charge(heap_bytes());
}

/// An estimate: LayerCosts stores about as much for each kernel as these tables.
std::size_t FusionTables::heap_bytes() const {
  return kernels_.size() * 2 * sizeof(KernelCosts) +
         (input_arcs_.size() + output_arcs_.size()) * sizeof(Arc) +
         partners_.size() * (sizeof(KernelSet) + size() / 8 + kAllocation);
}

/// Traffic that a crossing tensor adds at one of its ends.
// docs/model.md (59)
Ticks FusionTables::crossing(TensorId tensor, KernelId end) const {
  const bool parts = problem_.workload.graph.turn(end) == tensor;
  return parts ? capped_sum(costs_->transfer(tensor), costs_->reload(end))
               : costs_->transfer(tensor);
}

void FusionTables::index_arcs() {
  const DataflowGraph& graph = problem_.workload.graph;
  std::vector<std::vector<Arc>> inputs(order_->size());
  std::vector<std::vector<Arc>> outputs(order_->size());
  const auto join = [&](KernelId producer, KernelId consumer, Arc arc) {
    const std::size_t from = order_->position(producer);
    const std::size_t to = order_->position(consumer);
    arc.other = static_cast<std::uint32_t>(to);
    outputs[from].push_back(arc);
    arc.other = static_cast<std::uint32_t>(from);
    std::swap(arc.transfer, arc.opposite);
    inputs[to].push_back(arc);
  };
  for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
    const TensorId t(i);
    join(graph.tensor(t).from, graph.tensor(t).to,
         {.other = 0,
          .transfer = crossing(t, graph.tensor(t).from),
          .opposite = crossing(t, graph.tensor(t).to),
          .fused = costs_->fused_buffer(t),
          .streamed = costs_->streamed_buffer(t),
          .stored = costs_->stored(t)});
  }
  flatten(inputs, outputs);
}

void FusionTables::flatten(const std::vector<std::vector<Arc>>& inputs,
                           const std::vector<std::vector<Arc>>& outputs) {
  const auto append = [](const std::vector<std::vector<Arc>>& lists, std::vector<Arc>& arcs,
                         std::vector<std::uint32_t>& begin) {
    begin.push_back(0);
    for (const std::vector<Arc>& list : lists) {
      arcs.insert(arcs.end(), list.begin(), list.end());
      begin.push_back(static_cast<std::uint32_t>(arcs.size()));
    }
  };
  append(inputs, input_arcs_, input_begin_);
  append(outputs, output_arcs_, output_begin_);
}

void FusionTables::fill_kernels() {
  const DataflowGraph& graph = problem_.workload.graph;
  const auto& pins = problem_.execution.pins;
  for (std::size_t p = 0; p < order_->size(); ++p) {
    const KernelId id = order_->id(p);
    const Kernel& kernel = graph.kernel(id);
    KernelCosts costs;
    if (problem_.execution.compute_utilization) {
      costs.compute = costs_->compute_at_utilization(id);
    } else {
      costs.options = &costs_->options(id);
      // c cores that finish in x cycles spend c * x of the C * x core-cycles of the chip's C cores.
      // A single core spends the fewest: more cores only add idle cycles where extents do not
      // divide.
      const double cycles =
          static_cast<double>(costs.options->front().cycles) / static_cast<double>(cores());
      // Rounded down by more than the rounding error of the division.
      costs.compute = static_cast<Ticks>(
          std::floor(std::ldexp(static_cast<double>(costs_->tiles()) * cycles /
                                    problem_.system.accelerator.frequency.in_base_units(),
                                -clock().exponent()) *
                     (1.0 - 0x1p-50)));
    }
    costs.network = costs_->network(id);
    costs.explicit_memory = costs_->explicit_memory(id);
    if (!graph.turn(id)) costs.explicit_memory += costs_->reload(id);
    const LayerCosts::Held held = costs_->held(id);
    costs.weight = costs_->resident_weight(id) + held.inputs + held.outputs;
    if (!pins.empty() && pins[id.index()]) {
      costs.pin = static_cast<std::int32_t>(*pins[id.index()]);
    }
    costs.backward = kernel.phase == Phase::Backward;
    costs.repeats = kernel.repeat > 1;
    weight_loads_ += costs_->weight_load(id);
    weights_ += costs_->stored_weight(id);
    if (has_levels()) {
      const LevelTicks levels = costs_->level_times(id);
      costs.on_chip[0] = costs.compute;
      std::copy(levels.begin(), levels.end(), costs.on_chip.begin() + 1);
    }
    kernels_.push_back(costs);
  }
  if (has_levels()) bound_by_slowest_level();
}

/// For compute and for each level of the chip, the sum of the kernels' times is a lower bound on
/// the time of a partition.  The bounds use the sum that is greatest over all kernels.
void FusionTables::bound_by_slowest_level() {
  OnChipTimes sums{};
  for (const KernelCosts& kernel : kernels_) {
    for (std::size_t x = 0; x < sums.size(); ++x) sums[x] += kernel.on_chip[x];
  }
  const auto slowest =
      static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
  for (KernelCosts& kernel : kernels_) kernel.compute = kernel.on_chip[slowest];
}

void FusionTables::find_lonely_kernels() {
  for (std::size_t p = 0; p < size(); ++p) {
    KernelCosts& kernel = kernels_[p];
    const LoneKernel lone = lone_kernel(problem_, *costs_, id(p));
    kernel.lonely = lone.must_be_alone(sram());
    kernel.escapes = lone.fits_in_pieces(sram());
  }
}

bool FusionTables::agree(std::size_t a, std::size_t b) const {
  const KernelCosts& x = kernels_[a];
  const KernelCosts& y = kernels_[b];
  if (x.lonely || y.lonely || x.repeats != y.repeats) return false;
  if (x.backward != y.backward && !phases_mix_) return false;
  if (x.pin >= 0 && y.pin >= 0 && x.pin != y.pin) return false;
  return x.weight + y.weight <= sram();
}

/// Finds all pairs at once, since bounds use most of them several times.  A tensor takes no less
/// SRAM fused than streamed, so a set takes no less than its subsets.  If all kernels on paths
/// between two kernels fit together, every pair among them does as well; if not, no wider pair
/// fits.
void FusionTables::find_partners() {
  if (!sees_paths()) return;
  const std::vector<KernelSet> none(size(), KernelSet(size()));
  std::vector<KernelSet> partners = none;
  std::vector<KernelSet> ancestors = none;
  std::vector<KernelSet> too_far = none;  // for each kernel: later ones whose paths do not fit
  const std::vector<KernelSet>& descendants = order_->descendants();
  for (std::size_t p = 0; p < size(); ++p) {
    descendants[p].for_each([&](std::size_t d) { ancestors[d].insert(p); });
  }
  KernelSet hull(size());
  const KernelSet no_kernels(size());
  KernelSet near = no_kernels;  // kernels on paths to `to` that fit
  for (std::size_t to = 0; to < size(); ++to) {
    near = no_kernels;
    for (std::size_t from = 0; from < to; ++from) {
      if (!agree(from, to)) continue;
      if (descendants[from].contains(to) && !near.contains(from)) {
        if (too_far[from].intersects(ancestors[to])) continue;
        hull = descendants[from];
        hull &= ancestors[to];
        if (!fits(hull)) {
          too_far[from].insert(to);
          continue;
        }
        near |= hull;
      }
      partners[from].insert(to);
      partners[to].insert(from);
    }
  }
  partners_ = std::move(partners);
}

bool FusionTables::fits(const KernelSet& kernels) const {
  Bytes need{};
  for (std::size_t p = kernels.first_from(0); p < size() && need <= sram();
       p = kernels.first_from(p + 1)) {
    need += kernels_[p].weight;
    for (const Arc& arc : inputs(p)) need += kernels.contains(arc.other) ? arc.fused : arc.streamed;
    for (const Arc& arc : outputs(p)) {
      if (!kernels.contains(arc.other)) need += arc.streamed;
    }
  }
  return need <= sram();
}

bool FusionTables::may_share(std::size_t a, std::size_t b) const {
  return sees_paths() ? partners_[a].contains(b) : agree(a, b);
}

bool FusionTables::spills(const std::vector<std::int64_t>& partition) const {
  const DataflowGraph& graph = problem_.workload.graph;
  // A tensor is stored from its producer's partition to its consumer's, both included: the live
  // bytes change where one begins and after one ends.
  std::map<std::int64_t, Bytes> changes;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const std::int64_t from = partition[graph.tensors()[t].from.index()];
    const std::int64_t to = partition[graph.tensors()[t].to.index()];
    if (from == to) continue;
    changes[from] += costs_->stored(TensorId(t));
    changes[to + 1] -= costs_->stored(TensorId(t));
  }
  const Bytes first = problem_.system.memory[0].capacity;
  Bytes alive = weights_ + costs_->stored_seams();
  bool more = alive > first;
  for (const auto& [index, change] : changes) {
    alive += change;
    more |= alive > first;
  }
  return more;
}

Ticks FusionTables::least_time(const Rest& rest) const {
  const auto& bound = rest.bound;
  switch (problem_.execution.overlap) {
    case Overlap::Perfect:
      return *std::max_element(bound.begin(), bound.end());
    case Overlap::ComputeMemory:
      return std::max({bound[kComputeRow], bound[kComputeMemoryRow], bound[kMemoryRow]}) +
             bound[kNetworkRow];
    case Overlap::None:
      return bound[kComputeRow] + bound[kMemoryRow] + bound[kNetworkRow];
  }
  return 0;
}

std::int64_t FusionTables::least_partitions(const Rest& rest) const {
  if (!bounds_.use(SearchBound::Partitions)) return rest.kernels[0] + rest.kernels[1] > 0 ? 1 : 0;
  const auto count = [&](Bytes need, std::int64_t lonely, std::int64_t kernels) {
    const std::int64_t by_cores = ceil_div(kernels, cores());
    if (sram() == Bytes{}) return std::max(by_cores, lonely);
    const double full = std::ceil(need / sram());
    return std::max(by_cores, lonely + static_cast<std::int64_t>(std::min(full, 1e9)));
  };
  const auto part = [&](std::size_t p) {
    const std::int64_t least = count(rest.sram[p], rest.lonely[p], rest.kernels[p]);
    return rest.kernels[p] > 0 ? std::max<std::int64_t>(least, 1) : 0;
  };
  if (!phases_mix_) return part(0) + part(1);
  const std::int64_t both = count(rest.sram[0] + rest.sram[1], rest.lonely[0] + rest.lonely[1],
                                  rest.kernels[0] + rest.kernels[1]);
  return rest.kernels[0] + rest.kernels[1] > 0 ? std::max<std::int64_t>(both, 1) : 0;
}

}  // namespace dfsearch
