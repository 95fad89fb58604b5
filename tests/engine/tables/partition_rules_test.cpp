// Which index a partition may have and which kernels it may hold, against a plain
// definition.  The fusions that come of it: tests/engine/fusion/fusion_tree_test.cpp.

#include "engine/tables/partition_rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

/// What a partition may consist of, as far as indices are concerned.
struct Content {
  bool forward = false;
  bool backward = false;
  bool pins = false;  // all kernels of the least pin; else none
};

struct Indices {
  std::int32_t partitions = 1;
  bool halves = false;
};

/// Whether a partition of that content may stand at the index, later ones aside.
bool may_stand(const Indices& limits, const Unplaced& left, const Content& content,
               std::int32_t index) {
  if (index >= limits.partitions) return false;
  if (left.least_pin >= 0 && index > left.least_pin) return false;
  if (content.pins != (index == left.least_pin)) return false;
  if (limits.halves) {
    if (content.forward && index > (limits.partitions - 1) / 2) return false;
    if (content.backward && index < limits.partitions / 2) return false;
    return true;
  }
  return !content.backward || left.forward == 0;
}

bool admits(const PartitionSlot& slot, const Content& content) {
  return (!content.forward || slot.forward) && (!content.backward || slot.backward) &&
         content.pins == (slot.pinned > 0) && (!slot.needs_backward || content.backward);
}

/// The slots allow each content at the first index where it may stand, and at no
/// other.
void check_slots(const PartitionRules& rules, const Indices& limits, std::int32_t next_index,
                 const Unplaced& left) {
  const std::vector<PartitionSlot> slots = rules.slots(next_index, left);
  for (std::size_t s = 1; s < slots.size(); ++s) REQUIRE(slots[s - 1].index < slots[s].index);
  for (const PartitionSlot& slot : slots) {
    if (slot.pinned > 0) REQUIRE(slot.pinned == left.kernels_at_pin);
  }
  for (int bits = 0; bits < 8; ++bits) {
    const Content content{
        .forward = (bits & 1) != 0, .backward = (bits & 2) != 0, .pins = (bits & 4) != 0};
    if (!content.forward && !content.backward) continue;
    if (content.forward && left.forward == 0) continue;
    if (content.backward && left.backward == 0) continue;
    std::vector<std::int32_t> expected;
    for (std::int32_t i = next_index; i < limits.partitions && expected.empty(); ++i) {
      if (may_stand(limits, left, content, i)) expected.push_back(i);
    }
    std::vector<std::int32_t> allowed;
    for (const PartitionSlot& slot : slots) {
      if (admits(slot, content)) allowed.push_back(slot.index);
    }
    CAPTURE(bits);
    REQUIRE(allowed == expected);
  }
}

std::shared_ptr<const FusionContext> context_of(const Problem& problem) {
  return MappingProblem(problem).open(outer_points(problem).front());
}

/// A forward and a backward kernel.
Problem two_phases(const Indices& limits) {
  Problem problem = test::idle_problem(2);
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[1].phase = Phase::Backward;
  problem.workload.graph = DataflowGraph(kernels, {});
  problem.execution.partitions = limits.partitions;
  problem.equations.phases = limits.halves ? SplitPhases::Halves : SplitPhases::Separate;
  return problem;
}

}  // namespace

TEST_CASE("slots allow every partition at the first index where it may stand, and only there") {
  for (const bool halves : {false, true}) {
    for (std::int32_t partitions = 1; partitions <= 7; ++partitions) {
      const Indices limits{.partitions = partitions, .halves = halves};
      const Problem problem = two_phases(limits);
      const auto context = context_of(problem);
      const PartitionRules rules(context->tables);
      REQUIRE(rules.most() == partitions);
      for (std::int32_t next = 0; next <= partitions; ++next) {
        for (std::int32_t pin = -1; pin < partitions; ++pin) {
          for (std::int64_t forward = 0; forward <= 2; ++forward) {
            for (std::int64_t backward = 0; backward <= 2; ++backward) {
              CAPTURE(halves);
              CAPTURE(partitions);
              CAPTURE(next);
              CAPTURE(pin);
              CAPTURE(forward);
              CAPTURE(backward);
              check_slots(rules, limits, next,
                          {.forward = forward,
                           .backward = backward,
                           .least_pin = pin,
                           .kernels_at_pin = pin < 0 ? 0 : 1 + forward});
            }
          }
        }
      }
    }
  }
}

TEST_CASE("what is unplaced is counted by phase and by the least pin") {
  Problem problem = test::idle_problem(5);
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[3].phase = Phase::Backward;
  kernels[4].phase = Phase::Backward;
  problem.workload.graph = DataflowGraph(kernels, {});
  problem.execution.pins = {2, 1, 1, std::nullopt, 2};
  const auto context = context_of(problem);
  const PartitionRules rules(context->tables);
  KernelSet done(5);
  const Unplaced all = rules.unplaced(done);
  CHECK(all.forward == 3);
  CHECK(all.backward == 2);
  CHECK(all.least_pin == 1);
  CHECK(all.kernels_at_pin == 2);
  done.insert(1);
  done.insert(2);
  const Unplaced some = rules.unplaced(done);
  CHECK(some.forward == 1);
  CHECK(some.least_pin == 2);
  CHECK(some.kernels_at_pin == 2);
  done.insert(0);
  done.insert(4);
  const Unplaced last = rules.unplaced(done);
  CHECK(last.forward == 0);
  CHECK(last.backward == 1);
  CHECK(last.least_pin == -1);
}

TEST_CASE("halves without an index in common are two groups with indices of their own") {
  const auto check = [](const Indices& indices, const auto& judge) {
    const Problem problem = two_phases(indices);
    const auto context = context_of(problem);
    judge(PartitionRules(context->tables));
  };
  check({.partitions = 4, .halves = true}, [](const PartitionRules& rules) {
    REQUIRE(rules.groups() == 2);
    CHECK(rules.group(false) == 0);
    CHECK(rules.group(true) == 1);
    for (const std::int32_t next : {0, 1, 2, 3, 4, 5}) {
      CHECK(rules.left(0, next) == std::max(0, 2 - next));                   // 0 and 1
      CHECK(rules.left(1, next) == (next < 2 ? 2 : std::max(0, 4 - next)));  // 2 and 3
    }
  });
  // The middle one is of both.
  for (const Indices& indices :
       {Indices{.partitions = 5, .halves = true}, Indices{.partitions = 1, .halves = true},
        Indices{.partitions = 4, .halves = false}}) {
    check(indices, [&](const PartitionRules& rules) {
      REQUIRE(rules.groups() == 1);
      CHECK(rules.group(true) == 0);
      CHECK(rules.left(0, 0) == indices.partitions);
      CHECK(rules.left(0, 1) == indices.partitions - 1);
      CHECK(rules.left(0, indices.partitions + 1) == 0);
    });
  }
}

TEST_CASE("a partition has the least index that pins and halves allow it") {
  int allowed = 0;
  int refused = 0;
  int later = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const Indices indices{.partitions = static_cast<std::int32_t>(test::pick(random, 1, 6)),
                          .halves = seed % 2 == 0};
    Problem problem = test::idle_problem(6);
    problem.execution.partitions = indices.partitions;
    problem.equations.phases = indices.halves ? SplitPhases::Halves : SplitPhases::Separate;
    std::vector<Kernel> kernels = problem.workload.graph.kernels();
    const std::int64_t first_backward = test::pick(random, 0, 5);  // one backward kernel at least
    problem.execution.pins.resize(kernels.size());
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      // Backward from some kernel on; no pins in a third of the worlds.
      if (static_cast<std::int64_t>(k) >= first_backward) kernels[k].phase = Phase::Backward;
      if (seed % 3 > 0 && test::pick(random, 0, 3) == 0) {
        problem.execution.pins[k] = test::pick(random, 0, indices.partitions - 1);
      }
      kernels[k].m = static_cast<std::int64_t>(k) + 1;  // nothing is exchangeable
    }
    problem.workload.graph = DataflowGraph(kernels, {});
    const auto context = context_of(problem);
    const FusionTables& tables = context->tables;
    const PartitionRules rules(tables);

    // Forward kernels are done before backward ones; the partition has any of the others.
    KernelSet done(tables.size());
    KernelSet partition(tables.size());
    Content content;
    bool forward_left = false;
    std::vector<std::int32_t> pins_inside;
    std::vector<std::int32_t> pins_left;
    const std::int64_t part_done = test::pick(random, 0, 2);
    for (std::size_t p = 0; p < tables.size(); ++p) {
      const KernelCosts& kernel = tables.kernel(p);
      if (!kernel.backward && test::pick(random, 0, 2) < part_done) {
        done.insert(p);
      } else if (test::pick(random, 0, 2) > 0) {
        partition.insert(p);
        (kernel.backward ? content.backward : content.forward) = true;
        if (kernel.pin >= 0) pins_inside.push_back(kernel.pin);
      } else {
        forward_left |= !kernel.backward;
        if (kernel.pin >= 0) pins_left.push_back(kernel.pin);
      }
    }
    if (!content.forward && !content.backward) continue;

    const auto next = static_cast<std::int32_t>(test::pick(random, 0, indices.partitions));
    const auto may_have = [&](std::int32_t index) {
      for (const std::int32_t pin : pins_inside) {
        if (pin != index) return false;
      }
      for (const std::int32_t pin : pins_left) {
        if (pin <= index) return false;
      }
      // Forward kernels that are left come later than backward ones inside: never.
      if (content.backward && forward_left) return false;
      if (!indices.halves) return !(content.backward && content.forward);
      return (!content.forward || index <= (indices.partitions - 1) / 2) &&
             (!content.backward || index >= indices.partitions / 2);
    };
    std::optional<std::int32_t> expected;
    for (std::int32_t index = next; index < indices.partitions && !expected; ++index) {
      if (may_have(index)) expected = index;
    }
    REQUIRE(rules.index_for(partition, next, rules.unplaced(done)) == expected);
    ++(expected ? allowed : refused);
    later += expected && *expected > next;
  }
  CHECK(allowed > 500);
  CHECK(refused > 500);
  CHECK(later > 100);
}

TEST_CASE("nothing is open once the indices of forward kernels or of a pin are past") {
  const Problem problem = two_phases({.partitions = 5, .halves = true});
  const auto context = context_of(problem);
  const PartitionRules rules(context->tables);
  CHECK(rules.open(2, {.forward = 1, .backward = 1}));
  CHECK_FALSE(rules.open(3, {.forward = 1, .backward = 1}));
  CHECK(rules.open(3, {.backward = 1}));
  CHECK(rules.open(3, {.backward = 1, .least_pin = 3, .kernels_at_pin = 1}));
  CHECK_FALSE(rules.open(4, {.backward = 1, .least_pin = 3, .kernels_at_pin = 1}));
}

}  // namespace dfsearch
