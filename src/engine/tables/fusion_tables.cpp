// Flat arrays for the fusion search, and the constants its lower bounds add up.
//
// The bounds are sums over kernels, so that a node updates them by subtraction.
// Beyond the plain totals they use one idea.  Take a kernel whose network time n
// is long.  Whatever partition holds it can hide at most cmax of n behind
// compute, where cmax is the most compute time that fits on the chip beside it:
// its own plus the best fractional knapsack of other kernels' weights into the
// SRAM it leaves.  So n - cmax, if positive, comes on top of all compute time;
// and these excesses add up over kernels even when they share a partition.  The
// same holds for memory time against compute and for compute against network.
// Proofs: docs/search.md, section 5.  Against brute force:
// tests/engine/mapping/bound_properties_test.cpp.

#include "engine/tables/fusion_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

// Hulls cost n steps for each tensor; larger graphs do with what a pair of
// kernels tells.
constexpr std::size_t kHullLimit = 256;

}  // namespace

Rest& Rest::operator+=(const Rest& other) {
  for (std::size_t r = 0; r < bound.size(); ++r) bound[r] += other.bound[r];
  for (std::size_t p = 0; p < 2; ++p) {
    sram[p] += other.sram[p];
    lonely[p] += other.lonely[p];
    kernels[p] += other.kernels[p];
  }
  return *this;
}

Rest& Rest::operator-=(const Rest& other) {
  for (std::size_t r = 0; r < bound.size(); ++r) bound[r] -= other.bound[r];
  for (std::size_t p = 0; p < 2; ++p) {
    sram[p] -= other.sram[p];
    lonely[p] -= other.lonely[p];
    kernels[p] -= other.kernels[p];
  }
  return *this;
}

FusionTables::FusionTables(const Problem& problem, LayerDecisions decisions,
                           std::shared_ptr<const KernelOrder> order, const TableSettings& settings)
    : problem_(problem),
      costs_(problem, decisions, 0, settings.cache),
      order_(std::move(order)),
      bounds_(settings.bounds),
      allowance_(settings.allowance),
      phases_mix_(problem.equations.phases == SplitPhases::Halves &&
                  problem.partition_limit() % 2 == 1) {
  index_arcs();
  fill_kernels();
  find_lonely_kernels();
  fill_shares();
  drop_rows();
  const StepTime step = step_time(problem, decisions.network, decisions.micro_batch);
  weights_ = weights_ * static_cast<double>(step.layers_per_stage) +
             stored_share(problem.workload, problem.chips_per_copy());
  const Memory& memory = problem.system.memory;
  capacity_for_activations_ =
      (decisions.spilled ? memory.total_capacity() : memory.capacity) - weights_;
  memory_ = allowance_.charge(heap_bytes());
}

/// Roughly: LayerCosts has about as much for each kernel as there is here.
std::size_t FusionTables::heap_bytes() const {
  return kernels_.size() * 2 * sizeof(KernelCosts) +
         (input_arcs_.size() + output_arcs_.size()) * sizeof(Arc);
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
    inputs[to].push_back(arc);
  };
  for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
    const TensorId t(i);
    join(graph.tensor(t).from, graph.tensor(t).to,
         {.other = 0,
          .transfer = costs_.transfer(t),
          .fused = costs_.fused_buffer(t),
          .streamed = costs_.streamed_buffer(t),
          .stored = costs_.stored(t)});
  }
  for (const auto& [u, v] : order_->pairs()) join(u, v, {});
  const auto flatten = [](const std::vector<std::vector<Arc>>& lists, std::vector<Arc>& arcs,
                          std::vector<std::uint32_t>& begin) {
    begin.push_back(0);
    for (const std::vector<Arc>& list : lists) {
      arcs.insert(arcs.end(), list.begin(), list.end());
      begin.push_back(static_cast<std::uint32_t>(arcs.size()));
    }
  };
  flatten(inputs, input_arcs_, input_begin_);
  flatten(outputs, output_arcs_, output_begin_);
}

void FusionTables::fill_kernels() {
  const DataflowGraph& graph = problem_.workload.graph;
  const auto& pins = problem_.execution.pins;
  for (std::size_t p = 0; p < order_->size(); ++p) {
    const KernelId id = order_->id(p);
    const Kernel& kernel = graph.kernel(id);
    KernelCosts costs;
    if (problem_.execution.compute_utilization) {
      costs.compute = costs_.compute_at_utilization(id);
    } else {
      costs.options = &costs_.options(id);
      // c cores that finish in x cycles spend c * x of the C * x core-cycles of
      // the chip, and one core alone spends the fewest: more cores only add
      // idle ones where extents do not divide.
      const double cycles =
          static_cast<double>(costs.options->front().cycles) / static_cast<double>(cores());
      // Rounded down, and by a hair more than the rounding of the division.
      costs.compute = static_cast<Ticks>(
          std::floor(std::ldexp(static_cast<double>(costs_.tiles()) * cycles /
                                    problem_.system.accelerator.frequency.in_base_units(),
                                -clock().exponent()) *
                     (1.0 - 0x1p-50)));
    }
    costs.network = costs_.network(id);
    costs.explicit_memory = costs_.explicit_memory(id);
    costs.weight = costs_.resident_weight(id);
    if (!pins.empty() && pins[id.index()]) {
      costs.pin = static_cast<std::int32_t>(*pins[id.index()]);
    }
    costs.backward = kernel.phase == Phase::Backward;
    costs.repeats = kernel.repeat > 1;
    weight_loads_ += costs_.weight_load(id);
    weights_ += costs_.stored_weight(id);
    if (has_levels()) {
      const LevelTicks levels = costs_.level_times(id);
      costs.on_chip[0] = costs.compute;
      std::copy(levels.begin(), levels.end(), costs.on_chip.begin() + 1);
    }
    kernels_.push_back(costs);
  }
  if (has_levels()) bound_by_slowest_level();
}

/// The time of a partition is at least the sum of any one of its kernels' times on the chip:
/// bounds take the one that is longest for all kernels together.
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
    Bytes in{};
    Bytes out{};
    for (const Arc& arc : inputs(p)) in += arc.streamed;
    for (const Arc& arc : outputs(p)) out += arc.streamed;
    kernel.lonely = in + out + kernel.weight > sram();
    kernel.escapes =
        kernel.lonely && problem_.workload.graph.kernel(id(p)).has_weight() && in < sram();
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

/// Whether SRAM holds two kernels together with all that lies between them: a
/// partition with both ends of a path has the whole path.
bool FusionTables::hull_fits(std::size_t from, std::size_t to,
                             const std::vector<KernelSet>& descendants) const {
  if (size() > kHullLimit) return true;
  KernelSet hull(size());
  for (std::size_t p = from; p <= to; ++p) {
    if (descendants[from].contains(p) && descendants[p].contains(to)) hull.insert(p);
  }
  Bytes need{};
  hull.for_each([&](std::size_t p) {
    need += kernels_[p].weight;
    for (const Arc& arc : inputs(p)) need += hull.contains(arc.other) ? arc.fused : arc.streamed;
    for (const Arc& arc : outputs(p)) {
      if (!hull.contains(arc.other)) need += arc.streamed;
    }
  });
  return need <= sram();
}

bool FusionTables::may_share(std::size_t a, std::size_t b,
                             const std::vector<KernelSet>& descendants) const {
  if (!agree(a, b)) return false;
  if (descendants[a].contains(b)) return hull_fits(a, b, descendants);
  return !descendants[b].contains(a) || hull_fits(b, a, descendants);
}

/// A producer with many consumers: the least that its tensors move through
/// memory because SRAM has no room for all of the consumers beside it, always
/// crossing ones aside.
Ticks FusionTables::transfers_without_room(std::size_t producer) const {
  if (!bounds_.use(SearchBound::Fanout)) return 0;
  struct Consumer {
    Ticks transfers = 0;
    Bytes room{};  // that it takes when it is fused with the producer
  };
  std::map<std::uint32_t, Consumer> consumers;
  Bytes room = sram() - kernels_[producer].weight;
  for (const Arc& arc : inputs(producer)) room -= arc.streamed;
  for (const Arc& arc : outputs(producer)) {
    room -= arc.streamed;
    if (arc.transfer == 0 || !may_share(producer, arc.other)) continue;
    Consumer& consumer = consumers[arc.other];
    if (consumer.transfers == 0) consumer.room = kernels_[arc.other].weight;
    consumer.transfers += 2 * arc.transfer;  // a store and a load
    consumer.room += arc.fused - arc.streamed;
  }
  std::vector<Consumer> list;
  Ticks forced = 0;
  Bytes wanted{};
  for (const auto& [position, consumer] : consumers) {
    list.push_back(consumer);
    forced += consumer.transfers;
    wanted += consumer.room;
  }
  if (wanted <= room) return 0;
  const auto density = [](const Consumer& consumer) {
    return consumer.room > Bytes{}
               ? static_cast<double>(consumer.transfers) / consumer.room.in_base_units()
               : std::numeric_limits<double>::infinity();
  };
  std::sort(list.begin(), list.end(),
            [&](const Consumer& a, const Consumer& b) { return density(a) > density(b); });
  for (const Consumer& consumer : list) {
    if (consumer.room > room) {
      // The fraction that fits, rounded up and one more for its own rounding.
      const double part = room > Bytes{} ? room / consumer.room : 0.0;
      forced -= static_cast<Ticks>(std::ceil(static_cast<double>(consumer.transfers) * part)) + 1;
      break;
    }
    forced -= consumer.transfers;
    room -= consumer.room;
  }
  return std::max<Ticks>(0, forced);
}

/// Upper bound of the sum of `time` over any partition that holds `anchor`.
Ticks FusionTables::most_beside(std::size_t anchor, Ticks KernelCosts::*time) const {
  const KernelCosts& kernel = kernels_[anchor];
  if (kernel.lonely) return kernel.*time;
  Bytes room = sram() - kernel.weight;
  for (const Arc& arc : inputs(anchor)) room -= arc.streamed;
  for (const Arc& arc : outputs(anchor)) room -= arc.streamed;

  std::vector<std::size_t> others;
  Ticks sum = kernel.*time;
  for (std::size_t p = 0; p < size(); ++p) {
    if (p == anchor || kernels_[p].*time == 0 || !may_share(anchor, p)) continue;
    if (kernels_[p].weight > Bytes{}) {
      others.push_back(p);
    } else {
      sum += kernels_[p].*time;
    }
  }
  const auto density = [&](std::size_t p) {
    return static_cast<double>(kernels_[p].*time) / kernels_[p].weight.in_base_units();
  };
  std::sort(others.begin(), others.end(),
            [&](std::size_t a, std::size_t b) { return density(a) > density(b); });
  for (const std::size_t p : others) {
    if (kernels_[p].weight > room) {
      // The fraction that fits, rounded up and one more for its own rounding.
      return sum +
             static_cast<Ticks>(
                 std::ceil(static_cast<double>(kernels_[p].*time) * (room / kernels_[p].weight))) +
             1;
    }
    sum += kernels_[p].*time;
    room -= kernels_[p].weight;
  }
  return sum;
}

void FusionTables::fill_shares() {
  const bool hides = bounds_.use(SearchBound::Hidden);
  const bool perfect = hides && problem_.execution.overlap == Overlap::Perfect;
  const bool hides_memory = hides && problem_.execution.overlap != Overlap::None;
  std::vector<Ticks> forced_memory(size());
  for (std::size_t p = 0; p < size(); ++p) {
    KernelCosts& kernel = kernels_[p];
    const std::size_t phase = kernel.backward ? 1 : 0;
    deadline().check();
    kernel.share.kernels[phase] = 1;
    kernel.share.lonely[phase] = kernel.lonely ? 1 : 0;
    if (!kernel.lonely) kernel.share.sram[phase] += kernel.weight;
    kernel.share.bound[kMemoryRow] += kernel.explicit_memory + transfers_without_room(p);
    forced_memory[p] += kernel.explicit_memory;
    for (const Arc& arc : outputs(p)) {
      KernelCosts& consumer = kernels_[arc.other];
      const bool crosses = !may_share(p, arc.other);
      // While the producer is in the rest the tensor costs nothing for sure, or
      // a store and a load; once it is done, a load.
      consumer.share.bound[kMemoryRow] += arc.transfer;
      kernel.share.bound[kMemoryRow] += crosses ? arc.transfer : -arc.transfer;
      if (crosses) {
        forced_memory[p] += arc.transfer;
        forced_memory[arc.other] += arc.transfer;
      }
      // SRAM: likewise one buffer on the consumer's side, and what both ends in
      // the rest take at least on top of it.
      if (!consumer.lonely) consumer.share.sram[consumer.backward ? 1 : 0] += arc.streamed;
      if (kernel.lonely) continue;
      const Bytes more = consumer.lonely || crosses
                             ? arc.streamed
                             : std::min(arc.fused - arc.streamed, arc.streamed);
      kernel.share.sram[phase] += more;
    }
  }
  for (std::size_t p = 0; p < size(); ++p) {
    KernelCosts& kernel = kernels_[p];
    auto& bound = kernel.share.bound;
    bound[kComputeRow] = kernel.compute;
    bound[kComputeMemoryRow] = kernel.compute;
    bound[kNetworkRow] = kernel.network;
    const bool long_network = perfect && kernel.network > kernel.compute;
    const bool long_memory = hides_memory && forced_memory[p] > kernel.compute;
    deadline().check();
    if (long_network || long_memory) {
      const Ticks hidden = most_beside(p, &KernelCosts::compute);
      if (long_network) bound[kComputeRow] += std::max<Ticks>(0, kernel.network - hidden);
      if (long_memory) bound[kComputeMemoryRow] += std::max<Ticks>(0, forced_memory[p] - hidden);
    }
    if (perfect && kernel.compute > kernel.network) {
      const Ticks hidden = most_beside(p, &KernelCosts::network);
      bound[kNetworkRow] += std::max<Ticks>(0, kernel.compute - hidden);
    }
  }
}

/// Rows that are not wanted are 0, with all that other bounds put on top of them.
void FusionTables::drop_rows() {
  constexpr std::array kBoundOfRow = {SearchBound::Compute, SearchBound::Compute,
                                      SearchBound::Memory, SearchBound::Network};
  static_assert(kBoundOfRow.size() == kBoundRows);
  for (KernelCosts& kernel : kernels_) {
    for (std::size_t row = 0; row < kBoundRows; ++row) {
      if (!bounds_.use(kBoundOfRow[row])) kernel.share.bound[row] = 0;
    }
  }
}

bool FusionTables::spills(const std::vector<std::int64_t>& partition) const {
  const DataflowGraph& graph = problem_.workload.graph;
  // Stored from the partition of the producer to that of the consumer, both
  // included: what is alive changes where one begins and after one ends.
  std::map<std::int64_t, Bytes> changes;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const std::int64_t from = partition[graph.tensors()[t].from.index()];
    const std::int64_t to = partition[graph.tensors()[t].to.index()];
    if (from == to) continue;
    changes[from] += costs_.stored(TensorId(t));
    changes[to + 1] -= costs_.stored(TensorId(t));
  }
  const Bytes first = problem_.system.memory.capacity;
  Bytes alive = weights_;
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
