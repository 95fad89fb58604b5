// The lower bounds by themselves, row by row, against the best way to run what
// is left, which is found by trying every sequence of partitions.

#include "engine/fusion_tables.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/mapping_search.hpp"
#include "engine/symmetry.hpp"
#include "model/core_allocation.hpp"
#include "model/sharding.hpp"
#include "model/step_time.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

using test::elementwise;
using test::pick;
using test::tensor;
using test::weight_gemm;
using Mask = std::uint32_t;  // kernels by their position

/// What one partition takes, from the costs of kernels and tensors alone.
struct Parts {
  Ticks compute = 0;
  Ticks memory = 0;
  Ticks network = 0;
};

/// The best ways to run what is left, whatever came before it.
class Completions {
 public:
  Completions(const Problem& problem, const FusionTables& tables)
      : problem_(problem),
        graph_(problem.workload.graph),
        tables_(tables),
        costs_(tables.costs()),
        size_(tables.size()),
        places_(size_),
        before_(size_, 0),
        best_(std::size_t{1} << size_) {
    for (std::size_t p = 0; p < size_; ++p) places_[tables.id(p).index()] = p;
    for (const Tensor& t : graph_.tensors()) before_[place(t.to)] |= bit(place(t.from));
    for (const auto& [u, v] : symmetry_order(problem, least_bytes_sharding(problem))) {
      before_[place(v)] |= bit(place(u));
    }
  }

  struct Best {
    Ticks time = kNever;
    Ticks memory = kNever;
    Ticks partitions = kNever;
  };

  /// Whether the complement of `rest` can be done already.
  [[nodiscard]] bool is_rest(Mask rest) const {
    for (std::size_t p = 0; p < size_; ++p) {
      if ((rest & bit(p)) == 0 && (before_[p] & rest) != 0) return false;
    }
    return true;
  }

  const Best& of(Mask rest) {
    std::optional<Best>& best = best_[rest];
    if (best) return *best;
    best = rest == 0 ? Best{0, 0, 0} : Best{};
    for (Mask first = rest; first != 0; first = (first - 1) & rest) {
      if (!is_rest(rest & ~first)) continue;
      const auto parts = parts_of(first);
      if (!parts) continue;
      const Best after = of(rest & ~first);
      if (after.time >= kNever) continue;
      const Ticks time =
          overlapped(problem_.execution.overlap, parts->compute, parts->memory, parts->network);
      best->time = std::min(best->time, time + after.time);
      best->memory = std::min(best->memory, parts->memory + after.memory);
      best->partitions = std::min(best->partitions, 1 + after.partitions);
    }
    return *best;
  }

  [[nodiscard]] Rest rest(Mask of) const {
    Rest rest;
    for (std::size_t p = 0; p < size_; ++p) {
      if ((of & bit(p)) != 0) rest += tables_.kernel(p).share;
    }
    return rest;
  }

  static Mask bit(std::size_t p) { return Mask{1} << p; }

 private:
  [[nodiscard]] std::size_t place(KernelId k) const { return places_[k.index()]; }

  /// Nothing if the kernels cannot share a partition.
  [[nodiscard]] std::optional<Parts> parts_of(Mask kernels) const {
    Parts parts;
    std::vector<KernelId> list;
    for (std::size_t p = 0; p < size_; ++p) {
      if ((kernels & bit(p)) != 0) list.push_back(tables_.id(p));
    }
    if (!may_be_together(list)) return std::nullopt;
    Bytes inputs{};
    Bytes others{};
    Bytes weights{};
    for (const KernelId k : list) {
      parts.network += costs_.network(k);
      parts.memory += costs_.explicit_memory(k);
      weights += costs_.resident_weight(k);
    }
    for (std::size_t i = 0; i < graph_.tensor_count(); ++i) {
      const TensorId t(i);
      const bool from = (kernels & bit(place(graph_.tensor(t).from))) != 0;
      const bool to = (kernels & bit(place(graph_.tensor(t).to))) != 0;
      if (from && to) others += costs_.fused_buffer(t);
      if (from == to) continue;
      parts.memory += costs_.transfer(t);
      (to ? inputs : others) += costs_.streamed_buffer(t);
    }
    const bool cut =
        list.size() == 1 && graph_.kernel(list.front()).has_weight() && inputs < tables_.sram();
    if (inputs + others + weights > tables_.sram() && !cut) return std::nullopt;
    const auto compute = compute_of(list);
    if (!compute) return std::nullopt;
    parts.compute = *compute;
    return parts;
  }

  [[nodiscard]] bool may_be_together(const std::vector<KernelId>& list) const {
    const auto differ = [&](const auto& trait) {
      return std::any_of(list.begin(), list.end(),
                         [&](KernelId k) { return trait(k) != trait(list.front()); });
    };
    if (differ([&](KernelId k) { return graph_.kernel(k).repeat > 1; })) return false;
    const bool mixed =
        problem_.equations.phases == SplitPhases::Halves && problem_.partition_limit() % 2 == 1;
    if (!mixed && differ([&](KernelId k) { return graph_.kernel(k).phase; })) return false;
    std::optional<std::int64_t> pin;
    for (const KernelId k : list) {
      if (problem_.execution.pins.empty() || !problem_.execution.pins[k.index()]) continue;
      if (pin && *pin != *problem_.execution.pins[k.index()]) return false;
      pin = problem_.execution.pins[k.index()];
    }
    return true;
  }

  [[nodiscard]] std::optional<Ticks> compute_of(const std::vector<KernelId>& list) const {
    if (static_cast<std::int64_t>(list.size()) > tables_.cores()) return std::nullopt;
    if (problem_.execution.compute_utilization) {
      Ticks sum = 0;
      for (const KernelId k : list) sum += costs_.compute_at_utilization(k);
      return sum;
    }
    std::vector<const std::vector<CoreOption>*> options;
    for (const KernelId k : list) options.push_back(&costs_.options(k));
    return costs_.cycle_time(*least_cycles(options, tables_.cores()));
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  const FusionTables& tables_;
  const LayerCosts& costs_;
  const std::size_t size_;
  std::vector<std::size_t> places_;
  std::vector<Mask> before_;
  std::vector<std::optional<Best>> best_;
};

/// How often the bounds did what they are there for.
struct Tally {
  int rests = 0;
  int tight = 0;               // the bound is the best completion
  int partitions = 0;          // more than one for sure
  int compute_row = 0;         // its network excess makes it the greatest bound
  int compute_memory_row = 0;  // its memory excess
  int network_row = 0;         // its compute excess
  int memory_row = 0;
};

void check_rest(const Problem& problem, const FusionTables& tables, Completions& completions,
                Mask mask, Tally& tally) {
  const Completions::Best& best = completions.of(mask);
  if (best.time >= kNever) return;
  CAPTURE(mask);
  const Rest rest = completions.rest(mask);
  const auto& bound = rest.bound;
  REQUIRE(bound[kMemoryRow] <= best.memory);
  const Overlap overlap = problem.execution.overlap;
  for (std::size_t row = 0; row < kBoundRows; ++row) {
    CAPTURE(row);
    const bool beside = overlap == Overlap::ComputeMemory && row != kNetworkRow;
    REQUIRE(bound[row] + (beside ? bound[kNetworkRow] : 0) <= best.time);
  }
  REQUIRE(tables.least_time(rest) <= best.time);
  REQUIRE(tables.least_partitions(rest) <= best.partitions);

  Ticks compute = 0;
  Ticks network = 0;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if ((mask & Completions::bit(p)) == 0) continue;
    compute += tables.kernel(p).compute;
    network += tables.kernel(p).network;
  }
  const auto decisive = [&](std::size_t row, Ticks plain) {
    for (std::size_t other = 0; other < kBoundRows; ++other) {
      if (other != row && bound[other] >= bound[row]) return false;
    }
    return bound[row] > plain;
  };
  ++tally.rests;
  tally.tight += tables.least_time(rest) == best.time;
  tally.partitions += tables.least_partitions(rest) > 1;
  if (overlap != Overlap::Perfect) return;
  tally.compute_row += decisive(kComputeRow, compute);
  tally.compute_memory_row += decisive(kComputeMemoryRow, compute);
  tally.network_row += decisive(kNetworkRow, network);
  tally.memory_row += decisive(kMemoryRow, 0);
}

void check_all_rests(const Problem& problem, Tally& tally) {
  const MappingProblem search(problem);
  const std::vector<OuterPoint> points = outer_points(problem);
  for (const OuterPoint point : {points.front(), points.back()}) {
    const auto context = search.open(point);
    Completions completions(problem, context->tables);
    const Mask all = Completions::bit(context->tables.size()) - 1;
    for (Mask rest = 1; rest <= all; ++rest) {
      if (completions.is_rest(rest)) {
        check_rest(problem, context->tables, completions, rest, tally);
      }
    }
  }
}

/// A chain or a star of weight GEMMs with long collectives, scarce SRAM and a
/// slow memory: worlds in which one resource cannot hide behind another.
Problem tight_problem(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto count = static_cast<std::size_t>(pick(random, 3, 6));
  const bool star = pick(random, 0, 1) == 0;
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    Kernel kernel = weight_gemm(std::string(1, static_cast<char>('a' + i)), pick(random, 1, 12),
                                pick(random, 1, 12), 4);
    if (pick(random, 0, 3) == 0) kernel = elementwise(kernel.name, pick(random, 1, 12), 4);
    if (pick(random, 0, 2) == 0) {
      kernel.communication =
          Communication{.type = CommunicationType::AllReduce,
                        .bytes = Bytes(static_cast<double>(pick(random, 1, 400)))};
    }
    if (pick(random, 0, 4) == 0) kernel.memory = Bytes(static_cast<double>(pick(random, 1, 300)));
    kernels.push_back(kernel);
    if (i > 0) tensors.push_back(tensor(star ? 0 : i - 1, i));
  }
  Problem problem;
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  problem.workload.word = Bytes(1.0);
  problem.workload.sequence = 4;
  problem.system.chips = 2;
  problem.system.network = {
      test::dimension(Topology::Ring, 2, static_cast<double>(pick(random, 5, 80)))};
  problem.system.accelerator = {.cores = 8,
                                .lanes = 1,
                                .stages = 1,
                                .frequency = Hertz(static_cast<double>(pick(random, 2, 40))),
                                .sram = Bytes(static_cast<double>(pick(random, 40, 250)))};
  problem.system.memory.bandwidth = BytesPerSecond(static_cast<double>(pick(random, 10, 200)));
  if (pick(random, 0, 3) > 0) problem.execution.compute_utilization = 1.0;
  return problem;
}

/// Weights of 10 B, no tensors; two chips.  Each kernel takes 20 FLOP at 20 FLOP/s:
/// 1 s.  SRAM has room for one weight and a half.
Problem lone_weights(std::size_t count) {
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < count; ++i) {
    kernels.push_back(weight_gemm(std::string(1, static_cast<char>('a' + i)), 20, 1, 1));
  }
  Problem problem;
  problem.workload.graph = DataflowGraph(std::move(kernels), {});
  problem.workload.word = Bytes(1.0);
  problem.system.chips = 2;
  problem.system.network = {test::dimension(Topology::Ring, 2, 10.0)};
  problem.system.accelerator = {.cores = 10, .frequency = Hertz(1.0), .sram = Bytes(15.0)};
  problem.system.memory.bandwidth = BytesPerSecond(1.0);
  problem.execution.compute_utilization = 1.0;
  return problem;
}

template <class Change>
void change_kernels(Problem& problem, Change change) {
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  change(kernels);
  problem.workload.graph = DataflowGraph(std::move(kernels), problem.workload.graph.tensors());
}

/// At 10 B/s between two chips.
Communication all_reduce_of(double seconds) {
  return {.type = CommunicationType::AllReduce, .bytes = Bytes(10.0 * seconds)};
}

std::shared_ptr<const FusionTables> tables_of(const Problem& problem) {
  return MappingProblem(problem).open(outer_points(problem).front())->shared_tables;
}

Rest whole(const FusionTables& tables) {
  Rest rest;
  for (std::size_t p = 0; p < tables.size(); ++p) rest += tables.kernel(p).share;
  return rest;
}

/// Rounded to a millionth: shares of what fits partly are off by a tick.
double row_of(const Problem& problem, BoundRow row) {
  const auto tables = tables_of(problem);
  const double seconds = tables->clock().seconds(whole(*tables).bound[row]).in_base_units();
  return std::round(seconds * 1e6) / 1e6;
}

std::int64_t least_partitions(const Problem& problem) {
  const auto tables = tables_of(problem);
  return tables->least_partitions(whole(*tables));
}

}  // namespace

TEST_CASE("no row of the bounds is above the best completion of any rest") {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    check_all_rests(test::random_problem(seed, {.kernels = 6}), tally);
  }
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    check_all_rests(test::symmetric_problem(seed), tally);
  }
  CHECK(tally.rests > 60'000);
  CHECK(tally.tight > 20'000);
  CHECK(tally.partitions > 10'000);
}

TEST_CASE("where time cannot be hidden each row is the greatest now and then") {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    check_all_rests(tight_problem(seed), tally);
  }
  CHECK(tally.compute_row > 700);
  CHECK(tally.compute_memory_row > 700);
  CHECK(tally.network_row > 700);
  CHECK(tally.memory_row > 700);
}

TEST_CASE("network time that no compute can hide comes on top of compute") {
  Problem problem = lone_weights(2);
  change_kernels(problem, [](auto& k) { k[0].communication = all_reduce_of(7.0); });
  // The first alone takes 7 s, the other 1 s.
  CHECK(row_of(problem, kComputeRow) == 8.0);
  CHECK(row_of(problem, kNetworkRow) == 8.0);
  problem.system.accelerator.sram = Bytes(20.0);  // together 7 s
  CHECK(row_of(problem, kComputeRow) == 7.0);

  // Beside the first there is room for one and a half of two others: 2.5 s are
  // hidden at most, in truth 2 s.
  problem = lone_weights(3);
  change_kernels(problem, [](auto& k) { k[0].communication = all_reduce_of(7.0); });
  problem.system.accelerator.sram = Bytes(25.0);
  CHECK(row_of(problem, kComputeRow) == 7.5);
  // A weight outside SRAM fits beside anything.
  change_kernels(problem, [](auto& k) { k[2].skip_weight = true; });
  CHECK(row_of(problem, kComputeRow) == 7.0);

  // Without overlap, or with the network on top of all, it is no bound of this row.
  for (const Overlap overlap : {Overlap::None, Overlap::ComputeMemory}) {
    problem.execution.overlap = overlap;
    CHECK(row_of(problem, kComputeRow) == 3.0);
  }
}

TEST_CASE("only what may be in a partition with a kernel hides its network time") {
  const auto with = [](const auto& change) {
    Problem problem = lone_weights(2);
    problem.system.accelerator.sram = Bytes(20.0);
    change_kernels(problem, [](auto& k) { k[0].communication = all_reduce_of(7.0); });
    change(problem);
    return row_of(problem, kComputeRow);
  };
  CHECK(with([](Problem&) {}) == 7.0);
  CHECK(with([](Problem& p) { p.execution.pins = {0, 1}; }) == 8.0);
  CHECK(with([](Problem& p) { p.execution.pins = {1, 1}; }) == 7.0);
  CHECK(with([](Problem& p) {
          change_kernels(p, [](auto& k) { k[1].phase = Phase::Backward; });
        }) == 8.0);
  CHECK(with([](Problem& p) {
          change_kernels(p, [](auto& k) { k[1].repeat = 2; });  // 2 s
        }) == 9.0);
}

TEST_CASE("buffers of a kernel leave less room beside it") {
  // A third kernel takes 0.05 s and no weight.  Room for nine tenths of the other
  // weight beside the first and its buffer: 7 s and the tenth that is not hidden.
  Problem problem = lone_weights(2);
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[0].communication = all_reduce_of(7.0);
  kernels.push_back(elementwise("e", 1, 1));
  problem.workload.graph = DataflowGraph(kernels, {tensor(2, 0)});
  problem.system.accelerator.sram = Bytes(10.0 + 2.0 + 9.0);
  CHECK(row_of(problem, kComputeRow) == 7.1);
  problem.workload.graph = DataflowGraph(kernels, {tensor(0, 2)});
  problem.system.accelerator.sram = Bytes(10.0 + 20.0 + 9.0);
  CHECK(row_of(problem, kComputeRow) == 8.1);  // gathering its output takes a second more
}

TEST_CASE("without a given utilization a kernel takes its core-cycles on one core") {
  // Ten rows on one core are ten cycles, a tenth of that on ten cores.
  Problem problem = lone_weights(2);
  problem.execution.compute_utilization = std::nullopt;
  problem.system.accelerator.lanes = 1;
  CHECK(row_of(problem, kComputeRow) == 2.0);
  problem.system.accelerator.lanes = 4;  // three cycles
  CHECK(row_of(problem, kComputeRow) == 0.6);
}

TEST_CASE("compute time that no network can hide comes on top of network") {
  Problem problem = lone_weights(2);
  change_kernels(problem, [](auto& k) {
    k[0].n = 7;  // 7 s
    k[0].communication = all_reduce_of(1.0);
    k[1].communication = all_reduce_of(2.0);
  });
  CHECK(row_of(problem, kNetworkRow) == 9.0);
  problem.system.accelerator.sram = Bytes(20.0);
  CHECK(row_of(problem, kNetworkRow) == 7.0);
  problem.execution.overlap = Overlap::ComputeMemory;
  CHECK(row_of(problem, kNetworkRow) == 3.0);
}

TEST_CASE("memory time that no compute can hide comes on top of compute") {
  Problem problem = lone_weights(2);
  change_kernels(problem, [](auto& k) { k[0].memory = Bytes(7.0); });
  CHECK(row_of(problem, kMemoryRow) == 7.0);
  CHECK(row_of(problem, kComputeMemoryRow) == 8.0);
  problem.execution.overlap = Overlap::ComputeMemory;
  CHECK(row_of(problem, kComputeMemoryRow) == 8.0);
  problem.execution.overlap = Overlap::None;
  CHECK(row_of(problem, kComputeMemoryRow) == 2.0);
}

TEST_CASE("a tensor between kernels that cannot share SRAM is stored and loaded") {
  // 10 B stored by the one and loaded by the other, 10 s each; one partition of
  // both would take two weights and a double buffer, 40 B.
  Problem problem = lone_weights(2);
  problem.workload.graph = DataflowGraph(problem.workload.graph.kernels(), {tensor(0, 1)});
  problem.system.accelerator.sram = Bytes(39.0);
  CHECK(row_of(problem, kMemoryRow) == 20.0);
  CHECK(row_of(problem, kComputeMemoryRow) == 20.0);
  problem.system.accelerator.sram = Bytes(40.0);
  CHECK(row_of(problem, kMemoryRow) == 0.0);
  CHECK(row_of(problem, kComputeMemoryRow) == 2.0);
}

TEST_CASE("a kernel between two others takes part in what SRAM must hold") {
  // a -> b -> c and a -> c: with a and c in a partition b is there as well.
  Problem problem = lone_weights(3);
  problem.workload.graph =
      DataflowGraph(problem.workload.graph.kernels(), {tensor(0, 1), tensor(1, 2), tensor(0, 2)});
  // Three weights, two double buffers, one of three tiles: 100 B.  Any two: 20 B of
  // weights and at most 70 B of buffers.
  problem.system.accelerator.sram = Bytes(99.0);
  CHECK(row_of(problem, kMemoryRow) == 20.0);  // the tensor a -> c
  problem.system.accelerator.sram = Bytes(100.0);
  CHECK(row_of(problem, kMemoryRow) == 0.0);
}

TEST_CASE("of many consumers some are not fused with their producer") {
  // Outputs of 1 B, double buffered 6 B in all; 1 s to store and 1 s to load.
  Problem problem = lone_weights(4);
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[0] = elementwise("a", 1, 1);
  for (std::int64_t i = 1; i < 4; ++i) kernels[static_cast<std::size_t>(i)].n = i;
  problem.workload.graph = DataflowGraph(kernels, {tensor(0, 1), tensor(0, 2), tensor(0, 3)});
  const auto memory_row = [&](double sram) {
    problem.system.accelerator.sram = Bytes(sram);
    return row_of(problem, kMemoryRow);
  };
  CHECK(memory_row(36.0) == 0.0);
  CHECK(memory_row(31.0) == 1.0);  // half a consumer has no room
  CHECK(memory_row(26.0) == 2.0);
  CHECK(memory_row(16.0) == 4.0);
  CHECK(memory_row(15.0) == 6.0);  // none fits

  // Consumers that can be exchanged join the producer in their order only, so the
  // last one is not with it.
  change_kernels(problem, [](auto& k) { k[1].n = k[2].n = k[3].n = 1; });
  CHECK(memory_row(31.0) == 2.0);
}

TEST_CASE("the least number of partitions counts SRAM, cores, lonely kernels and phases") {
  Problem problem = lone_weights(4);
  problem.system.accelerator.sram = Bytes(40.0);
  CHECK(least_partitions(problem) == 1);
  problem.system.accelerator.sram = Bytes(39.0);
  CHECK(least_partitions(problem) == 2);
  problem.system.accelerator.sram = Bytes(19.0);
  CHECK(least_partitions(problem) == 3);
  problem.system.accelerator.sram = Bytes(9.0);  // each alone, its weight cut
  CHECK(least_partitions(problem) == 4);
  problem.system.accelerator.sram = Bytes(40.0);
  problem.system.accelerator.cores = 3;
  CHECK(least_partitions(problem) == 2);
  problem.system.accelerator.cores = 10;

  change_kernels(problem, [](auto& k) { k[3].phase = Phase::Backward; });
  CHECK(least_partitions(problem) == 2);
  problem.equations.phases = SplitPhases::Halves;
  problem.execution.partitions = 2;
  CHECK(least_partitions(problem) == 2);
  problem.execution.partitions = 3;  // the middle one may hold both
  CHECK(least_partitions(problem) == 1);
}

}  // namespace dfsearch
