// The enumeration of partitions whose duals exceed their time.
//
// Kernels are decided in topological order, inside or outside; a set is one that closes
// its paths: with two kernels it has all between them.  What stays outside
// makes its tensors cross for sure, so the memory time grows to its final value as the
// decisions are taken.  An undecided kernel that joins adds its dual to the excess and its
// own compute time at least to that of the partition, so the excess of all sets below a
// node is at most
//
//     duals inside - c(inside) + sum over undecided k of max(0, dual(k) - c(k)),
//
// and so for network and memory time.  What joins must also find room in SRAM, which is paid for: at
// a price of r for a byte it is at most
//
//     duals inside - c(inside) + r room + sum over undecided k of max(0, dual(k) - c(k) - r weight(k))
//
// (Lagrange).  The price is that of the first node's fractional knapsack.  Where the duals
// are good, hardly a set comes near an excess of zero, and the enumeration is short.
//
// Exchanges of kernels that are alike make sets of each other that have the same time and, where
// their duals are the same, too, the same excess.  Of such sets the one that has the earlier of two
// exchanged kernels where they first differ is enough.
//
// Against all sets: tests/engine/duals/partition_pricing_test.cpp.

#include "engine/duals/partition_pricing.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "model/layer/core_allocation.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

Ticks time_of(const FusionTables& tables, std::span<const std::vector<CoreOption>* const> options,
              Ticks compute, const OnChipTimes& on_chip, Ticks memory, Ticks network) {
  if (tables.has_levels()) compute = *std::max_element(on_chip.begin(), on_chip.end());
  if (!options.empty()) {
    const auto pace = least_cycles(options, tables.cores());
    if (!pace) return kNever;
    const Ticks cycles = tables.costs().cycle_time(*pace);
    compute = tables.has_levels() ? std::max(compute, cycles) : cycles;
  }
  return overlapped(tables.problem().execution.overlap, compute, memory, network);
}

Ticks time_alone(const FusionTables& tables, std::size_t p) {
  const KernelCosts& kernel = tables.kernel(p);
  Ticks memory = kernel.explicit_memory;
  for (const Arc& arc : tables.inputs(p)) memory += arc.transfer;
  for (const Arc& arc : tables.outputs(p)) memory += arc.transfer;
  std::vector<const std::vector<CoreOption>*> options;
  if (kernel.options != nullptr) options.push_back(kernel.options);
  return time_of(tables, options, kernel.compute, kernel.on_chip, memory, kernel.network);
}

constexpr std::size_t kParts = std::tuple_size_v<KernelParts>;

constexpr std::int64_t kStepsBetweenLooks = 1024;

/// One call of `find`.
class ColumnEnumeration {
 public:
  ColumnEnumeration(const FusionTables& tables, const std::vector<KernelSet>& descendants,
                    const std::vector<KernelOrder::Exchange>& exchanges,
                    const std::vector<KernelSet>& partners, const PartitionRules& rules,
                    const Duals& duals, const PartitionPricing::Query& query, std::int64_t& steps)
      : tables_(tables),
        descendants_(descendants),
        exchanges_(exchanges),
        partners_(partners),
        rules_(rules),
        duals_(duals),
        overlap_(tables.problem().execution.overlap),
        least_charge_(
            *std::min_element(duals.charge.begin(),
                              duals.charge.begin() + static_cast<std::ptrdiff_t>(rules.groups()))),
        query_(query),
        threshold_(query.threshold),
        step_(1 + static_cast<std::int64_t>(tables.size() / 128)),
        steps_(steps),
        deadline_(tables.deadline(), kStepsBetweenLooks),
        crossing_(tables.size()),
        by_weight_(tables.size()) {
    std::iota(by_weight_.begin(), by_weight_.end(), 0U);
    std::stable_sort(by_weight_.begin(), by_weight_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return tables.kernel(a).weight > tables.kernel(b).weight;
    });
    for (std::size_t p = 0; p < tables.size(); ++p) crossing_[p] = tables.kernel(p).explicit_memory;
  }

  /// Whether the steps sufficed.
  bool run() {
    State all{.inside = KernelSet(tables_.size()), .open = KernelSet(tables_.size())};
    for (std::size_t p = 0; p < tables_.size(); ++p) all.open.insert(p);
    of_weight_.resize(tables_.size());
    // Few hold one kernel among few: not worth it.
    if (query_.with == PartitionPricing::Query::kAny) set_prices(all);
    for (std::size_t p = 0; p < tables_.size(); ++p) add_gains(p, all);
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      const KernelCosts& kernel = tables_.kernel(p);
      const bool among = query_.among == nullptr || query_.among->contains(p);
      if (among && !kernel.lonely) continue;
      leave_out(p, all);
      const bool wanted =
          among && (query_.with == PartitionPricing::Query::kAny || query_.with == p);
      if (!wanted || !kernel.escapes) continue;
      if (!exchanges_.empty() && tables_.order().first_alike()[p] != p) continue;
      KernelSet alone(tables_.size());
      alone.insert(p);
      keep(alone, 1, group(p), duals_.kernels[p], time_alone(tables_, p));
    }
    decide(all, 0);
    return steps_ >= 0;
  }

  std::vector<PartitionColumn> take() {
    keep_best(query_.most);
    return std::move(found_);
  }

 private:
  struct State {
    KernelSet inside;
    KernelSet open;  // undecided
    Ticks compute = 0;
    OnChipTimes on_chip{};  // 0 unless levels take time
    Ticks network = 0;
    Ticks memory = 0;  // that is sure, whatever joins
    FineTicks dual = 0;
    std::array<FineTicks, kParts> gains{};     // of all open kernels
    std::array<FineTicks, kParts> bargains{};  // that are left of them once SRAM is paid for
    Bytes sram{};
    std::int64_t kernels = 0;
  };

  [[nodiscard]] std::size_t group(std::size_t p) const {
    return rules_.group(tables_.kernel(p).backward);
  }
  /// By how much an open kernel that joins raises the excess at most, by each part of the time.
  [[nodiscard]] std::array<FineTicks, kParts> gains(std::size_t p) const {
    const KernelCosts& kernel = tables_.kernel(p);
    const KernelParts own = parts(overlap_, kernel.compute, kernel.network, crossing_[p]);
    std::array<FineTicks, kParts> gains{};
    for (std::size_t r = 0; r < kParts; ++r) gains[r] = duals_.kernels[p] - own[r] * kFinePerTick;
    return gains;
  }
  void add_gains(std::size_t p, State& state, FineTicks sign = 1) const {
    const auto own = gains(p);
    for (std::size_t r = 0; r < kParts; ++r) {
      state.gains[r] += sign * std::max<FineTicks>(0, own[r]);
      state.bargains[r] += sign * std::max<FineTicks>(0, own[r] - of_weight_[p][r]);
    }
  }
  void take_gains(std::size_t p, State& state) const { add_gains(p, state, -1); }

  /// For each part of the time: what is gained with the last bytes if SRAM goes to the kernels
  /// that gain most with a byte.
  void set_prices(const State& all) {
    for (std::size_t r = 0; r < kParts; ++r) {
      std::vector<std::pair<long double, std::size_t>> offers;
      all.open.for_each([&](std::size_t p) {
        const auto gain = static_cast<long double>(gains(p)[r]);
        const auto weight = static_cast<long double>(tables_.kernel(p).weight.in_base_units());
        if (gain > 0.0L && weight > 0.0L) offers.emplace_back(gain / weight, p);
      });
      std::sort(offers.begin(), offers.end(), std::greater<>());
      Bytes room = tables_.sram();
      for (const auto& [price, p] : offers) {
        room -= tables_.kernel(p).weight;
        if (room >= Bytes{}) continue;
        price_[r] = price;
        break;
      }
      // Rounded down, and by one more for the rounding of the product.
      for (std::size_t p = 0; p < tables_.size(); ++p) {
        of_weight_[p][r] = std::max<FineTicks>(0, paid(r, tables_.kernel(p).weight) - 1);
      }
    }
  }
  /// Of bytes that fit the SRAM it is less than the sum of all gains, of which the price is made:
  /// only a kernel that does not fit is charged with less than its bytes are worth, and that one
  /// joins no other.
  [[nodiscard]] FineTicks paid(std::size_t part, Bytes bytes) const {
    return whole_fine_ticks(price_[part] * static_cast<long double>(bytes.in_base_units()));
  }
  /// No longer open.
  void decided(std::size_t p, State& state) const {
    take_gains(p, state);
    state.open.erase(p);
  }

  void decide(const State& state, std::size_t from) {
    deadline_.check(step_);
    if ((steps_ -= step_) < 0 || most_excess(state) <= threshold_) return;
    const std::size_t wanted = query_.with;
    if (wanted != PartitionPricing::Query::kAny && !state.open.contains(wanted) &&
        !state.inside.contains(wanted)) {
      return;
    }
    const std::size_t p = state.open.first_from(from);
    if (p >= state.open.end()) {
      if (state.kernels > 0) close(state);
      return;
    }
    const std::size_t mark = trail_.size();
    if (state.kernels < tables_.cores()) {
      State with = state;
      if (put_in(p, with) && leads(with)) decide(with, p + 1);
      undo_to(mark);
    }
    State without = state;
    refuse(p, without);
    if (leads(without)) decide(without, p + 1);
    undo_to(mark);
  }

  /// False if SRAM overflows.
  bool put_in(std::size_t p, State& state) {
    const KernelCosts& kernel = tables_.kernel(p);
    state.sram += kernel.weight;
    for (const Arc& arc : tables_.inputs(p)) {
      state.sram += state.inside.contains(arc.other) ? arc.fused - arc.streamed : arc.streamed;
    }
    for (const Arc& arc : tables_.outputs(p)) state.sram += arc.streamed;
    if (state.sram > tables_.sram()) return false;
    state.compute += kernel.compute;
    if (tables_.has_levels()) {
      for (std::size_t x = 0; x < state.on_chip.size(); ++x) state.on_chip[x] += kernel.on_chip[x];
    }
    state.network += kernel.network;
    state.memory += crossing_[p];
    state.dual += duals_.kernels[p];
    ++state.kernels;
    decided(p, state);
    state.inside.insert(p);
    const KernelSet open = state.open;
    open.for_each([&](std::size_t other) {
      if (state.open.contains(other) && !partners_[p].contains(other)) refuse(other, state);
    });
    for (const std::uint32_t other : by_weight_) {
      if (tables_.kernel(other).weight + state.sram <= tables_.sram()) break;
      if (state.open.contains(other)) refuse(other, state);
    }
    // Paths from here through what is outside lead to nothing that may join.
    descendants_[p].for_each([&](std::size_t d) {
      if (!state.inside.contains(d) && !state.open.contains(d)) leave_out_after(d, state);
    });
    return true;
  }

  /// Leaves it out and, if something inside comes before it, what comes after it.
  void refuse(std::size_t p, State& state) {
    leave_out(p, state);
    if (follows_inside(p, state)) leave_out_after(p, state);
  }

  /// Whether the set may come before all that exchanges make of it; leaves out what it then
  /// may not have.
  bool leads(State& state) {
    for (const KernelOrder::Exchange& exchange : exchanges_) {
      for (const auto& [earlier, later] : exchange) {
        if (state.open.contains(earlier)) break;
        const bool has_earlier = state.inside.contains(earlier);
        if (state.inside.contains(later) && !has_earlier) return false;
        if (has_earlier && !state.inside.contains(later)) break;
        if (state.open.contains(later)) refuse(later, state);
      }
    }
    return true;
  }

  [[nodiscard]] bool follows_inside(std::size_t p, const State& state) const {
    bool follows = false;
    state.inside.for_each([&](std::size_t q) { follows |= descendants_[q].contains(p); });
    return follows;
  }

  void leave_out_after(std::size_t p, State& state) {
    descendants_[p].for_each([&](std::size_t d) {
      if (state.open.contains(d)) leave_out(d, state);
    });
  }

  /// An open kernel: the tensors between it and what is or will be inside cross.
  void leave_out(std::size_t p, State& state) {
    decided(p, state);
    trail_.push_back(static_cast<std::uint32_t>(p));
    const auto cross = [&](const Arc& arc) {
      const bool open = state.open.contains(arc.other);
      if (open) take_gains(arc.other, state);
      crossing_[arc.other] += arc.transfer;
      if (open) add_gains(arc.other, state);
      if (state.inside.contains(arc.other)) state.memory += arc.transfer;
    };
    for (const Arc& arc : tables_.inputs(p)) cross(arc);
    for (const Arc& arc : tables_.outputs(p)) cross(arc);
  }

  void undo_to(std::size_t mark) {
    for (; trail_.size() > mark; trail_.pop_back()) {
      for (const Arc& arc : tables_.inputs(trail_.back())) crossing_[arc.other] -= arc.transfer;
      for (const Arc& arc : tables_.outputs(trail_.back())) crossing_[arc.other] -= arc.transfer;
    }
  }

  [[nodiscard]] FineTicks most_excess(const State& state) const {
    const KernelParts inside = parts(overlap_, state.compute, state.network, state.memory);
    FineTicks least = std::numeric_limits<FineTicks>::max();
    for (std::size_t r = 0; r < kParts; ++r) {
      // Rounded up.
      const FineTicks room = paid(r, tables_.sram() - state.sram) + 2;
      least = std::min(
          least, std::min(state.gains[r], state.bargains[r] + room) - inside[r] * kFinePerTick);
    }
    // What the first kernel decides.
    const FineTicks charge =
        state.kernels > 0 ? duals_.charge[group(state.inside.first_from(0))] : least_charge_;
    return state.dual + least - charge;
  }

  void close(const State& state) {
    options_.clear();
    state.inside.for_each([&](std::size_t p) {
      if (tables_.kernel(p).options != nullptr) options_.push_back(tables_.kernel(p).options);
    });
    // Sharing the cores out takes long.
    if (!options_.empty()) steps_ -= 4 * state.kernels;
    keep(state.inside, state.kernels, group(state.inside.first_from(0)), state.dual,
         time_of(tables_, options_, state.compute, state.on_chip, state.memory, state.network));
  }

  void keep(const KernelSet& kernels, std::int64_t size, std::size_t group, FineTicks dual,
            Ticks time) {
    const FineTicks excess = dual - time * kFinePerTick - duals_.charge[group];
    if (excess <= threshold_) return;
    found_.push_back(
        {.kernels = kernels, .group = group, .time = time, .excess = excess, .size = size});
    if (found_.size() < 4 * query_.most) return;
    keep_best(query_.most);
    threshold_ = std::max(threshold_, found_.back().excess);
  }

  /// Among equals the largest.
  void keep_best(std::size_t count) {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const PartitionColumn& a, const PartitionColumn& b) {
                       return std::tie(a.excess, a.size) > std::tie(b.excess, b.size);
                     });
    if (found_.size() > count) found_.resize(count);
  }

  const FusionTables& tables_;
  const std::vector<KernelSet>& descendants_;
  const std::vector<KernelOrder::Exchange>& exchanges_;
  const std::vector<KernelSet>& partners_;
  const PartitionRules& rules_;
  const Duals& duals_;
  const Overlap overlap_;
  std::array<long double, kParts> price_{};  // of a byte of SRAM
  std::vector<std::array<FineTicks, kParts>> of_weight_;
  const FineTicks least_charge_;
  const PartitionPricing::Query query_;
  FineTicks threshold_;
  const std::int64_t step_;  // what a node counts: in large graphs it takes longer
  std::int64_t& steps_;
  PacedDeadline deadline_;
  // Explicit memory time of each kernel and the transfers of its tensors to what is outside.
  std::vector<Ticks> crossing_;
  std::vector<std::uint32_t> by_weight_;                 // the heaviest first
  std::vector<std::uint32_t> trail_;                     // outside, in the order of being left out
  std::vector<const std::vector<CoreOption>*> options_;  // scratch of close()
  std::vector<PartitionColumn> found_;
};

}  // namespace

FineTicks whole_fine_ticks(long double value) {
  return value < static_cast<long double>(kGreatestDual) ? static_cast<FineTicks>(value)
                                                         : kGreatestDual;
}

KernelParts parts(Overlap overlap, Ticks compute, Ticks network, Ticks memory) {
  switch (overlap) {
    case Overlap::Perfect:
      return {compute, network, memory};
    case Overlap::ComputeMemory:
      return {compute + network, memory + network, 0};
    case Overlap::None:
      return {compute + network + memory, 0, 0};
  }
  return {};
}

PartitionPricing::PartitionPricing(const FusionTables& tables, Sets sets)
    : tables_(tables),
      rules_(tables),
      descendants_(sets == Sets::Ordered ? tables.order().descendants()
                                         : tables.order().tensor_descendants()),
      exchanges_(sets == Sets::Ordered ? std::vector<KernelOrder::Exchange>{}
                                       : tables.order().exchanges()),
      memory_(tables.allowance().charge(tables.size() * (sizeof(KernelSet) + tables.size() / 8))) {
  for (std::size_t p = 0; p < tables.size(); ++p) {
    tables.deadline().check();
    partners_.emplace_back(tables.size());
    for (std::size_t q = 0; q < tables.size(); ++q) {
      if (p != q && tables.may_share(p, q, descendants_)) partners_[p].insert(q);
    }
  }
}

Ticks PartitionPricing::time_alone(std::size_t kernel) const {
  return dfsearch::time_alone(tables_, kernel);
}

Ticks PartitionPricing::time(const KernelSet& kernels, Ticks compute, Ticks network,
                             Ticks memory) const {
  OnChipTimes on_chip{};
  std::vector<const std::vector<CoreOption>*> options;
  kernels.for_each([&](std::size_t p) {
    const KernelCosts& kernel = tables_.kernel(p);
    if (kernel.options != nullptr) options.push_back(kernel.options);
    for (std::size_t x = 0; x < on_chip.size(); ++x) on_chip[x] += kernel.on_chip[x];
  });
  return time_of(tables_, options, compute, on_chip, memory, network);
}

PartitionPricing::Found PartitionPricing::find(const Duals& duals, const Query& query,
                                               std::int64_t& steps) const {
  ColumnEnumeration enumeration(tables_, descendants_, exchanges_, partners_, rules_, duals, query,
                                steps);
  const bool complete = enumeration.run();
  return {.partitions = enumeration.take(), .complete = complete};
}

}  // namespace dfsearch
