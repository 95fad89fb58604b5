#include "model/scope.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"
#include "model/step/step_time.hpp"
#include "support/random_problem.hpp"
#include "support/stage_worlds.hpp"

namespace dfsearch {
namespace {

/// Counts one by one what kernel `k` and those after it may be given; no more than `most`.
void count_one_by_one(const Problem& problem, std::int64_t stages, std::size_t k, std::int64_t most,
                      std::int64_t& count) {
  const std::vector<Kernel>& kernels = problem.workload.graph.kernels();
  if (k == kernels.size()) {
    ++count;
    return;
  }
  const auto is_pinned = [&](const auto& pins) { return !pins.empty() && pins[k].has_value(); };
  const bool joins = problem.execution.style != Style::KernelByKernel;
  const bool placed = is_pinned(problem.execution.pins);
  const std::int64_t loops =
      is_pinned(problem.sharding_pins) ? 1 : std::ssize(shardable_pairs(problem, kernels[k]));
  const std::int64_t cores = problem.system.accelerator.cores;
  for (std::int64_t loop = 0; loop < loops; ++loop) {
    for (std::int64_t p = 0; p < (joins && !placed ? problem.partition_limit() : 1); ++p) {
      for (std::int64_t stage = 0; stage < (placed ? 1 : stages); ++stage) {
        for (std::int64_t lanes = 1; lanes <= cores; ++lanes) {
          for (std::int64_t rows = 1; rows <= cores; ++rows) {
            if (count > most) return;
            count_one_by_one(problem, stages, k + 1, most, count);
          }
        }
      }
    }
  }
}

TEST_CASE("the size of a space is what counting one by one gives") {
  constexpr std::int64_t kMost = 300'000;
  int counted = 0, with_stages = 0;
  for (std::uint64_t seed = 0; counted < 300; ++seed) {
    CAPTURE(seed);
    REQUIRE(seed < 3000);
    Problem problem =
        seed % 2 == 0 ? test::random_stages(seed) : test::random_problem(seed, {.kernels = 4});
    problem.system.accelerator.cores = seed % 3 == 0 ? 2 : 1;
    std::int64_t stages = 1;
    if (problem.divides_graph()) {
      for (const NetworkChoice& network : network_choices(problem)) {
        stages = std::max(stages, degree_of(network, Strategy::Pipeline));
      }
    }
    std::int64_t count = 0;
    count_one_by_one(problem, stages, 0, kMost, count);
    if (count > kMost) continue;
    ++counted;
    with_stages += stages > 1;
    CHECK(std::pow(10.0, design_space(problem).total()) ==
          doctest::Approx(static_cast<double>(count)).epsilon(1e-9));
  }
  CHECK(with_stages > 50);
}

}  // namespace
}  // namespace dfsearch
