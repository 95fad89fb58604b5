// The lower bounds row by row, so that none hides another, against the best way
// to run what is left, which is found by trying every sequence of partitions.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "model/step/step_time.hpp"
#include "support/model_worlds.hpp"
#include "support/plain_partitions.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

using test::elementwise;
using test::Mask;
using test::pick;
using test::tensor;
using test::weight_gemm;

/// The best ways to run what is left, whatever came before it.
class Completions {
 public:
  explicit Completions(const FusionTables& tables)
      : tables_(tables), partitions_(tables), best_(std::size_t{1} << tables.size()) {}

  struct Best {
    Ticks time = kNever;
    Ticks memory = kNever;
    Ticks partitions = kNever;
  };

  [[nodiscard]] const test::PlainPartitions& partitions() const { return partitions_; }

  const Best& of(Mask rest) {
    std::optional<Best>& best = best_[rest];
    if (best) return *best;
    best = rest == 0 ? Best{0, 0, 0} : Best{};
    for (Mask first = rest; first != 0; first = (first - 1) & rest) {
      if (!partitions_.is_rest(rest & ~first)) continue;
      const auto parts = partitions_.parts_of(first);
      if (!parts) continue;
      const Best after = of(rest & ~first);
      if (after.time >= kNever) continue;
      best->time = std::min(best->time, partitions_.time(*parts) + after.time);
      best->memory = std::min(best->memory, parts->memory + after.memory);
      best->partitions = std::min(best->partitions, 1 + after.partitions);
    }
    return *best;
  }

  [[nodiscard]] Rest rest(Mask of) const {
    Rest rest;
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      if ((of & test::bit(p)) != 0) rest += tables_.kernel(p).share;
    }
    return rest;
  }

 private:
  const FusionTables& tables_;
  const test::PlainPartitions partitions_;
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
    if ((mask & test::bit(p)) == 0) continue;
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
    Completions completions(context->tables);
    const Mask all = completions.partitions().all();
    for (Mask rest = 1; rest <= all; ++rest) {
      if (completions.partitions().is_rest(rest)) {
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
  problem.system.memory[0].bandwidth = BytesPerSecond(static_cast<double>(pick(random, 10, 200)));
  if (pick(random, 0, 3) > 0) problem.execution.compute_utilization = 1.0;
  return problem;
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

}  // namespace dfsearch
