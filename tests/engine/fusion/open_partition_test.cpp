// A partition in the making against one that is added up anew after each step.

#include "engine/fusion/open_partition.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "model/layer/core_allocation.hpp"
#include "model/step/step_time.hpp"
#include "support/random_duals.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"
#include "support/worlds.hpp"

namespace dfsearch {
namespace {

using Totals = OpenPartition::Totals;

bool same(const Totals& a, const Totals& b) {
  return a.compute == b.compute && a.network == b.network && a.memory == b.memory &&
         a.sure_memory == b.sure_memory && a.sram == b.sram && a.leaving == b.leaving &&
         a.pinned == b.pinned && a.backward == b.backward && a.dual == b.dual;
}

/// Computes everything by the definitions, from sets alone.
class Anew {
 public:
  enum class State { Undecided, Done, Inside, Outside };

  /// `duals` may be null.
  Anew(const FusionTables& tables, const KernelSet& done, const PartitionDuals* duals)
      : tables_(tables), duals_(duals), states(tables.size(), State::Undecided) {
    for (std::size_t p = 0; p < tables.size(); ++p) {
      if (done.contains(p)) states[p] = State::Done;
    }
  }

  [[nodiscard]] Totals totals() const {
    Totals sum;
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      if (duals_ != nullptr) add_dual(p, sum);
      if (!is(p, State::Inside)) continue;
      const KernelCosts& kernel = tables_.kernel(p);
      sum.compute += kernel.compute;
      sum.network += kernel.network;
      sum.memory += kernel.explicit_memory;
      sum.sure_memory += kernel.explicit_memory;
      sum.sram += kernel.weight;
      sum.pinned += kernel.pin >= 0;
      sum.backward += kernel.backward;
      for (const Arc& arc : tables_.inputs(p)) {
        if (is(arc.other, State::Inside)) continue;
        sum.memory += arc.transfer;
        sum.sure_memory += arc.transfer;
        sum.sram += arc.streamed;
      }
      for (const Arc& arc : tables_.outputs(p)) {
        if (is(arc.other, State::Inside)) {
          sum.sram += arc.fused;
          continue;
        }
        sum.memory += arc.transfer;
        sum.sram += arc.streamed;
        sum.leaving += arc.stored;
        if (is(arc.other, State::Outside)) sum.sure_memory += arc.transfer;
      }
    }
    return sum;
  }

  [[nodiscard]] std::array<Ticks, kBoundRows> outside() const {
    Rest rest;
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      if (is(p, State::Outside)) rest += tables_.kernel(p).share;
    }
    rest.bound[kMemoryRow] = 0;
    return rest.bound;
  }

  [[nodiscard]] bool ready(std::size_t p) const {
    if (!is(p, State::Undecided)) return false;
    const auto inputs = tables_.inputs(p);
    return std::all_of(inputs.begin(), inputs.end(), [&](const Arc& arc) {
      return is(arc.other, State::Done) || is(arc.other, State::Inside);
    });
  }

  /// Whether cores, SRAM and repeats allow the kernel beside those inside.
  [[nodiscard]] bool fits(std::size_t p) {
    states[p] = State::Inside;
    std::int64_t inside = 0;
    std::int64_t repeats = 0;
    for (std::size_t q = 0; q < tables_.size(); ++q) {
      inside += is(q, State::Inside);
      repeats += is(q, State::Inside) && tables_.kernel(q).repeats;
    }
    const bool fits = inside <= tables_.cores() && (repeats == 0 || repeats == inside) &&
                      totals().sram <= tables_.sram();
    states[p] = State::Undecided;
    return fits;
  }

  /// All that waits in memory while the partition runs.
  [[nodiscard]] bool fits_in_memory() const {
    Bytes waiting{};
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      for (const Arc& arc : tables_.outputs(p)) {
        const bool before = is(p, State::Done) && !is(arc.other, State::Done);
        const bool from_it = is(p, State::Inside) && !is(arc.other, State::Inside);
        if (before || from_it) waiting += arc.stored;
      }
    }
    return waiting <= tables_.capacity_for_activations();
  }

  [[nodiscard]] Ticks time() const {
    const Problem& problem = tables_.problem();
    const Totals sum = totals();
    Ticks compute = sum.compute;
    if (!problem.execution.compute_utilization) {
      std::vector<const std::vector<CoreOption>*> options;
      for (std::size_t p = 0; p < tables_.size(); ++p) {
        if (is(p, State::Inside)) options.push_back(tables_.kernel(p).options);
      }
      const auto pace = least_cycles(options, tables_.cores());
      if (!pace) return kNever;
      compute = tables_.costs().cycle_time(*pace);
    }
    return overlapped(problem.execution.overlap, compute, sum.memory, sum.network);
  }

  /// The greatest of what each part of the time and the duals of all others add up to.
  [[nodiscard]] FineTicks dual_time() const {
    const Totals sum = totals();
    const KernelParts inside =
        parts(tables_.problem().execution.overlap, sum.compute, sum.network, sum.sure_memory);
    FineTicks most = 0;
    for (std::size_t r = 0; r < inside.size(); ++r) {
      most = std::max(most, inside[r] * kFinePerTick + sum.dual[r]);
    }
    return most;
  }

 private:
  [[nodiscard]] bool is(std::size_t p, State state) const { return states[p] == state; }

  /// A kernel outside takes its dual later on; an undecided one may join and then takes its part of
  /// the time instead, if that is less.
  void add_dual(std::size_t p, Totals& sum) const {
    const KernelCosts& kernel = tables_.kernel(p);
    const KernelParts own = parts(tables_.problem().execution.overlap, kernel.compute,
                                  kernel.network, kernel.explicit_memory);
    for (std::size_t r = 0; r < own.size(); ++r) {
      if (is(p, State::Outside)) sum.dual[r] += duals_->kernels[p];
      if (is(p, State::Undecided)) {
        sum.dual[r] += std::min(duals_->kernels[p], own[r] * kFinePerTick);
      }
    }
  }

  const FusionTables& tables_;
  const PartitionDuals* duals_;

 public:
  std::vector<State> states;
};

/// Random decisions and their undoing, last in first out.
class Drill {
 public:
  Drill(const FusionTables& tables, const KernelSet& done, const PartitionDuals* duals,
        std::mt19937_64& random)
      : tables_(tables),
        random_(random),
        partition_(tables, done, duals),
        anew_(tables, done, duals),
        before_(anew_.totals()) {}

  void step() {
    const auto p = static_cast<std::size_t>(
        test::pick(random_, 0, static_cast<std::int64_t>(tables_.size()) - 1));
    const std::int64_t what = test::pick(random_, 0, 9);
    if (what < 4 && anew_.ready(p) && anew_.fits(p)) {
      put_in(p);
    } else if (what < 7 && partition_.undecided(p)) {
      keep_out(p);
    } else if (!undo_.empty()) {
      take_back();
    }
    check();
  }

  /// Takes everything back: nothing is left of what was done.
  void rewind() {
    while (!undo_.empty()) {
      take_back();
      check();
    }
    CHECK(same(partition_.totals(), before_));
    CHECK(partition_.kernels().empty());
  }

  std::int64_t fitting = 0;
  std::int64_t not_fitting = 0;

 private:
  struct Step {
    bool put_in = false;
    std::size_t kernel = 0;
    std::size_t mark = 0;
    Totals totals;
    std::vector<Anew::State> states;
  };

  void put_in(std::size_t p) {
    undo_.push_back({true, p, 0, partition_.totals(), anew_.states});
    partition_.put_in(p);
    anew_.states[p] = Anew::State::Inside;
  }

  void keep_out(std::size_t p) {
    undo_.push_back({false, p, partition_.mark(), {}, anew_.states});
    partition_.keep_out(p);
    tables_.descendants(p).for_each([&](std::size_t d) {
      if (anew_.states[d] == Anew::State::Undecided) anew_.states[d] = Anew::State::Outside;
    });
  }

  void take_back() {
    const Step step = std::move(undo_.back());
    undo_.pop_back();
    if (step.put_in) {
      partition_.take_out(step.kernel, step.totals);
    } else {
      partition_.undo_to(step.mark);
    }
    anew_.states = step.states;
  }

  void check() {
    REQUIRE(same(partition_.totals(), anew_.totals()));
    REQUIRE(partition_.outside().bound == anew_.outside());
    REQUIRE(partition_.dual_time() == anew_.dual_time());
    std::size_t next_ready = tables_.size();
    for (std::size_t p = tables_.size(); p-- > 0;) {
      REQUIRE(partition_.undecided(p) == (anew_.states[p] == Anew::State::Undecided));
      REQUIRE(partition_.is_inside(p) == (anew_.states[p] == Anew::State::Inside));
      REQUIRE(partition_.is_outside(p) == (anew_.states[p] == Anew::State::Outside));
      if (anew_.ready(p)) {
        next_ready = p;
        const bool fits = anew_.fits(p);
        REQUIRE(partition_.fits(p) == fits);
        ++(fits ? fitting : not_fitting);
      }
      if (next_ready < tables_.size()) {
        REQUIRE(partition_.first_ready(p) == next_ready);
      } else {
        REQUIRE(partition_.first_ready(p) >= partition_.ready_end());
      }
    }
    if (partition_.kernels().empty()) return;
    REQUIRE(partition_.fits_in_memory() == anew_.fits_in_memory());
    const Ticks time = anew_.time();
    REQUIRE(partition_.time(kNever) == time);
    REQUIRE(partition_.time(time) == time);
    const Ticks late = partition_.time(time - 1);
    REQUIRE((late == time || late == kNever));
  }

  const FusionTables& tables_;
  std::mt19937_64& random_;
  OpenPartition partition_;
  Anew anew_;
  const Totals before_;
  std::vector<Step> undo_;
};

/// Some kernels with all their ancestors.
KernelSet random_ideal(const FusionTables& tables, std::mt19937_64& random) {
  KernelSet done(tables.size());
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const auto inputs = tables.inputs(p);
    const bool may = std::all_of(inputs.begin(), inputs.end(),
                                 [&](const Arc& arc) { return done.contains(arc.other); });
    if (may && test::pick(random, 0, 3) == 0) done.insert(p);
  }
  return done;
}

}  // namespace

TEST_CASE("an open partition is at every moment what its kernels add up to") {
  std::int64_t fitting = 0;
  std::int64_t not_fitting = 0;
  int with_duals = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const Problem problem =
        seed % 3 == 0 ? test::symmetric_problem(seed) : test::random_problem(seed);
    const auto context = MappingProblem(problem).open(outer_points(problem).back());
    std::mt19937_64 random(seed);
    const KernelSet done = random_ideal(context->tables, random);
    // Without duals in every fourth world.
    PartitionDuals duals;
    static_cast<Duals&>(duals) = test::random_duals(context->tables, random);
    set_gains(context->tables, duals);
    with_duals += seed % 4 != 0;
    Drill drill(context->tables, done, seed % 4 == 0 ? nullptr : &duals, random);
    for (int step = 0; step < 40; ++step) drill.step();
    drill.rewind();
    fitting += drill.fitting;
    not_fitting += drill.not_fitting;
  }
  CHECK(fitting > 50'000);
  CHECK(not_fitting > 30'000);
  CHECK(with_duals > 2000);
}

TEST_CASE("an open partition of a large graph adds up what most kernels have in common" *
          doctest::test_suite("worlds")) {
  int with_duals = 0;
  for (std::uint64_t seed = 0; seed < test::share_of(200U); ++seed) {
    CAPTURE(seed);
    const std::optional<Problem> problem = test::large_problem(seed, 64);
    if (!problem) continue;
    const auto context = MappingProblem(*problem).open(outer_points(*problem).back());
    std::mt19937_64 random(seed);
    const KernelSet done = random_ideal(context->tables, random);
    PartitionDuals duals;
    static_cast<Duals&>(duals) = test::random_duals(context->tables, random);
    set_gains(context->tables, duals);
    with_duals += seed % 4 != 0;
    Drill drill(context->tables, done, seed % 4 == 0 ? nullptr : &duals, random);
    for (int step = 0; step < 100; ++step) drill.step();
    drill.rewind();
  }
  CHECK(with_duals > test::share_of(10));
}

}  // namespace dfsearch
